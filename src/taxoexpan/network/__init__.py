"""The network of the paper (Section 4.2): egonets, graph propagation, readout, matching and losses.

`MatchingNetwork` combines the parts that the settings choose. It takes `ConceptVectors` and
`Egonets`, and in training a `TrainingBatch`. The modules, in the order of the computation:

- inputs: `concept_vectors`, `egonets`, `queries`, and the `batch` of a training step;
- `propagation` (Eqs. 2 to 5) by `messages`;
- `readout` (Eqs. 6 to 8), which `pooling` computes together with the last layer;
- `matching` (Eqs. 9 and 10) and `losses` (Eq. 11); `matching_network` is the whole;
- not in the paper: the fusion head in `cosine_features`, and the fine-tuned `text_tower`.
"""
