"""Definitions of concepts from a glossary file."""
