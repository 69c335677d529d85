"""Placing a batch of new concepts together."""
