"""The table of SemEval-2016 Task 14: what others published, and ours over nouns and verbs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.experiments.paper.experiment import Experiment
from taxoexpan.experiments.paper.result_tables import format_mean, number
from taxoexpan.experiments.paper.run_record import Run, find_runs, plain
from taxoexpan.experiments.semeval.merges import (
    MERGE,
    has_duplicate_candidates,
    merge_candidates,
    score_merges,
    threshold,
)
from taxoexpan.experiments.semeval.semeval_task import (
    FILES,
    TASKS,
    Placed,
    Score,
    WordNet,
    key_content,
    read_half,
    read_key,
    score_key,
)
from taxoexpan.experiments.semeval.wu_palmer import WuPalmer

HEADS = {"wu_palmer": "Wu&P", "recall": "recall", "f1": "F1"}
MERGE_HEADS = ("merges", "right", "of concepts to attach", "precision", "recall")

Key = dict[str, Placed]
Both = dict[str, Run]
"""The runs of one experiment and seed, by the name of their task."""


class SemEvalResults:
    """The keys that runs on nouns and on verbs come to together, and what they score."""

    def __init__(
        self, experiments: Sequence[Experiment], runs: Path, wordnet: Path, semeval: Path
    ) -> None:
        self.experiments, self.semeval = experiments, semeval
        self.gold = read_key(semeval / FILES["test"][1])
        self.wordnets = WordNet.read(wordnet, instances=True)
        self._similar = {each.pos: WuPalmer(each.taxonomy) for each in self.wordnets}
        found = find_runs(runs, [experiment for experiment in experiments if experiment.method])
        self.by_features: dict[str, dict[str, dict[int, Both]]] = {}
        for name, by_task in found.items():
            for run in (run for those in by_task.values() for run in those):
                if run.record["task"]["name"] in TASKS:
                    self._keep(name, run)
        if not self.by_features:
            message = f"holds no run on {' and '.join(TASKS)}"
            raise FormatError(runs, f"{message}; prepare both with --semeval, and run them first")
        if not any(self._is_whole(features) for features in self.by_features):
            message = f"holds no run on both {' and '.join(TASKS)} with the same vectors and seed"
            raise FormatError(runs, f"{message}; prepare and run the part that is missing")

    def _keep(self, name: str, run: Run) -> None:
        """Sort a run in by its vectors, experiment, seed and part of speech."""
        record = run.record
        of_name = self.by_features.setdefault(record["task"]["features"], {})
        both = of_name.setdefault(name, {}).setdefault(record["seed"], {})
        if record["task"]["name"] in both:
            other = both[record["task"]["name"]].folder
            raise FormatError(run.folder, f"is the same run as {other}; keep one of them")
        both[record["task"]["name"]] = run

    def _is_whole(self, features: str) -> bool:
        """Whether any seed was run on nouns and verbs both."""
        experiments = self.by_features[features].values()
        return any(len(both) == len(TASKS) for seeds in experiments for both in seeds.values())

    def text(self) -> str:
        """A Markdown table for each kind of vectors that was run on both parts of speech."""
        whole = filter(self._is_whole, sorted(self.by_features))
        return "\n".join(self._table(features) for features in whole)

    def keys(self, features: str, experiment: Experiment) -> dict[int, Key]:
        """The key of every seed that was run on nouns and verbs both."""
        seeds = self.by_features[features].get(experiment.name, {})
        whole = {
            seed: [both[task] for task in TASKS]
            for seed, both in sorted(seeds.items())
            if len(both) == len(TASKS)
        }
        if experiment.decided == "merged":
            whole = {
                seed: both
                for seed, both in whole.items()
                if all(map(has_duplicate_candidates, both))
            }
        return {seed: self._key(experiment.decided, both) for seed, both in whole.items()}

    def _key(self, decided: str, both: Sequence[Run]) -> Key:
        decide = best_anchors if decided == "best" else self._expected
        placed = [pair for run in both for pair in decide(run)]
        key = {id: Placed(synset, "attach") for id, synset in placed}
        return key | self._merges(both) if decided == "merged" else key

    def files(self) -> dict[str, bytes]:
        """Every key in the task's own format, by the name of a file."""
        return {
            f"{plain(features)}-{experiment.name.partition('/')[2]}-{seed}.tsv": key_content(key)
            for features in self.by_features
            for experiment in self.experiments
            for seed, key in self.keys(features, experiment).items()
        }

    def _merges(self, both: Sequence[Run]) -> Key:
        """The merges that are likely enough, as the training concepts tell what is enough."""
        known, asked = [], []
        for run in both:
            concepts = read_half(self.semeval, "validation", self._wordnet_of(run)).concepts
            known += merge_candidates(run, "validation", [concept.id for concept in concepts])
            asked += merge_candidates(run, "test", run.labels())
        enough = threshold(known, read_key(self.semeval / FILES["validation"][1]), self.wordnets)
        return {p.concept: Placed(p.synset, MERGE) for p in asked if p.log_odds >= enough}

    def _wordnet_of(self, run: Run) -> WordNet:
        return self.wordnets[TASKS.index(run.record["task"]["name"])]

    def _expected(self, run: Run) -> Iterator[tuple[str, str]]:
        """Each test concept where it has most in common with its likely places.

        These are its best anchors, each with its share of their softmax; candidates are they and
        their parents.
        """
        best, scores = run.best()
        wordnet = self._wordnet_of(run)
        taxonomy, similarity = wordnet.taxonomy, self._similar[wordnet.pos]
        shares = np.exp(scores - scores[:, :1])
        for id, ids, share in zip(run.labels(), best.tolist(), shares, strict=True):
            above = [parent for anchor in ids for parent in taxonomy.parents(anchor)]
            likely = [taxonomy.index(anchor) for anchor in ids]
            candidates = [taxonomy.index(c) for c in dict.fromkeys([*ids, *above])]
            worth = [np.dot([similarity(c, k) for k in likely], share) for c in candidates]
            yield id, taxonomy.ids[candidates[int(np.argmax(worth))]]

    def _table(self, features: str) -> str:
        heads = " | ".join(f"{head} | paper" for head in HEADS.values())
        rows = [
            self._row(experiment, list(self.keys(features, experiment).values()))
            for experiment in self.experiments
        ]
        lines = [f"vectors `{features}`, {len(self.gold)} test concepts", ""]
        lines += [f"| | {heads} | runs |", f"|---|{'---|' * 7}", *rows, ""]
        return "\n".join([*lines, *self._merge_table(features)])

    def _merge_table(self, features: str) -> list[str]:
        """Of each row that has merges how many are right, as the first seed has them."""
        rows = []
        for experiment in (
            experiment for experiment in self.experiments if experiment.decided == "merged"
        ):
            for key in list(self.keys(features, experiment).values())[:1]:
                score = score_merges(key, self.gold, self.wordnets)
                attaches = len(self.gold) - score.wanted
                right = f"{score.right} of {score.wanted}"
                figures = f"{score.made} | {right} | {score.attached} of {attaches}"
                rates = f"{score.precision:.3f} | {score.recall:.3f}"
                rows.append(f"| {experiment.title} | {figures} | {rates} |")
        heads = f"| | {' | '.join(MERGE_HEADS)} |"
        return [heads, f"|---|{'---|' * len(MERGE_HEADS)}", *rows, ""] if rows else []

    def _row(self, experiment: Experiment, keys: Sequence[Key]) -> str:
        scores = [score_key(key, self.gold, self.wordnets) for key in keys]
        parts = [
            part
            for figure in HEADS
            for part in (
                format_mean(figure, _values(scores, figure)),
                _published(experiment, figure),
            )
        ]
        runs = len(keys) if experiment.method else "quoted"
        return f"| {experiment.title} | {' | '.join(parts)} | {runs} |"


def best_anchors(run: Run) -> Iterator[tuple[str, str]]:
    """Each test concept under its best anchor."""
    best, _ = run.best()
    yield from zip(run.labels(), best[:, 0].tolist(), strict=True)


def _values(scores: Sequence[Score], figure: str) -> list[float]:
    return [float(getattr(score, figure)) for score in scores]


def _published(experiment: Experiment, figure: str) -> str:
    return number(figure, experiment.published[figure]) if figure in experiment.published else ""
