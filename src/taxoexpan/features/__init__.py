"""Turns text into vectors and words.

`encoder` defines the interface, `encoder_registry` creates an encoder by its name, and
`encoder_choice` chooses the default one. Import names from these modules:

- encoders: `static`, `word_vectors`, `transformer`, and `skipgram`, which is trained on a `corpus`;
  `cache` keeps their vectors on disk;
- vectors of concepts: `embedding` makes two per concept, `nearest` compares them, `vector_export`
  writes them to a file, and `label_language` warns of labels that an encoder does not know;
- words: `label_words` compares the words of labels, `word_postings` adds this to many scores at a
  time, and `stored_words` is the form on disk;
- mentions: `lexicon` finds the concepts that a definition or a name mentions, and `mentions` stores
  them;
- `glossary` looks up definitions.
"""
