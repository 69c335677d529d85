"""Make tests/network/golden.json from the numbers that the authors' implementation computed.

    python tools/make_golden.py reference.json

The input comes from a run of their unmodified modules in evaluation mode on a toy taxonomy of
twelve concepts (Python 3.7, torch 1.3.1, DGL 0.4): egonets, and for 36 models the weights,
embeddings and match scores. Only the numbers that the test needs are written, in its order.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "tests" / "network" / "golden.json"


def main() -> None:
    """Select and write the needed numbers."""
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kept = {
        "about": "computed by the authors' implementation of TaxoExpan; see tools/make_golden.py",
        "dims": whole["dims"],
        "features": whole["features"],
        "egonets": {
            key: [egonet["nodes"], egonet["positions"]] for key, egonet in whole["egonets"].items()
        },
        "models": [
            {
                "name": model["name"],
                "weights": model["state_dict"],
                "embeddings": model["embeddings"],
                "scores": [[s["query"], s["egonet"], s["score"]] for s in model["scores"]],
            }
            for model in whole["models"]
        ],
    }
    models = ",\n".join(json.dumps(model, separators=(",", ":")) for model in kept.pop("models"))
    head = json.dumps(kept, separators=(",", ":"))[:-1]
    TARGET.write_text(f'{head},\n"models":[\n{models}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
