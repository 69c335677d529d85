"""RDF, as far as SKOS needs it: four syntaxes, the words of the vocabulary, its languages."""
