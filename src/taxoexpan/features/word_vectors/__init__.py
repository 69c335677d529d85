"""Word vectors from a file; `word_vector_encoder` is the encoder."""
