"""Checking, cleaning and discovering."""
