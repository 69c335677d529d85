"""Candidate search: ranking large taxonomies without scoring every anchor.

`index_building.build_index` builds the index of a model and measures its recall;
`candidate_ranking.CandidateRanker` ranks by it. Import from the modules; nothing is exported here.
"""
