"""OBO ontologies: `[Term]` stanzas are read, extended and written as text.

`obo_format` is the format module; the other modules are its parts.
"""
