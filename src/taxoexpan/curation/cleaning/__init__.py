"""Self-cleaning: find relations that may be wrong, according to models trained without them."""
