"""From scores to suggestions: rank anchors, and calibrate the scores.

A package imports only from the packages below it, which import-linter checks:

- `joint` places a batch of new concepts together; `fitting` trains a model, continues a training,
  and encodes a newer taxonomy;
- `proposals` turns rankings into suggestions;
- `learned` has the parts of a model that are learned from held-out concepts;
- `scoring` scores anchors for queries.
"""
