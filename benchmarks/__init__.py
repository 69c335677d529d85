"""Measurements of speed and memory, and of published files; run from the folder above."""
