"""JSON taxonomies: a parser that keeps positions, the known schemas, and insertion in file style.

`json_format` is the format module; the other modules are its parts.
"""
