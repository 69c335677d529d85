"""Train the teachers and the students of the package in one run on a GPU.

    python -m reproduction.pretraining.pipeline VOCABULARIES --bases BASES \
        --phrases phrases.txt.gz --exclude tests.txt -o OUT

BASES has a directory of each published encoder: `mpnet` and `nomic`, made by `published.py`, and
`bge` and `minilm`, made by `start.py`. Vocabularies and phrases are read and tokenized once; the
trainings are forked processes that share them, as many at a time as `--parallel` says:

- `student`: the encoder of the package, taught by `mpnet` and `nomic`, which learn from all
  vocabularies
- `fold-1` to `fold-3`: the same without the domains of a fold, which it is measured on, with
  `fold-N-before`, MiniLM trained on the relations alone

OUT gets a directory of each, with `figures.json`. If a training fails, all others are ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkProcess
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from reproduction.pretraining import student as students
from reproduction.pretraining import teacher as teachers
from reproduction.pretraining.batches import VocabularyTexts, tokenize_vocabulary
from reproduction.pretraining.encoders import TOKENIZER, EncoderTokenizer, load_encoder
from reproduction.pretraining.left_out import LeftOut, QueriesAndAnchors, hold_out_some
from reproduction.pretraining.token_table import TextTokenizer, TokenTable, token_arrays
from reproduction.pretraining.training import Figures, Schedule, processors, save_figures
from reproduction.pretraining.vocabularies import SUFFIX, read_excluded, read_vocabulary
from taxoexpan.features.minilm import load_minilm
from taxoexpan.features.pretrained import VOCABULARY
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.training.holdout import Holdout

FOLDS = {
    "fold-1": ("products", "earth", "matter"),
    "fold-2": ("anatomy", "biology", "computing"),
    "fold-3": ("medicine", "knowledge", "work", "general"),
}
"""The domains that the encoders of a fold do not learn from."""
TEACHERS = ("mpnet", "nomic")
STUDENT, STUDENT_BASE, BEFORE = "student", "bge", "minilm"
"""The name of the encoder of the package, what it starts from, and what `before` starts from."""
STEPS = {"mpnet": 920, "nomic": 680}
"""The steps of the teachers of the package: one epoch has about 690."""
FOLD_STEPS = 250
"""The steps of the teachers of a fold; these bring most of the gain."""
BEFORE_STEPS, BEFORE_RATE = 680, 2e-4
FOLD_PHRASES = 400_000
"""The phrases that the student of a fold learns from, at most."""
POLL = 0.2
"""Seconds between two looks at the running trainings."""


@dataclass(frozen=True)
class Inputs:
    """What all trainings share: tokenized vocabularies and phrases, by the tokenizer's name."""

    bases: Path
    vocabularies: Mapping[str, list[VocabularyTexts]]
    phrases: Mapping[str, TokenTable]
    holdouts: Mapping[str, Holdout]
    output: Path
    device: torch.device
    seed: int

    def used(self, tokenizer: str, without: Sequence[str]) -> list[VocabularyTexts]:
        """Return the vocabularies of a training, on the device."""
        found = self.vocabularies[tokenizer]
        return [each.to(self.device) for each in found if each.vocabulary.domain not in without]

    def tests(self, model: SentenceModel, without: Sequence[str]) -> list[LeftOut]:
        """Return the held-out concepts of the domains that a training leaves out."""
        found = (each.vocabulary for each in self.vocabularies[STUDENT])
        names = [each.name for each in found if each.domain in without]
        return [LeftOut(model, self.holdouts[name]) for name in names]

    def first_phrases(self, tokenizer: str, count: int) -> TokenTable:
        """Return some phrases on the device."""
        table = self.phrases[tokenizer]
        lengths = table.lengths[:count]
        return TokenTable(lengths, table.flat[: int(lengths.sum())].numpy(), self.device)

    def scratch(self, *parts: str) -> Path:
        """Return the file for what a training leaves for others."""
        folder = self.output / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "-".join(parts)


@dataclass(frozen=True)
class Training:
    """A training with its name, and the names of the trainings that it needs."""

    name: str
    start: Callable[[Inputs], None]
    needs: tuple[str, ...] = ()


@dataclass
class Progress:
    """Which trainings are running, and which are done."""

    started: float = field(default_factory=time.monotonic)
    running: dict[str, ForkProcess] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def print(self, line: str) -> None:
        """Print a line with the seconds since the start."""
        print(f"[{time.monotonic() - self.started:5.0f} s] {line}", file=sys.stderr, flush=True)


def read_inputs(options: argparse.Namespace, processes: int) -> Inputs:
    """Read and tokenize vocabularies and phrases in processes."""
    excluded = read_excluded(options.exclude)
    tokenizers = read_tokenizers(options.bases)
    paths = sorted(options.vocabularies.glob(f"*{SUFFIX}"), key=lambda path: -path.stat().st_size)
    phrases = students.read_phrases(options.phrases)
    parts = [phrases[start::processes] for start in range(processes)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        texts = {
            name: pool.map(partial(tokenize_vocabulary, tokenizer=each, excluded=excluded), paths)
            for name, each in tokenizers.items()
        }
        of_phrases = {
            name: pool.map(partial(token_arrays, each), parts) for name, each in tokenizers.items()
        }
        read = [read_vocabulary(path, excluded) for path in paths]
        holdouts = {each.name: hold_out_some(each.taxonomy) for each in read}
        vocabularies = {
            name: [VocabularyTexts(v, TokenTable(*a)) for v, a in zip(read, arrays, strict=True)]
            for name, arrays in texts.items()
        }
        tables = {name: joined_table(list(arrays)) for name, arrays in of_phrases.items()}
    device = torch.device("cuda" if torch.cuda.device_count() else "cpu")
    output: Path = options.output
    return Inputs(options.bases, vocabularies, tables, holdouts, output, device, options.seed)


def read_tokenizers(bases: Path) -> dict[str, TextTokenizer]:
    """Return the tokenizers of the teachers and of the student."""
    found: dict[str, TextTokenizer] = {
        name: EncoderTokenizer(Tokenizer.from_file(str(bases / name / TOKENIZER)))
        for name in TEACHERS
    }
    return {**found, STUDENT: students.tokenizer_of(load_minilm(bases / STUDENT_BASE))}


def joined_table(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> TokenTable:
    """Return one table of the tokens of all parts."""
    lengths, flat = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return TokenTable(lengths, flat)


def train_teacher(
    inputs: Inputs, name: str, without: Sequence[str], steps: int, phrases: int
) -> None:
    """Train a teacher, and leave its vectors of all texts for the student."""
    model = load_encoder(inputs.bases / name).to(inputs.device)
    used = inputs.used(name, without)
    schedule = Schedule(steps, teachers.LEARNING_RATE)
    run = teachers.TeacherTraining(model, used, schedule, teachers.WITH_DEFINITIONS, inputs.seed)
    run.train()
    del run.optimizer
    tables = [each.table for each in used] + [inputs.first_phrases(name, phrases)]
    targets = [students.encode_targets(model, table).cpu() for table in tables]
    save_file(dict(enumerated(targets)), inputs.scratch(name, *without, "targets"))
    encoded = [each for test in inputs.tests(model, without) for each in test.encode(model)]
    save_file(dict(enumerated(encoded)), inputs.scratch(name, *without, "left-out"))


def enumerated(tensors: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
    """Return tensors with names in their order."""
    return [(f"{number:04}", each.contiguous()) for number, each in enumerate(tensors)]


def in_order(path: Path) -> list[Tensor]:
    """Read tensors that were stored by `enumerated`."""
    return [tensor for _, tensor in sorted(load_file(path).items())]


def train_student(
    inputs: Inputs, name: str, without: Sequence[str], seconds: float, phrases: int
) -> None:
    """Train a student of both teachers, and measure it on the domains that all left out."""
    stored = [in_order(inputs.scratch(each, *without, "targets")) for each in TEACHERS]
    targets = [
        students.joined([part.to(inputs.device) for part in parts])
        for parts in zip(*stored, strict=True)
    ]
    model = load_minilm(inputs.bases / STUDENT_BASE).to(inputs.device)
    used = inputs.used(STUDENT, without)
    of_phrases = students.Phrases(inputs.first_phrases(STUDENT, phrases), targets.pop())
    schedule = Schedule(sys.maxsize, students.LEARNING_RATE, seconds)
    run = students.Distillation(model, used, targets, of_phrases, schedule, seed=inputs.seed)
    run.train()
    folder = inputs.output / name
    students.save_student(model, folder)
    tokens = (inputs.bases / STUDENT_BASE / VOCABULARY).read_bytes()
    (folder / VOCABULARY).write_bytes(tokens)
    rounded = load_minilm(folder).to(inputs.device)
    report(inputs, name, rounded, without, {"steps": run.step, "seconds": schedule.seconds})


def train_before(inputs: Inputs, name: str, without: Sequence[str], steps: int) -> None:
    """Train MiniLM on the relations alone, as the package did before it had teachers."""
    model = load_minilm(inputs.bases / BEFORE).to(inputs.device)
    schedule = Schedule(steps, BEFORE_RATE)
    used = inputs.used(STUDENT, without)
    run = teachers.TeacherTraining(model, used, schedule, teachers.WITH_DEFINITIONS, inputs.seed)
    run.train()
    (inputs.output / name).mkdir(parents=True, exist_ok=True)
    report(inputs, name, model, without, {"steps": run.step, "seconds": schedule.seconds})


def report(
    inputs: Inputs, name: str, model: SentenceModel, without: Sequence[str], about: dict[str, float]
) -> None:
    """Write the figures of an encoder, and those of its teachers, on the domains left out."""
    every = [each.vocabulary for each in inputs.vocabularies[STUDENT]]
    left_out = [each for each in every if each.domain in without]
    figures = Figures(model, left_out, inputs.tests(model, without))
    figures.measure(name)
    paths = {each: inputs.scratch(each, *without, "left-out") for each in TEACHERS}
    if without and all(path.exists() for path in paths.values()):
        encoded = {each: pairs(in_order(path)) for each, path in paths.items()}
        for each, own in encoded.items():
            figures.add(each, [[pair] for pair in own])
        figures.add("mean of both", [list(both) for both in zip(*encoded.values(), strict=True)])
    save_figures(inputs.output / name, figures, {**about, "without": without, "seed": inputs.seed})


def pairs(tensors: Sequence[Tensor]) -> list[QueriesAndAnchors]:
    """Return tensors two by two."""
    return list(zip(tensors[::2], tensors[1::2], strict=True))


def plan(options: argparse.Namespace, phrases: int) -> list[Training]:
    """Return all trainings, the most important first."""
    few = min(phrases, FOLD_PHRASES)
    steps = dict.fromkeys(TEACHERS, options.teacher_steps) if options.teacher_steps else STEPS
    result = taught(STUDENT, (), steps, options.seconds, phrases)
    steps = dict.fromkeys(TEACHERS, options.teacher_steps or FOLD_STEPS)
    for fold in options.folds:
        domains = FOLDS[fold]
        result += taught(fold, domains, steps, options.fold_seconds, few)
        before = f"{fold}-before"
        start = partial(
            train_before,
            name=before,
            without=domains,
            steps=options.teacher_steps or BEFORE_STEPS,
        )
        result.append(Training(before, start))
    return result


def taught(
    name: str, without: Sequence[str], steps: Mapping[str, int], seconds: float, phrases: int
) -> list[Training]:
    """Return the trainings of both teachers and of their student."""
    own = [
        Training(
            f"{name}-{each}",
            partial(train_teacher, name=each, without=without, steps=steps[each], phrases=phrases),
        )
        for each in TEACHERS
    ]
    start = partial(train_student, name=name, without=without, seconds=seconds, phrases=phrases)
    return [*own, Training(name, start, tuple(each.name for each in own))]


def run_all(trainings: Sequence[Training], inputs: Inputs, parallel: int) -> None:
    """Run all trainings in forked processes, each after those that it needs."""
    progress = Progress()
    waiting = list(trainings)
    while waiting or progress.running:
        for name, process in list(progress.running.items()):
            if process.is_alive():
                continue
            process.join()
            del progress.running[name]
            if process.exitcode:
                end_all(progress)
                sys.exit(f"error: {name} failed, and the others were ended")
            progress.done.add(name)
            progress.print(f"{name} is done")
        for training in list(waiting):
            if len(progress.running) < parallel and progress.done.issuperset(training.needs):
                waiting.remove(training)
                progress.running[training.name] = start_process(training, inputs)
                progress.print(f"{training.name} starts")
        time.sleep(POLL)


def start_process(training: Training, inputs: Inputs) -> ForkProcess:
    """Start a training in a process that shares the inputs."""
    process = multiprocessing.get_context("fork").Process(target=train, args=(training, inputs))
    process.start()
    return process


def train(training: Training, inputs: Inputs) -> None:
    """Make a training, with one thread: the device computes."""
    torch.set_num_threads(1)
    torch.manual_seed(inputs.seed)
    training.start(inputs)


def end_all(progress: Progress) -> None:
    """End all running trainings."""
    for process in progress.running.values():
        process.terminate()
        process.join()


def main() -> None:
    """Train all encoders."""
    options = parse_arguments()
    bases = [options.bases / name for name in (*TEACHERS, STUDENT_BASE, BEFORE)]
    for path in (options.vocabularies, options.phrases, *options.exclude, *bases):
        if not path.exists():
            sys.exit(f"error: {path} does not exist")
    inputs = read_inputs(options, options.processes or processors())
    run_all(plan(options, len(inputs.phrases[STUDENT])), inputs, options.parallel)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vocabularies", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--bases", type=Path, required=True, help="the published encoders")
    parser.add_argument("--phrases", type=Path, required=True, help="a gzip file, a text per line")
    parser.add_argument("--exclude", type=Path, action="append", default=[])
    parser.add_argument("--folds", nargs="*", choices=list(FOLDS), default=list(FOLDS))
    parser.add_argument("--seconds", type=float, default=600.0, help="the time of the student")
    parser.add_argument("--fold-seconds", type=float, default=120.0, help="of that of a fold")
    parser.add_argument("--teacher-steps", type=int, help="steps of all teachers")
    parser.add_argument("--parallel", type=int, default=3, help="trainings at a time")
    parser.add_argument("--processes", type=int, default=0, help="to read and tokenize with")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
