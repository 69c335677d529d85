"""The training loop: batch, loss, step, validate, keep the best, and a checkpoint each epoch."""

from __future__ import annotations

import copy
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from taxoexpan.config import Config
from taxoexpan.device import quick_products
from taxoexpan.errors import ModelError, is_out_of_memory
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.training.checkpoint import Checkpoint, State
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.tensorboard import TensorBoardWriter

Validate = Callable[[MatchingNetwork], Metrics]


@dataclass(frozen=True)
class Epoch:
    """What one pass over the relations came to."""

    number: int
    loss: float
    learning_rate: float
    validation: Metrics | None
    seconds: float = field(default=0.0, compare=False)
    """How long it took, validation included, which is no part of what was learned."""


@dataclass
class History:
    """All epochs, the number of the best, and whether the user stopped the training."""

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    interrupted: bool = False

    @property
    def best_epoch(self) -> Epoch:
        """The epoch whose weights were kept."""
        return self.epochs[self.best - 1]


@dataclass(frozen=True)
class TrainingLog:
    """How a training tells what it does: on the screen, in lines of JSON, on TensorBoard."""

    progress: bool = False
    log: Path | None = None
    board: TensorBoardWriter | None = None

    def tell(self, epoch: Epoch, better: bool) -> None:
        """Tell of an epoch that is done."""
        if self.progress:
            tqdm.write(_line(epoch, better), file=sys.stderr)
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**asdict(epoch), "better": better}) + "\n")
        if self.board is not None:
            self.board.tell(epoch.number, _figures(epoch))

    def close(self) -> None:
        """Say that no epoch is to come."""
        if self.board is not None:
            self.board.close()


SILENT = TrainingLog()


def train(
    network: MatchingNetwork,
    features: ConceptVectors,
    sampler: TrainingSampler,
    validate: Validate | None,
    config: Config,
    report: TrainingLog = SILENT,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train until validation stops getting better, and leave the best weights in the network.

    Ctrl-C ends the training after the best epoch so far; without a finished epoch it is passed on.
    Where the checkpoint's file is there, the training goes on from it, on a CPU bit for bit.
    """
    run = _Run(network, sampler, config)
    if checkpoint is not None and checkpoint.path.exists():
        run.restore(checkpoint.load())
    try:
        while not run.is_done():
            began = time.monotonic()
            with quick_products(features.device):
                loss = _one_epoch(run, features, report.progress)
            validation = validate(network) if validate else None
            better = run.close_epoch(loss, validation, time.monotonic() - began)
            if checkpoint is not None:
                checkpoint.save(run.state())
            report.tell(run.history.epochs[-1], better)
    except KeyboardInterrupt:
        if not run.history.epochs:
            raise
        run.history.interrupted = True
    network.load_state_dict(run.best)
    network.eval()
    return run.history


class _Run:
    """A training between two epochs: weights, optimiser, the best so far, and the dice."""

    def __init__(self, network: MatchingNetwork, sampler: TrainingSampler, config: Config) -> None:
        c = config
        self.network, self.sampler, self.config = network, sampler, c
        fused = next(network.parameters()).device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(
            network.parameters(), c.learning_rate, amsgrad=True, fused=fused
        )
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            # Whatever is not better is not better: a relative threshold misleads below zero.
            self.optimizer,
            factor=0.5,
            patience=3,
            threshold=0.0,
            threshold_mode="abs",
        )
        self.history, self.lowest = History(), math.inf
        self.parts = 1
        self.best = copy.deepcopy(network.state_dict())

    @property
    def number(self) -> int:
        """How many epochs are done."""
        return len(self.history.epochs)

    def is_done(self) -> bool:
        """Whether there are epochs enough, or it has been long enough since the best."""
        patience = self.config.patience
        return self.number >= self.config.epochs or (
            self.number - self.history.best >= patience and self.number > 0
        )

    def close_epoch(self, loss: float, validation: Metrics | None, seconds: float) -> bool:
        """Note what an epoch came to, and whether it was better than all before."""
        rate = self.optimizer.param_groups[0]["lr"]
        epoch = Epoch(self.number + 1, loss, rate, validation, round(seconds, 3))
        self.history.epochs.append(epoch)
        watched = _watched(epoch, self.config.monitor)
        self.scheduler.step(watched)
        better = watched < self.lowest
        if better:
            self.best = copy.deepcopy(self.network.state_dict())
            self.history.best, self.lowest = epoch.number, watched
        return better

    def halve(self) -> None:
        """Take batches in twice as many parts from now on; what is learned stays the same."""
        self.parts *= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        message = f"out of memory: batches are taken in {self.parts} parts from here on"
        warnings.warn(message, stacklevel=2)

    def state(self) -> State:
        """All of it, as tensors and as facts."""
        optimizer = self.optimizer.state_dict()
        tensors = {f"weights.{name}": t for name, t in self.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        tensors |= {
            f"optimizer.{index}.{name}": tensor
            for index, moments in optimizer["state"].items()
            for name, tensor in moments.items()
        }
        tensors["dice"] = torch.get_rng_state()
        return State(
            tensors,
            {
                "epochs": [asdict(epoch) for epoch in self.history.epochs],
                "best": self.history.best,
                "lowest": self.lowest,
                "groups": optimizer["param_groups"],
                "scheduler": self.scheduler.state_dict(),
                "draws": self.sampler.generator.bit_generator.state,
                "parts": self.parts,
            },
        )

    def restore(self, state: State) -> None:
        """Be where the other training was."""
        tensors, facts = state.tensors, state.facts
        self.network.load_state_dict(_under("weights", tensors))
        self.best = _under("best", tensors)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("optimizer", tensors).items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor
        self.optimizer.load_state_dict({"state": moments, "param_groups": facts["groups"]})
        self.scheduler.load_state_dict(facts["scheduler"])
        self.sampler.generator.bit_generator.state = facts["draws"]
        torch.set_rng_state(tensors["dice"])
        self.history.epochs = [_epoch(told) for told in facts["epochs"]]
        self.history.best, self.lowest = facts["best"], facts["lowest"]
        self.parts = facts["parts"]


def _under(start: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin so, without that beginning."""
    first = f"{start}."
    return {name.removeprefix(first): t for name, t in tensors.items() if name.startswith(first)}


def _epoch(told: dict[str, Any]) -> Epoch:
    validation = told["validation"]
    return Epoch(**{**told, "validation": Metrics(**validation) if validation else None})


def _one_epoch(run: _Run, features: ConceptVectors, progress: bool) -> float:
    """Train on every relation once; the mean loss."""
    sampler, number = run.sampler, run.number + 1
    run.network.train()
    total = torch.zeros((), device=features.device)
    bar = tqdm(
        sampler.epoch(features.device),
        desc=f"epoch {number}",
        total=sampler.batch_count,
        unit="batch",
        leave=False,
        disable=None if progress else True,
    )
    told = time.monotonic()
    for step, batch in enumerate(bar, start=1):
        total += _step(run, features, batch)
        # Asking for the loss makes the host wait for the device, so not at every step.
        if not bar.disable and time.monotonic() - told > 1:
            bar.set_postfix(loss=f"{total.item() / step:.3f}", refresh=False)
            told = time.monotonic()
    mean = total.item() / sampler.batch_count
    if not math.isfinite(mean):
        mend = "train again with a lower learning rate or less dropout"
        if run.config.quirks.double_exp:
            mend += ", or without the quirk double_exp"
        raise ModelError(f"the loss became {mean} in epoch {number}; {mend}")
    return mean


def _step(run: _Run, features: ConceptVectors, batch: TrainingBatch) -> Tensor:
    """Train on one batch, in as many parts as the memory asks for; its loss."""
    while True:
        try:
            run.optimizer.zero_grad(set_to_none=True)
            loss = _gradients(run, features, batch)
            break
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if run.parts >= len(batch.queries):
                raise ModelError(
                    f"the memory of {features.device} is too small for a single query; train with "
                    "a smaller network, or fewer anchors (negative_sampling, num_negatives)"
                ) from None
        # Out of the handler, so that what failed has let go of its memory.
        run.halve()
    run.optimizer.step()
    return loss


def _gradients(run: _Run, features: ConceptVectors, batch: TrainingBatch) -> Tensor:
    """Leave the gradients of the batch's mean loss in the network; that loss."""
    if run.parts == 1:
        loss = run.network.loss(features, batch)
        loss.backward()
        return loss.detach()
    sums, counted = features.names.new_zeros(()), 0
    for part in batch.split(min(run.parts, len(batch.queries))):
        total, instances = run.network.total_loss(features, part)
        total.backward()
        sums += total.detach()
        counted += instances
    for parameter in run.network.parameters():
        if parameter.grad is not None:
            parameter.grad /= counted
    return sums / counted


def _watched(epoch: Epoch, monitor: str) -> float:
    """The figure that decides which epoch is best; lower is better."""
    if epoch.validation is None:
        return epoch.loss
    return epoch.validation.mr if monitor == "mean_rank" else -epoch.validation.reciprocal_rank


def _figures(epoch: Epoch) -> dict[str, float]:
    """What has a curve on TensorBoard."""
    figures = {"loss": epoch.loss, "learning_rate": epoch.learning_rate, "seconds": epoch.seconds}
    if epoch.validation is not None:
        validation = epoch.validation.as_dict()
        figures |= {f"validation/{name}": value for name, value in validation.items()}
    return figures


def _line(epoch: Epoch, better: bool) -> str:
    text = f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}"
    if epoch.validation is not None:
        v = epoch.validation
        text += f"  validation MR {v.mr:.1f}  Hit@1 {v.hit_at_1:.3f}"
        text += f"  MRR {v.reciprocal_rank:.3f} (scaled {v.mrr:.3f})"
    return text + ("  *" if better else "")
