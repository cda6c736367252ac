"""The world tier: real workers on a simulated store, network and clock, drawn from one seed."""
