"""Train a larger encoder on many vocabularies at once, as a teacher of small encoders.

    python -m reproduction.pretraining.teacher VOCABULARIES --base mpnet/ -o teacher/

VOCABULARIES has a file NAME.jsonl.gz per vocabulary. `published.py` makes the directory of a base,
MPNet or Nomic. The query is `label` or `label: definition`, its positive `label < parent:
definition` of its parent; the negatives are the other parents of the batch and one hard negative
per query. `--exclude` names the concepts of tests. The vocabularies of
domains after `--without` are left out and measured before and after the training. The output has:

- `encoder/`: the trained encoder with numbers of 8 bits, in parts of 15 MB
- `difference.safetensors`: the difference to the base with a low rank, at most 10 MB
- `figures.json`: the figures of the vocabularies that were left out, also with the difference
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from reproduction.pretraining.batches import (
    DrawnRelations,
    VocabularyTexts,
    draw_epoch,
    read_texts,
)
from reproduction.pretraining.encoders import Encoder, EncoderTokenizer, load_encoder, save_encoder
from reproduction.pretraining.left_out import half_precision
from reproduction.pretraining.low_rank import low_rank_difference
from reproduction.pretraining.training import (
    Figures,
    Schedule,
    add_common_arguments,
    processors,
    save_figures,
)
from reproduction.pretraining.vocabularies import read_excluded
from taxoexpan.features.low_rank import with_difference
from taxoexpan.features.minilm import MiniLM
from taxoexpan.training.tower import MAX_NORM, contrastive_loss

STEPS = 690
LEARNING_RATE = 5e-5
WITH_DEFINITIONS = 0.5
"""The fraction of the batches with definitions."""
LOGGED = 50
"""Steps between two printed lines."""


class TeacherTraining:
    """An encoder in training on tokenized vocabularies, with its optimizer."""

    def __init__(
        self,
        model: Encoder | MiniLM,
        data: Sequence[VocabularyTexts],
        schedule: Schedule,
        with_definitions: float,
        seed: int,
    ) -> None:
        self.model = model
        self.data = data
        self.schedule = schedule
        self.with_definitions = with_definitions
        self.rng = np.random.default_rng(seed)
        fused = model.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.AdamW(model.parameters(), schedule.learning_rate, fused=fused)
        self.step = 0
        self.losses: list[Tensor] = []

    def train(self, after_step: Callable[[int], None] | None = None) -> None:
        """Make all steps, and call a function after each."""
        while True:
            self.model.eval()
            nearest = [texts.nearest_anchors(self.model) for texts in self.data]
            self._print(f"nearest anchors found after {self.schedule.seconds:.0f} s")
            self.model.train()
            for drawn in draw_epoch(self.data, nearest, self.with_definitions, self.rng):
                self.losses.append(self._train_batch(drawn))
                self.step += 1
                if self.step % LOGGED == 0:
                    self._log()
                if after_step is not None:
                    after_step(self.step)
                if self.schedule.done(self.step) >= 1:
                    return

    def _train_batch(self, drawn: DrawnRelations) -> Tensor:
        """Make one step of the optimizer, and return the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(self.step)
        texts = self.data[drawn.vocabulary]
        batch = texts.batch(drawn.relations, drawn.others)
        rows = np.concatenate(
            [
                texts.query_rows(batch.queries, drawn.defined),
                texts.anchor_rows(batch.anchors, drawn.defined),
            ]
        )
        with half_precision(self.model.device):
            vectors = texts.table.encode(self.model, rows)
        queries, anchors = vectors.split([len(batch.queries), len(batch.anchors)])
        loss = contrastive_loss(queries, anchors, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.optimizer.step()
        return loss.detach()

    def _log(self) -> None:
        """Print the mean loss of the last steps, and the steps so far per second."""
        loss = torch.stack(self.losses[-LOGGED:]).mean().item()
        seconds = self.schedule.seconds
        speed = self.step / seconds
        self._print(f"step {self.step}: loss {loss:.4f}, {seconds:.0f} s, {speed:.2f} steps/s")

    @staticmethod
    def _print(line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Train, measure and save a teacher."""
    options = parse_arguments()
    torch.manual_seed(options.seed)
    model = load_encoder(options.base).to("cuda" if torch.cuda.is_available() else "cpu")
    processes = options.processes or processors()
    excluded = read_excluded(options.exclude)
    tokenizer = EncoderTokenizer(model.tokenizer)
    data = read_texts(options.vocabularies, tokenizer, excluded, processes, model.device)
    start = {name: weight.detach().cpu().clone() for name, weight in model.state_dict().items()}
    left_out = [each.vocabulary for each in data if each.vocabulary.domain in options.without]
    used = [each for each in data if each.vocabulary.domain not in options.without]
    figures = Figures(model, left_out)
    figures.measure(0)
    schedule = Schedule(options.steps, options.learning_rate, options.seconds)
    run = TeacherTraining(model, used, schedule, options.definitions, options.seed)
    run.train(lambda step: measure_sometimes(figures, step, options.measure_every))
    figures.measure(run.step)
    save_results(options.output, model, start, figures, vars(options))


def measure_sometimes(figures: Figures, step: int, every: int) -> None:
    """Measure the model after a number of steps, and its multiples."""
    if every and step % every == 0:
        figures.measure(step)


def save_results(
    output: Path,
    model: Encoder,
    start: dict[str, Tensor],
    figures: Figures,
    arguments: dict[str, Any],
) -> None:
    """Save the encoder, its difference to the base, and the figures with either."""
    save_encoder(model, output / "encoder")
    rank, difference = low_rank_difference(start, model.state_dict())
    save_file(difference, output / "difference.safetensors")
    model.load_state_dict(with_difference(start, difference))
    figures.measure(f"difference of rank {rank}")
    save_figures(output, figures, arguments)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_common_arguments(parser, STEPS, LEARNING_RATE)
    parser.add_argument("--base", type=Path, required=True, help="the encoder to start from")
    parser.add_argument(
        "--definitions",
        type=float,
        default=WITH_DEFINITIONS,
        help="the fraction of the batches with definitions",
    )
    parser.add_argument(
        "--measure-every", type=int, default=0, help="steps between two measurements"
    )
    parser.add_argument("--processes", type=int, default=0, help="to read and tokenize with")
    return parser.parse_args()


if __name__ == "__main__":
    main()
