"""The training loop: batch, loss, step, validate, keep the best."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from tqdm import tqdm

from taxoexpan.configuration import Configuration
from taxoexpan.errors import ModelError
from taxoexpan.metrics import Metrics
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.supervision import Supervision

Validate = Callable[[MatchingNetwork], Metrics]


@dataclass(frozen=True)
class Epoch:
    """What one pass over the relations came to."""

    number: int
    loss: float
    learning_rate: float
    validation: Metrics | None


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


def train(
    network: MatchingNetwork,
    features: Tensor,
    supervision: Supervision,
    validate: Validate | None,
    configuration: Configuration,
    progress: bool = True,
) -> History:
    """Train until validation stops getting better, and leave the best weights in the network.

    Ctrl-C ends the training after the best epoch so far; without a finished epoch it is passed on.
    """
    optimizer = torch.optim.Adam(network.parameters(), configuration.learning_rate, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=3)
    history, best, lowest = History(), copy.deepcopy(network.state_dict()), math.inf
    try:
        for number in range(1, configuration.epochs + 1):
            loss = _one_epoch(network, features, supervision, optimizer, number, progress)
            validation = validate(network) if validate else None
            rate = optimizer.param_groups[0]["lr"]
            history.epochs.append(Epoch(number, loss, rate, validation))
            watched = _watched(history.epochs[-1], configuration.monitor)
            scheduler.step(watched)
            if progress:
                tqdm.write(_line(history.epochs[-1], better=watched < lowest), file=sys.stderr)
            if watched < lowest:
                best = copy.deepcopy(network.state_dict())
                history.best, lowest = number, watched
            elif number - history.best >= configuration.patience:
                break
    except KeyboardInterrupt:
        if not history.epochs:
            raise
        history.interrupted = True
    network.load_state_dict(best)
    network.eval()
    return history


def _one_epoch(
    network: MatchingNetwork,
    features: Tensor,
    supervision: Supervision,
    optimizer: torch.optim.Optimizer,
    number: int,
    progress: bool,
) -> float:
    """Train on every relation once; the mean loss."""
    network.train()
    total = torch.zeros((), device=features.device)
    bar = tqdm(
        supervision.epoch(),
        desc=f"epoch {number}",
        total=supervision.batch_count,
        unit="batch",
        leave=False,
        disable=None if progress else True,
    )
    for step, batch in enumerate(bar, start=1):
        loss = network.loss(features, batch.to(features.device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if not bar.disable and step % 10 == 0:
            bar.set_postfix(loss=f"{total.item() / step:.3f}")
    mean = total.item() / supervision.batch_count
    if not math.isfinite(mean):
        raise ModelError(
            f"the loss became {mean} in epoch {number}; train again with a lower learning rate"
        )
    return mean


def _watched(epoch: Epoch, monitor: str) -> float:
    """The figure that decides which epoch is best; lower is better."""
    if epoch.validation is None:
        return epoch.loss
    return epoch.validation.mr if monitor == "mr" else -epoch.validation.reciprocal_rank


def _line(epoch: Epoch, better: bool) -> str:
    text = f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}"
    if epoch.validation is not None:
        v = epoch.validation
        text += f"  validation MR {v.mr:.1f}  Hit@1 {v.hit_at_1:.3f}"
        text += f"  MRR {v.reciprocal_rank:.3f} (scaled {v.mrr:.3f})"
    return text + ("  *" if better else "")
