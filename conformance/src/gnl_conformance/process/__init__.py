"""The process tier: real processes on the real store, killed and stopped while they work."""
