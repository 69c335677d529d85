"""Evaluation on what a later release added."""
