"""Self-supervised training (Section 4.3).

- data: `holdout` holds out concepts for validation, `sampling` draws batches of relations and
  negatives, and `continuation` the relations of a training that continues an earlier one;
- the network: `loop`; `cuda_graph` makes its steps faster on a GPU;
- the text tower: `tower`, by `tower_gradients`;
- both: `run`, `checkpoint`, `metrics`, `log` and `record`.
"""
