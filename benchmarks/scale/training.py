"""A whole training from file to model: time and peak memory of every stage, for one size.

The settings are those of the preset `thorough`, and the word vectors are generated from the letters
of each word. A stage that contains others is listed after them.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from scipy.sparse import csr_array

from benchmarks.scale.mag_shaped_taxonomy import DIMENSION, mag_shaped_taxonomy, write_csv
from benchmarks.scale.measures import MEBIBYTE, describe_machine, in_own_process, peak_memory
from taxoexpan import TaxoExpan, model, read_taxonomy
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.placement.fitting import calibrator_learning, preparation, session
from taxoexpan.placement.learned.duplicates import DuplicateDetector
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.training import loop

STAGES: tuple[tuple[Any, str, str], ...] = (
    (preparation, "embed_holdout", "vectors of all concepts"),
    (model, "prepare_taxonomy", "hold out and embed"),
    (loop, "_train_epoch", "one epoch"),
    (Anchors, "encode", "keys of all anchors"),
    (AnchorTexts, "of", "words of all labels"),
    (Ranker, "true_ranks", "ranks of the held-out concepts"),
    (session, "train_network", "training of the network"),
    (DuplicateDetector, "learn", "detection of duplicates"),
    (calibrator_learning, "collect_examples", "examples for the fusion"),
    (calibrator_learning, "learn_fusion", "weights of the fusion"),
    (calibrator_learning, "score_held_out_by_fold", "scores for the confidence"),
    (calibrator_learning, "learn_abstention", "abstention"),
    (session, "learn_calibrators", "fusion, confidence, abstention"),
)
"""The functions to measure: where they are looked up, their name, and the name of the stage."""


class LetterEncoder(Encoder):
    """Sums of random word vectors, which depend only on the letters of a word."""

    name, dimension = "letters", DIMENSION

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._vectors = np.zeros((0, DIMENSION), np.float32)

    def prepare(self, texts: Sequence[str]) -> None:
        """Draw the vectors of the words that are not yet known."""
        known = len(self._rows)
        for text in texts:
            for word in text.split():
                self._rows.setdefault(word, len(self._rows))
        drawn = [
            np.random.default_rng(crc32(word.encode())).standard_normal(DIMENSION, np.float32)
            for word in list(self._rows)[known:]
        ]
        self._vectors = np.concatenate([self._vectors, *(row[None] for row in drawn)])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the sums of the words' vectors at unit length."""
        self.prepare(texts)
        words = [[self._rows[word] for word in text.split()] for text in texts]
        offsets = np.cumsum([0, *map(len, words)])
        columns = np.fromiter((row for own in words for row in own), np.int64, offsets[-1])
        ones = np.ones(len(columns), np.float32)
        table = csr_array((ones, columns, offsets), shape=(len(texts), len(self._vectors)))
        return normalize_rows(table @ self._vectors)

    def fingerprint(self) -> str:
        """Return a fixed text."""
        return "letters"


class Recorder:
    """Records the seconds and the peak memory of stages, and prints each of them."""

    def __init__(self) -> None:
        self.stages: list[dict[str, Any]] = []

    def measured(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with a measurement around it."""

        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            began, used = time.perf_counter(), time.process_time()
            result = function(*arguments, **options)
            found: dict[str, Any] = {"stage": stage}
            found["seconds"] = round(time.perf_counter() - began, 2)
            found["cpu_seconds"] = round(time.process_time() - used, 2)
            found["peak_mib"] = round(peak_memory())
            if torch.cuda.is_available():
                found["gpu_peak_mib"] = round(torch.cuda.max_memory_allocated() / MEBIBYTE)
            self.stages.append(found)
            print(json.dumps(found), file=sys.stderr, flush=True)
            return result

        return run

    def record_stages(self) -> None:
        """Measure all `STAGES` from now on."""
        for place, name, stage in STAGES:
            setattr(place, name, self.measured(getattr(place, name), stage))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("concepts", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--held-out", type=int, default=1_000, help="concepts to hold out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to write the files (default: temporary)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure a training, and print the figures as JSON."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = in_own_process(measure, Path(folder), options)
    print(json.dumps(figures, indent=1))
    return figures


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train, save, load and suggest; return the measurements."""
    torch.set_num_threads(options.threads)
    path, recorder = folder / "taxonomy.csv", Recorder()
    write_csv(mag_shaped_taxonomy(options.concepts), path)
    taxonomy = recorder.measured(read_taxonomy, "read the file")(path)
    recorder.record_stages()
    new = [f"new {label}" for label in taxonomy.labels[:100]]
    trained = TaxoExpan(
        "thorough",
        features="static",
        device=options.device,
        epochs=options.epochs,
        max_validation_leaves=options.held_out,
    )
    trained.encoder = LetterEncoder()
    recorder.measured(trained.fit, "whole training")(taxonomy)
    recorder.measured(trained.save, "save the model")(folder / "model")
    recorder.measured(trained.suggest, "first 100 suggestions")(new)
    recorder.measured(trained.suggest, "next 100 suggestions")(new)
    return {
        "concepts": len(taxonomy),
        "relations": len(taxonomy.relations),
        "machine": describe_machine(str(trained.device)),
        "threads": options.threads,
        "epochs": options.epochs,
        "stages": recorder.stages,
    }
