"""Looks up the definitions of concepts in a glossary file."""
