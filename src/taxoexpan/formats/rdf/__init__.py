"""SKOS vocabularies and OWL ontologies in four RDF syntaxes: Turtle, N-Triples, RDF/XML, JSON-LD.

`skos` and `owl` are the format modules; the other modules are their parts.
"""
