"""SKOS and OWL in four syntaxes of RDF.

`skos` and `owl` are the formats, and `rdf_format` has their common parts. `index` reads a file
into concepts; `serialization` writes triples in all syntaxes, with `rdfxml` and `jsonld`.
"""
