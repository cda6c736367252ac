"""Broken stores: each is the reference store, wrong in one way, which the kit must catch."""
