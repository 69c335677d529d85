"""Train the small encoder of the package to imitate larger ones.

    python -m reproduction.pretraining.student VOCABULARIES --start minilm/ --teacher mpnet/ \
        --phrases phrases.txt.gz -o encoder/ --exclude tests.txt

VOCABULARIES has a file NAME.jsonl.gz per vocabulary, and `phrases.txt.gz` a text per line. `start`
is a directory of MiniLM's weights, made by `published.py`; `teacher` one that `teacher.py` made.
With several teachers, the student imitates the mean of their cosines. A batch has relations of one
vocabulary and random phrases. The losses are, with cosines divided by a temperature:

- the divergence of the student's distribution of a query over the batch's anchors from the
  teachers', and the same among the queries and among the phrases
- one minus the cosine of the mapped vector and the teachers'
- InfoNCE with the true parents

In a quarter of the batches, an anchor is composed of the vectors of its text as a query and of its
parent's label, as the package composes it; the others have anchors with a text of their own.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from reproduction.pretraining.batches import (
    DrawnRelations,
    VocabularyTexts,
    draw_epoch,
    nearest_rows,
    read_texts,
)
from reproduction.pretraining.encoders import Encoder, EncoderTokenizer, load_encoder
from reproduction.pretraining.left_out import half_precision
from reproduction.pretraining.token_table import TextTokenizer, TokenTable
from reproduction.pretraining.training import (
    Figures,
    Schedule,
    add_common_arguments,
    processors,
    save_figures,
)
from reproduction.pretraining.vocabularies import read_excluded
from taxoexpan.features.minilm import MiniLM, load_minilm, quantize
from taxoexpan.features.pretrained import VOCABULARY, WEIGHTS
from taxoexpan.features.sentence_model import MAX_TOKENS, SentenceModel
from taxoexpan.network.text_tower import PARENT_WEIGHT
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.tower import MAX_NORM, contrastive_loss

STEPS = 8_000
LEARNING_RATE = 2e-4
MAP_RATE = 2e-3
"""The learning rate of the map to the teachers' vectors."""
WITH_DEFINITIONS = 0.5
COMPOSED = 0.25
"""The fractions of the batches with definitions, and with composed anchors."""
PHRASES = 1536
"""The phrases of a batch."""
SHARPNESS = 20.0
"""The inverse temperature of the distributions."""
WEIGHTS_OF_LOSSES = {"anchors": 1.0, "queries": 0.3, "phrases": 0.5, "vectors": 10.0, "true": 0.3}
"""The weights of the losses in their sum."""
LOGGED = 500
"""Steps between two printed lines."""


@dataclass(frozen=True)
class Phrases:
    """Phrases with the student's tokens, and the teachers' vectors of them [N, T]."""

    table: TokenTable
    targets: Tensor


class Distillation:
    """A student in training on vocabularies and phrases, with its optimizer."""

    def __init__(
        self,
        student: MiniLM,
        data: Sequence[VocabularyTexts],
        targets: Sequence[Tensor],
        phrases: Phrases | None,
        schedule: Schedule,
        composed: float = COMPOSED,
        seed: int = 0,
    ) -> None:
        self.student = student
        self.data = data
        self.targets = targets
        self.phrases = phrases
        self.schedule = schedule
        self.composed = composed
        self.rng = np.random.default_rng(seed)
        self.map = nn.Linear(student.dimension, targets[0].shape[1], bias=False).to(student.device)
        groups = [
            {"params": list(student.parameters()), "scale": 1.0},
            {"params": list(self.map.parameters()), "scale": MAP_RATE / LEARNING_RATE},
        ]
        self.optimizer = torch.optim.AdamW(groups, schedule.learning_rate, fused=True)
        self.step = 0
        self.losses: list[Tensor] = []

    def train(self) -> None:
        """Make all steps."""
        nearest = [
            nearest_targets(texts, targets)
            for texts, targets in zip(self.data, self.targets, strict=True)
        ]
        self.student.eval()  # dropout would hide what there is to imitate
        while True:
            for drawn in draw_epoch(self.data, nearest, WITH_DEFINITIONS, self.rng):
                self.losses.append(self._train_batch(drawn))
                self.step += 1
                if self.step % LOGGED == 0:
                    self._log()
                if self.schedule.done(self.step) >= 1:
                    return

    def _train_batch(self, drawn: DrawnRelations) -> Tensor:
        """Make one step of the optimizer, and return the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(self.step) * group["scale"]
        with half_precision(self.student.device):
            loss = self._loss_of_relations(drawn)
            if self.phrases is not None:
                loss = loss + self._loss_of_phrases(self.phrases)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.student.parameters(), MAX_NORM)
        self.optimizer.step()
        return loss.detach()

    def _loss_of_relations(self, drawn: DrawnRelations) -> Tensor:
        """Return the loss of a batch of relations."""
        texts = self.data[drawn.vocabulary]
        targets = self.targets[drawn.vocabulary]
        batch = texts.batch(drawn.relations, drawn.others)
        query_rows = texts.query_rows(batch.queries, drawn.defined)
        anchor_rows = texts.anchor_rows(batch.anchors, drawn.defined)
        if self.rng.random() < self.composed:
            queries, anchors = self._composed(texts, query_rows, batch.anchors, drawn.defined)
        else:
            rows = np.concatenate([query_rows, anchor_rows])
            vectors = texts.table.encode(self.student, rows)
            queries, anchors = vectors.split([len(query_rows), len(anchor_rows)])
        of_queries = taken(targets, query_rows)
        of_anchors = taken(targets, anchor_rows)
        weights = WEIGHTS_OF_LOSSES
        return (
            weights["anchors"] * divergence(queries @ anchors.T, of_queries @ of_anchors.T)
            + weights["queries"] * divergence(queries @ queries.T, of_queries @ of_queries.T)
            + weights["true"] * contrastive_loss(queries, anchors, batch)
            + weights["vectors"]
            * self._distance(torch.cat([queries, anchors]), torch.cat([of_queries, of_anchors]))
        )

    def _composed(
        self, texts: VocabularyTexts, query_rows: Indices, anchors: Indices, defined: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the vectors of queries, and of anchors composed of two vectors each."""
        own = texts.query_rows(anchors, defined)
        parents = texts.query_rows(texts.taxonomy.first_parents[anchors], defined=False)
        every = np.concatenate([query_rows, own, parents])
        distinct, places = np.unique(every, return_inverse=True)
        encoded = texts.table.encode(self.student, distinct)
        vectors = encoded[torch.from_numpy(places).to(encoded.device, non_blocking=True)]
        queries, of_own, of_parents = vectors.split([len(query_rows), len(own), len(parents)])
        return queries, F.normalize(of_own + PARENT_WEIGHT * of_parents, dim=1)

    def _loss_of_phrases(self, phrases: Phrases) -> Tensor:
        """Return the loss of random phrases."""
        rows = self.rng.integers(0, len(phrases.table), PHRASES)
        vectors = phrases.table.encode(self.student, rows)
        targets = taken(phrases.targets, rows)
        same = torch.eye(len(rows), dtype=torch.bool, device=vectors.device)
        cosines = (vectors @ vectors.T).masked_fill(same, -1.0)
        wanted = (targets @ targets.T).masked_fill(same, -1.0)
        weights = WEIGHTS_OF_LOSSES
        return weights["phrases"] * divergence(cosines, wanted) + weights[
            "vectors"
        ] * self._distance(vectors, targets)

    def _distance(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Return one minus the mean cosine of the mapped vectors and the teachers'."""
        mapped = self.map(vectors).float()
        distance: Tensor = 1 - F.cosine_similarity(mapped, targets.float(), dim=1).mean()
        return distance

    def _log(self) -> None:
        """Print the mean loss of the last steps, and the steps so far per second."""
        loss = torch.stack(self.losses[-LOGGED:]).mean().item()
        seconds = self.schedule.seconds
        line = f"step {self.step}: loss {loss:.4f}, {seconds:.0f} s"
        print(line, file=sys.stderr, flush=True)


def divergence(cosines: Tensor, wanted: Tensor) -> Tensor:
    """Return the mean divergence of the distributions of rows [B, A] from the wanted ones."""
    found = (SHARPNESS * cosines.float()).log_softmax(1)
    hoped = (SHARPNESS * wanted.float()).log_softmax(1)
    return F.kl_div(found, hoped, log_target=True, reduction="batchmean")


def taken(targets: Tensor, rows: Indices) -> Tensor:
    """Return some of the teachers' vectors."""
    return targets[torch.from_numpy(rows).to(targets.device, non_blocking=True)]


@torch.no_grad()
def nearest_targets(texts: VocabularyTexts, targets: Tensor) -> Indices:
    """Return the anchors that the teachers find nearest to every concept: [N, K]."""
    every = np.arange(len(texts.taxonomy))
    queries = taken(targets, texts.query_rows(every, defined=False))
    return nearest_rows(queries, taken(targets, texts.anchor_rows(every, defined=False)))


@torch.no_grad()
def encode_targets(teacher: SentenceModel, table: TokenTable) -> Tensor:
    """Return a teacher's vectors of all texts in half precision: [N, T]."""
    teacher.eval()
    with half_precision(teacher.device):
        return torch.cat(
            [
                table.encode(teacher, rows).half()
                for rows in np.array_split(np.arange(len(table)), -(-len(table) // 2**17))
            ]
        )


def joined(targets: Sequence[Tensor]) -> Tensor:
    """Return the vectors of several teachers side by side, whose cosine is the mean cosine."""
    together = torch.cat(list(targets), dim=1)
    return together.mul_(len(targets) ** -0.5)


def read_phrases(path: Path) -> list[str]:
    """Read a text per line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [text for line in lines if (text := line.strip())]


def save_student(student: MiniLM, folder: Path) -> None:
    """Save the weights in 8 bits, and the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = quantize({name: each.cpu() for name, each in student.state_dict().items()})
    save_file({name: each.contiguous() for name, each in weights.items()}, folder / WEIGHTS)


@dataclass(frozen=True)
class Texts:
    """Where the texts of a training are, and what they leave out."""

    vocabularies: Path
    phrases: Sequence[str]
    excluded: set[str]
    without: Sequence[str]
    device: torch.device

    def read(self, tokenizer: TextTokenizer) -> tuple[list[VocabularyTexts], list[VocabularyTexts]]:
        """Return the vocabularies of the training, and those that are left out."""
        data = read_texts(self.vocabularies, tokenizer, self.excluded, processors(), self.device)
        used = [each for each in data if each.vocabulary.domain not in self.without]
        left_out = [each for each in data if each.vocabulary.domain in self.without]
        return used, left_out

    def tokenized_phrases(self, tokenizer: TextTokenizer) -> TokenTable:
        """Tokenize the phrases."""
        return TokenTable.of_texts(tokenizer, self.phrases, self.device)


def teach(teacher: Encoder, texts: Texts) -> list[Tensor]:
    """Return a teacher's vectors of each vocabulary's texts, and then of the phrases."""
    tokenizer = EncoderTokenizer(teacher.tokenizer)
    used, _ = texts.read(tokenizer)
    tables = [each.table for each in used] + (
        [texts.tokenized_phrases(tokenizer)] if texts.phrases else []
    )
    return [encode_targets(teacher, table) for table in tables]


def tokenizer_of(student: MiniLM) -> EncoderTokenizer:
    """Return the student's tokenizer, which processes can share."""
    return EncoderTokenizer(Tokenizer.from_str(student.tokenizer.to_str()), MAX_TOKENS)


def main() -> None:
    """Train, measure and save a student."""
    options = parse_arguments()
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    phrases = read_phrases(options.phrases) if options.phrases else []
    excluded = read_excluded(options.exclude)
    texts = Texts(options.vocabularies, phrases, excluded, options.without, device)
    taught = [teach(load_encoder(folder).to(device), texts) for folder in options.teacher]
    targets = [joined(each) for each in zip(*taught, strict=True)]
    student = load_minilm(options.start).to(device)
    tokenizer = tokenizer_of(student)
    used, left_out = texts.read(tokenizer)
    figures = Figures(student, [each.vocabulary for each in left_out])
    figures.measure(0)
    of_phrases = Phrases(texts.tokenized_phrases(tokenizer), targets.pop()) if phrases else None
    schedule = Schedule(options.steps, options.learning_rate, options.seconds)
    run = Distillation(student, used, targets, of_phrases, schedule, seed=options.seed)
    run.train()
    figures.measure(run.step)
    save_student(student, options.output)
    shutil.copy(options.start / VOCABULARY, options.output / VOCABULARY)
    save_figures(options.output, figures, vars(options))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_common_arguments(parser, STEPS, LEARNING_RATE)
    parser.add_argument("--start", type=Path, required=True, help="the weights to start from")
    parser.add_argument(
        "--teacher", type=Path, action="append", required=True, help="a trained encoder"
    )
    parser.add_argument("--phrases", type=Path, help="a gzip file with a text per line")
    return parser.parse_args()


if __name__ == "__main__":
    main()
