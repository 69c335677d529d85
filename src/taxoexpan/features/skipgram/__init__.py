"""Skip-gram vectors of names, trained on a text corpus.

`corpus_encoder` is the encoder that users name. It trains the vectors (`skipgram_training`), caches
them, and encodes texts with them (`skipgram_encoder`).
"""
