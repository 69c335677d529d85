"""SKOS vocabularies in four RDF syntaxes: Turtle, N-Triples, RDF/XML and JSON-LD.

`skos` is the format module; the other modules are its parts.
"""
