"""Settings of models that are trained in a second."""

SIZES = {"epochs": 15, "hidden_dim": 8, "embedding_dim": 32, "num_negatives": 64, "batch_size": 32}
SMALL = {**SIZES, "features": "static"}
"""The settings of a small network, which is trained at once."""
