"""Skip-gram vectors of names, trained on a text corpus; `corpus_encoder` is the encoder."""
