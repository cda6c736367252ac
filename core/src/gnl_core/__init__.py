"""gnl: background work that survives crashes, on the database you already have."""
