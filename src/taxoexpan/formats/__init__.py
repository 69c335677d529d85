"""Taxonomy files: one module or package per format, and `taxonomy_file` to open any of them.

Each format is a subclass of `Format` (in `format`) with `can_read`, `read`, `extend` (which only
adds to a file) and `write`; `registry` lists them and detects the format of a file.
"""
