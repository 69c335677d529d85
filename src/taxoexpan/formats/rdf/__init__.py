"""SKOS and OWL in four syntaxes of RDF: Turtle, N-Triples, RDF/XML and JSON-LD."""
