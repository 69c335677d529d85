"""Vectors of a local sentence transformer; `transformer_encoder` is the encoder."""
