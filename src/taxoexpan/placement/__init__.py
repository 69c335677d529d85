"""From scores to additions: rank anchors, calibrate the scores, and select suggestions.

`ranking` scores queries against all anchors and `proposals` turns a ranking into suggestions.
`confidence`, `abstention`, `duplicates` and `leaf_bonus` are learned from held-out concepts and
kept in `calibrators`. `selection`, `change_validation` and `acceptance` turn suggestions into
additions. `joint` places a batch of new concepts together. Import from the modules; nothing is
exported here.
"""
