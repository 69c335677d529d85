"""Candidate search: ranking large taxonomies without scoring every anchor.

`index_building.build_search` builds the index of a model and measures its recall;
`candidate_ranker.CandidateRanker` ranks by it. Import from the modules; nothing is exported here.
"""
