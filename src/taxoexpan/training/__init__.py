"""Self-supervised training (Section 4.3).

`hold_out` and its variants hold out concepts for validation, `TrainingSampler` draws batches of
relations and negatives, `train` is the training loop, and `compute_metrics` computes the metrics of
the paper. `Checkpoint` and `TrainingLog` store the progress of a training. The modules:

- data: `holdout`, `sampling`, `blocked_pairs` (which pairs are no negatives), and `continuation`
  (what is drawn if an earlier training is continued);
- the network: `loop` changes a `training_run`; `cuda_graph` makes its steps faster on a GPU;
- the text tower: `tower_training` changes a `tower_run` by `tower_gradients`;
- both: `checkpoint`, `metrics`, `history`, `training_log`, `tensorboard` and `record`.
"""

from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.history import Epoch, History
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_growth, hold_out_leaves
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.training_log import TrainingLog

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
