"""Fine-tuning a text tower on the relations of a taxonomy (contrastive, InfoNCE)."""

from __future__ import annotations

from typing import Any

import torch
from tqdm import tqdm

from taxoexpan.config import Config
from taxoexpan.network.text_tower import TextTower
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.continuation import News
from taxoexpan.training.distributed import ALONE, Processes
from taxoexpan.training.history import TowerHistory
from taxoexpan.training.tower_run import TowerRun, Validate
from taxoexpan.training.training_log import print_line_above_bars


def train_tower(
    tower: TextTower,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Validate | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    news: News | None = None,
    processes: Processes = ALONE,
) -> TowerHistory:
    """Fine-tune a tower, and leave the weights of the best epoch in it.

    With `news`, the tower has been fine-tuned before, and learns what is new since. The
    `processes` share the texts; the first one validates, reports and saves.

    Ctrl-C ends the training with the best state so far, which may be the encoder as it came. If the
    file of the checkpoint exists, the training continues from it. On a CPU, the result is the same
    bit for bit. The random numbers of the caller are left as they were.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, config, seed, validate, news, processes)
        if checkpoint is not None and checkpoint.path.exists():
            checkpoint.restore(run)
        processes.refuse_difference(run.epoch)
        try:
            with _progress_bar(run, progress) as bar:
                if progress:
                    print_line_above_bars(
                        f"fine-tuning the encoder: {pluralize(run.remaining, 'epoch')} to go"
                    )
                while run.epoch < config.tower_epochs:
                    run.train_epoch(bar)
                    # First: who reads the line may stop the training, and expects to resume there.
                    if checkpoint is not None and processes.is_first:
                        checkpoint.save_if_possible(run.state())
                    if progress:
                        print_line_above_bars(run.last_epoch())
        except KeyboardInterrupt:
            run.history.interrupted = True
    if run.best_weights:
        tower.load_state_dict(run.best_weights)
    tower.eval()
    return run.history


def _progress_bar(run: TowerRun, shown: bool) -> tqdm[Any]:
    """Return the bar of the whole fine-tuning, with the time that is left."""
    return tqdm(
        total=run.steps,
        initial=run.step,
        desc="fine-tuning",
        unit="batch",
        leave=False,
        disable=None if shown else True,
    )
