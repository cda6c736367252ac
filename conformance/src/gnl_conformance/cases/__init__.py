"""The cases, one file a family. Each is an example that a correct store cannot fail."""
