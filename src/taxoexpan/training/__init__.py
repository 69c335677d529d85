"""Self-supervised training (Section 4.3).

`hold_out` and its variants hold out concepts for validation, `TrainingSampler` draws batches of
relations and negatives, `train` is the training loop, and `compute_metrics` computes the metrics of
the paper. `Checkpoint` and `TrainingLog` store the progress of a training. The modules:

- data: `holdout`, `sampling`, and `continuation` (the relations that are drawn if an earlier
  training is continued);
- the network: `loop`; `cuda_graph` makes its steps faster on a GPU;
- the text tower: `tower`, by `tower_gradients`;
- both: `checkpoint`, `metrics`, `log` and `record`.
"""

from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_growth, hold_out_leaves
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.sampling import TrainingSampler

__all__ = [
    "Checkpoint",
    "Epoch",
    "History",
    "Holdout",
    "Metrics",
    "TrainingLog",
    "TrainingSampler",
    "compute_metrics",
    "hold_out",
    "hold_out_growth",
    "hold_out_leaves",
    "train",
]
