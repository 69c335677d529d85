"""Self-supervised training."""
