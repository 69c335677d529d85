"""Compare encoders by stored runs, for all queries and for known ones.

    python -m reproduction.encoder_comparison RUNS CORPUS

RUNS holds runs of main/closest-parent and main/taxoexpan-best on tasks that were prepared with
different features. The second table is about the test queries that CORPUS mentions at least five
times.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from reproduction.experiments import METRICS, find_experiments
from reproduction.phrases import PhraseMatcher, name_token, tokenize
from reproduction.runs import Run, runs_of
from reproduction.tables import METRIC_NAMES, format_mean
from taxoexpan.features.corpus.documents import read_documents
from taxoexpan.training.metrics import compute_metrics

MIN_MENTIONS = 5
"""The number of mentions at or above which a name is known to the corpus."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("corpus", type=Path)
    options = parser.parse_args()
    rows = [
        (experiment.title, stored)
        for experiment in find_experiments(["main/closest-parent", "main/taxoexpan-best"])
        for stored in runs_of(options.runs, experiment).values()
    ]
    labels = {label for _, stored in rows for run in stored for label in run.labels()}
    counts = count_names(options.corpus, labels)
    known = frozenset(label for label in labels if counts[name_token(label)] >= MIN_MENTIONS)
    for title, wanted in (("all queries", labels), ("known to the corpus", known)):
        print(f"\n{title}\n\n| method | vectors | {' | '.join(METRIC_NAMES.values())} |")
        print(f"|---|---|{'---|' * len(METRIC_NAMES)}")
        for method, stored in rows:
            metrics = [metrics_of_queries(run, wanted) for run in stored]
            cells = [format_mean(key, [each[key] for each in metrics]) for key in METRICS]
            features = stored[0].record.task.features
            print(f"| {method} | `{features}` | {' | '.join(cells)} |")


def count_names(corpus: Path, names: set[str]) -> Counter[str]:
    """Count the mentions of each name in a corpus, by its token."""
    matcher, tokens = PhraseMatcher(names), frozenset(map(name_token, names))
    documents = (matcher.join(tokenize(text)) for text in read_documents(corpus))
    return Counter(token for document in documents for token in document if token in tokens)


def metrics_of_queries(run: Run, wanted: set[str] | frozenset[str]) -> dict[str, float]:
    """Return the metrics of a run over the queries with these labels."""
    pairs = zip(run.labels(), run.ranks(), strict=True)
    return compute_metrics([ranks for label, ranks in pairs if label in wanted]).as_dict()


if __name__ == "__main__":
    main()
