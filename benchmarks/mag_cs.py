"""The paper's MAG-CS experiment on its own split: train, then rank the test queries once.

    python benchmarks/mag_cs.py DIRECTORY [--preset best] [--seed 0]

DIRECTORY holds computer_science.terms, .taxo and .terms.{validation,test}, as the paper's authors
published them. Candidates are all training nodes; metrics are those of the published tables.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.supervision import hold_out


def main() -> None:
    """Train and evaluate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int)
    options = parser.parse_args()

    base = options.directory / "computer_science.terms"
    whole = Taxonomy.read(base)
    validation = base.with_suffix(".terms.validation").read_text().split()
    test = base.with_suffix(".terms.test").read_text().split()
    training = whole.without([*validation, *test])
    changes = {} if options.epochs is None else {"epochs": options.epochs}
    model = TaxoExpan(options.preset, options.seed, options.device, **changes)

    began = time.perf_counter()
    model.fit(training, hold_out(whole, validation, training), progress=True)
    trained = time.perf_counter()
    figures = model.evaluate(hold_out(whole, test, training))
    tested = time.perf_counter()
    epochs = len(model.history.epochs) if model.history else 0
    print(
        json.dumps(
            {
                "training": {"concepts": len(training), "relations": training.relation_count},
                "record": model.training,
                "seconds_per_epoch_with_validation": (trained - began) / epochs,
                "seconds_to_encode_and_rank_the_test_queries": tested - trained,
                "peak_memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
                "test": figures.as_dict(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
