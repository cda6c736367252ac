"""The model tier: scripts played on the store and on the reference, answer by answer."""
