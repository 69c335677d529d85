"""WordNet's database files: reading, extending and writing them in the layout of wndb(5WN).

`wordnet_format` is the format module; the other modules are its parts.
"""
