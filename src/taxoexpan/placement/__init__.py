"""From scores to additions: rank anchors, calibrate the scores, and decide what is added.

Nothing is exported here; import from the modules. The docstring of each package says where its
modules belong. A package imports only from those below it, which import-linter checks:

- `joint` places a batch of new concepts together, and `fitting` trains a model, continues a
  training, and encodes a newer taxonomy;
- `adding` decides which suggestions are accepted, and turns them into additions;
- `suggesting` turns rankings into suggestions, and keeps what curators think of them;
- `learned` has what is learned from held-out concepts;
- `scoring` scores anchors for queries.
"""
