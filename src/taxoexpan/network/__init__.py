"""The network of the paper (Section 4.2), in the order of the computation.

- inputs: `concept_vectors` (also of queries), `egonets`, and the `batch` of a training step;
- `propagation` (Eqs. 2 to 5) with `messages`;
- `pooling`: the readout (Eqs. 6 to 8), computed together with the last layer;
- `matching` (Eqs. 9 and 10); `matching_network` combines all parts, and has the losses (Eq. 11);
- not in the paper: the `text_tower`.
"""
