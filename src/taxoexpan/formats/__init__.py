"""Taxonomy files: `registry` detects the format, and `taxonomy_file` opens files of any format."""
