"""Turns text into vectors and words.

`encoder` defines the interface, and `encoder_registry` creates an encoder by its name, or the
default one. Import names from these modules:

- encoders: `static`, `word_vectors`, `transformer`, and `skipgram_encoder`, whose vectors
  `skipgram_training` learns from a `corpus`; `cache` keeps vectors on disk;
- vectors of concepts: `embedding` makes two per concept, compares and writes them, and warns of
  texts that an encoder does not know;
- words: `label_words` compares the words of labels, `word_postings` adds this to many scores at a
  time, and `stored_words` is the form on disk;
- `mentions` finds and stores the concepts that a definition or a name mentions;
- `glossary` looks up definitions.
"""
