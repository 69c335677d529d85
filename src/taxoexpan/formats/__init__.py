"""Taxonomy files: one module or package per format, and `taxonomy_file` to open any of them.

Each format offers `can_read`, `read`, `extend` (which only adds to a file) and `write`; the
protocol is in `registry`.
"""
