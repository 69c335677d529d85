"""The OBO Graphs format, the JSON that ROBOT and OAK write for an ontology.

`obographs_format` is the format module; the other modules are its parts.
"""
