"""Features of texts: vectors and words.

- encoders: `encoder` is the interface, and `encoder_registry` creates `static`, `word_vectors`
  and `transformer`; `vector_file` reads word vectors, and `cached_encoder` keeps vectors on disk;
- vectors of concepts: `embedding` makes two per concept, and warns of unknown texts;
- words: `label_words` compares the words of labels;
- `mentions` finds the concepts that a definition or a name mentions;
- `corpus` reads texts, and `glossary` looks up definitions in them.
"""
