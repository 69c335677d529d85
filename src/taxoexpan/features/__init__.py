"""Turns text into vectors.

`encoder` defines the interface and `encoder_registry` creates an encoder by its name. The encoders
are `static`, `word_vectors`, `transformer` and `skipgram` (trained on a `corpus`); `cache` keeps
vectors on disk. `embedding` makes the two vectors of each concept, and `lexicon` finds the concepts
that a definition or a name mentions. Import names from these modules.
"""
