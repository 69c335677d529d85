"""Self-supervised training (Section 4.3).

- data: `holdout` (validation concepts), `sampling` (batches), `continuation` (new relations);
- the network: `loop`, and `cuda_graph` for faster steps on a GPU;
- the text tower: `text_maps`, and `tower` with `tower_gradients`, which tunes the upper layers;
- both: `run` (with checkpoints), `metrics`, `log` and `record`.
"""
