"""SKOS and OWL in four syntaxes of RDF.

`skos` and `owl` are the formats. `index` reads a file into concepts, `rdf_format` has what both
formats share, `serialization` writes triples in all syntaxes with `rdfxml` and `jsonld`.
"""
