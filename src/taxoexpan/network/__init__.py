"""The network of the paper (Section 4.2): egonets, graph propagation, readout, matching and losses.

`MatchingNetwork` combines the parts that the settings choose. It takes `ConceptVectors` and
`Egonets`, and in training a `TrainingBatch`.
"""

from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Egonets
from taxoexpan.network.matching_network import MatchingNetwork

__all__ = ["ConceptVectors", "Egonets", "MatchingNetwork", "TrainingBatch"]
