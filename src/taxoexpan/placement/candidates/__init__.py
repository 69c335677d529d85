"""Candidate search: ranking large taxonomies without scoring every anchor.

`search_choice` says whether it is used. `index_building` builds the index of a model, a
`vector_graph` of `search_vectors`, and measures its recall; `candidate_ranker` ranks by it, and
`ranked_candidates` adds what an assessment needs. `search_file` stores the index with its
`search_record`. Import from the modules; nothing is exported here.
"""
