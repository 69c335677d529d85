"""The table of SemEval-2016 Task 14: published scores, and ours over nouns and verbs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from reproduction.experiments import Experiment
from reproduction.runs import Run, find_runs, safe_name
from reproduction.semeval.merges import (
    MERGE,
    best_threshold,
    has_duplicate_candidates,
    merge_candidates,
    score_merges,
)
from reproduction.semeval.task import (
    FILES,
    TASKS,
    Key,
    KeyEntry,
    WordNet,
    key_content,
    read_half,
    read_key,
    score_key,
)
from reproduction.semeval.wu_palmer import WuPalmer
from reproduction.tables import format_mean
from taxoexpan.errors import FormatError
from taxoexpan.evaluation.comparison import format_value

SCORE_NAMES = {"wu_palmer": "Wu&P", "recall": "recall", "f1": "F1"}
MERGE_COLUMNS = ("merges", "right", "of concepts to attach", "precision", "recall")

RunsByTask = dict[str, Run]
"""The runs of one experiment and seed, by the name of their task."""


class SemEvalResults:
    """The keys that runs on nouns and verbs make together, and their scores."""

    def __init__(
        self, experiments: Sequence[Experiment], runs: Path, wordnet: Path, semeval: Path
    ) -> None:
        self.experiments, self.semeval = experiments, semeval
        self.gold = read_key(semeval / FILES["test"][1])
        self.wordnets = WordNet.read(wordnet, instances=True)
        self._similarities = {each.pos: WuPalmer(each.taxonomy) for each in self.wordnets}
        self.by_features: dict[str, dict[str, dict[int, RunsByTask]]] = {}
        index = find_runs(runs, [experiment for experiment in experiments if experiment.method])
        for name, by_task in index.items():
            for run in (run for stored in by_task.values() for run in stored):
                if run.record.task.name in TASKS:
                    self._add(name, run)
        if not self.by_features:
            message = f"no run on {' or '.join(TASKS)}"
            raise FormatError(
                runs, message, fix="prepare both from the files of SemEval, and run them first"
            )
        if not any(self._has_both_parts(features) for features in self.by_features):
            message = f"no run on both {' and '.join(TASKS)} with the same vectors and seed"
            raise FormatError(runs, message, fix="prepare and run the missing part")

    def _add(self, name: str, run: Run) -> None:
        """Sort a run by its vectors, experiment, seed and part of speech."""
        record, task = run.record, run.record.task
        seeds = self.by_features.setdefault(task.features, {}).setdefault(name, {})
        by_task = seeds.setdefault(record.seed, {})
        if task.name in by_task:
            other = by_task[task.name].folder
            raise FormatError(run.folder, f"the same run as {other}", fix="keep one of them")
        by_task[task.name] = run

    def _has_both_parts(self, features: str) -> bool:
        """Whether any seed was run on both nouns and verbs."""
        experiments = self.by_features[features].values()
        return any(len(runs) == len(TASKS) for seeds in experiments for runs in seeds.values())

    def text(self, only: Collection[str] | None = None) -> str:
        """Return one Markdown table for each kind of vectors with runs on both parts of speech."""
        wanted = [each for each in sorted(self.by_features) if only is None or each in only]
        complete = filter(self._has_both_parts, wanted)
        return "\n".join(self._table(features) for features in complete)

    def keys(self, features: str, experiment: Experiment) -> dict[int, Key]:
        """Return the key of every seed that was run on both nouns and verbs."""
        keys = {}
        seeds = self.by_features[features].get(experiment.name, {})
        for seed, by_task in sorted(seeds.items()):
            runs = [by_task[task] for task in TASKS if task in by_task]
            merged = experiment.decision == "merged"
            if len(runs) == len(TASKS) and (not merged or all(map(has_duplicate_candidates, runs))):
                keys[seed] = self._key(experiment.decision, runs)
        return keys

    def _key(self, decision: str, runs: Sequence[Run]) -> Key:
        decide = best_anchors if decision == "best" else self._expected_anchors
        placed = [pair for run in runs for pair in decide(run)]
        key = {id: KeyEntry(synset, "attach") for id, synset in placed}
        return key | self._merges(runs) if decision == "merged" else key

    def files(self) -> dict[str, bytes]:
        """Return every key in the task's own format, by file name."""
        return {
            f"{safe_name(features)}-{experiment.name.partition('/')[2]}-{seed}.tsv": key_content(
                key
            )
            for features in self.by_features
            for experiment in self.experiments
            for seed, key in self.keys(features, experiment).items()
        }

    def _merges(self, runs: Sequence[Run]) -> Key:
        """Return the merges above the threshold that is best for the training concepts."""
        training, test = [], []
        for run in runs:
            concepts = read_half(self.semeval, "validation", self._wordnet_of(run)).concepts
            training += merge_candidates(run, "validation", [concept.id for concept in concepts])
            test += merge_candidates(run, "test", run.labels())
        gold = read_key(self.semeval / FILES["validation"][1])
        threshold = best_threshold(training, gold, self.wordnets)
        return {c.concept: KeyEntry(c.synset, MERGE) for c in test if c.log_odds >= threshold}

    def _wordnet_of(self, run: Run) -> WordNet:
        return self.wordnets[TASKS.index(run.record.task.name)]

    def _expected_anchors(self, run: Run) -> Iterator[tuple[str, str]]:
        """Yield each test concept with the synset of the highest expected similarity.

        The expectation is over the best anchors, with their softmax probabilities. The candidates
        are these anchors and their parents.
        """
        best, scores = run.best()
        wordnet = self._wordnet_of(run)
        taxonomy, similarity = wordnet.taxonomy, self._similarities[wordnet.pos]
        weights = np.exp(scores - scores[:, :1])
        for id, ids, weight in zip(run.labels(), best.tolist(), weights, strict=True):
            parents = [parent for anchor in ids for parent in taxonomy.parents(anchor)]
            anchors = [taxonomy.index(anchor) for anchor in ids]
            candidates = [taxonomy.index(c) for c in dict.fromkeys([*ids, *parents])]
            expected = [np.dot([similarity(c, a) for a in anchors], weight) for c in candidates]
            yield id, taxonomy.ids[candidates[int(np.argmax(expected))]]

    def _table(self, features: str) -> str:
        columns = " | ".join(f"{name} | paper" for name in SCORE_NAMES.values())
        rows = [self._row(e, list(self.keys(features, e).values())) for e in self.experiments]
        lines = [f"vectors `{features}`, {len(self.gold)} test concepts", ""]
        lines += [f"| | {columns} | runs |", f"|---|{'---|' * 7}", *rows, ""]
        return "\n".join([*lines, *self._merge_table(features)])

    def _merge_table(self, features: str) -> list[str]:
        """Return the lines of a table that scores the merges of each first seed."""
        rows = []
        for experiment in (e for e in self.experiments if e.decision == "merged"):
            for key in list(self.keys(features, experiment).values())[:1]:
                score = score_merges(key, self.gold, self.wordnets)
                to_attach = len(self.gold) - score.wanted
                right = f"{score.right} of {score.wanted}"
                counts = f"{score.made} | {right} | {score.attached} of {to_attach}"
                rates = f"{score.precision:.3f} | {score.recall:.3f}"
                rows.append(f"| {experiment.title} | {counts} | {rates} |")
        head = f"| | {' | '.join(MERGE_COLUMNS)} |"
        return [head, f"|---|{'---|' * len(MERGE_COLUMNS)}", *rows, ""] if rows else []

    def _row(self, experiment: Experiment, keys: Sequence[Key]) -> str:
        scores = [score_key(key, self.gold, self.wordnets) for key in keys]
        cells = []
        for name in SCORE_NAMES:
            published = experiment.published.get(name)
            cells.append(format_mean(name, [float(getattr(score, name)) for score in scores]))
            cells.append("" if published is None else format_value(name, published))
        runs = len(keys) if experiment.method else "quoted"
        return f"| {experiment.title} | {' | '.join(cells)} | {runs} |"


def best_anchors(run: Run) -> Iterator[tuple[str, str]]:
    """Yield each test concept with its best anchor."""
    best, _ = run.best()
    yield from zip(run.labels(), best[:, 0].tolist(), strict=True)
