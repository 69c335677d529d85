"""Self-supervised training (Section 4.3).

- data: `holdout` (validation concepts), `sampling` (batches), `continuation` (draws of a continued
  training);
- the network: `loop`;
- the text tower: `tower`, which learns maps or tunes the upper layers;
- both: `run` (with checkpoints), `true_ranks`, `metrics`, `log` and `record`.
"""
