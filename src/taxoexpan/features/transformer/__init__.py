"""Sentence transformers from a local directory."""
