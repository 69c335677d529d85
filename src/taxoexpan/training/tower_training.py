"""Fine-tuning a text tower on the relations of a taxonomy (contrastive, InfoNCE)."""

from __future__ import annotations

import torch

from taxoexpan.config import Config
from taxoexpan.network.text_tower import TextTower
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.continuation import News
from taxoexpan.training.history import TowerHistory
from taxoexpan.training.tower_run import TowerRun, Validate


def train_tower(
    tower: TextTower,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Validate | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    news: News | None = None,
) -> TowerHistory:
    """Fine-tune a tower, and leave the weights of the best epoch in it.

    With `news`, the tower has been fine-tuned before, and learns what is new since.

    Ctrl-C ends the training with the best state so far, which may be the encoder as it came. If the
    file of the checkpoint exists, the training continues from it. On a CPU, the result is the same
    bit for bit. The random numbers of the caller are left as they were.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, config, seed, validate, news)
        if checkpoint is not None and checkpoint.path.exists():
            checkpoint.restore(run)
        try:
            with Progress(
                "fine-tuning", run.steps, "batches", shown=progress, done=run.step
            ) as bar:
                if progress:
                    write_line(
                        f"fine-tuning the encoder: {pluralize(run.remaining, 'epoch')} to go"
                    )
                while run.epoch < config.tower_epochs:
                    run.train_epoch(bar)
                    # First: who reads the line may stop the training, and expects to resume there.
                    if checkpoint is not None:
                        checkpoint.save_if_possible(run.state())
                    if progress:
                        write_line(run.last_epoch())
        except KeyboardInterrupt:
            run.history.interrupted = True
    if run.best_weights:
        tower.load_state_dict(run.best_weights)
    tower.eval()
    return run.history
