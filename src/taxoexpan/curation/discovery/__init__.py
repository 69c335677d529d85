"""Discovery of new concepts in a text corpus.

`term_discovery` reads the corpus twice. The first pass counts phrases, from which `candidates` are
chosen; the second pass collects `observations`. Then candidates are ranked (`candidate_ranking`).
"""
