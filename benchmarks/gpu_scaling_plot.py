"""Plot the time of an epoch against the size of the taxonomy, with fitted exponents.

    python benchmarks/gpu_scaling_plot.py RESULTS

RESULTS is the output folder of gpu_training.py. Needs matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np


def main() -> None:
    """Plot both presets, and print the exponents."""
    results = Path(sys.argv[1])
    figures = json.loads((results / "figures.json").read_text())
    plt.rcParams["svg.hashsalt"] = "growth"
    plot, axes = plt.subplots(figsize=(6.4, 4.4))
    for preset, marker in (("best", "o"), ("paper", "s")):
        points = [v for name, v in figures["growth"].items() if name.startswith(f"{preset},")]
        relations = np.array([point["relations"] for point in points])
        seconds = np.array([point["seconds_per_epoch"] for point in points])
        exponent, factor = np.polyfit(np.log(relations), np.log(seconds), 1)
        line = np.exp(factor) * relations**exponent
        axes.plot(relations, line, linewidth=1, color="grey")
        label = f"{preset}: relations to the power of {exponent:.2f}"
        axes.plot(relations, seconds, marker, label=label)
        print(label)
    axes.set(xscale="log", yscale="log", xlabel="relations", ylabel="seconds per epoch")
    axes.set_title(f"Time of an epoch by the size of the taxonomy ({figures['gpu']})")
    axes.grid(visible=True, which="both", linewidth=0.3)
    axes.legend()
    plot.tight_layout()
    plot.savefig(results / "growth.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
