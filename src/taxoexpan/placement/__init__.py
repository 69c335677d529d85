"""From scores to additions: rank anchors, calibrate the scores, and decide what to add.

A package imports only from the packages below it, which import-linter checks:

- `joint` places a batch of new concepts together; `fitting` trains a model, continues a training,
  and encodes a newer taxonomy;
- `adding` accepts suggestions and turns them into additions;
- `suggesting` turns rankings into suggestions, and keeps the decisions of curators;
- `learned` has the parts of a model that are learned from held-out concepts;
- `scoring` scores anchors for queries.
"""
