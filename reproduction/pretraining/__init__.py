"""Pre-training of the text encoder on public vocabularies."""
