"""Changes of a taxonomy in exchange formats."""
