"""Time and memory of large taxonomies, which are generated; no encoder is needed.

    python -m benchmarks.scale steps --json steps.json
    python -m benchmarks.scale training 1000000 --device cuda --epochs 2
    python -m benchmarks.scale shapes FOLDER --cpu-limit 400
    python -m benchmarks.scale loading MODEL --concepts 1000000
    python -m benchmarks.scale updating TAXONOMY --features static+pretrained
    python -m benchmarks.scale generate 1000000 taxonomy.csv --vectors vectors.npy

COMMAND --help describes a command.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.scale import loading, mag_shaped_taxonomy, shapes, steps, training, updating

COMMANDS = {
    "steps": steps,
    "training": training,
    "shapes": shapes,
    "loading": loading,
    "updating": updating,
    "generate": mag_shaped_taxonomy,
}


def main() -> None:
    """Run one command, which prints its figures, and write them if a file is given."""
    options = build_parser().parse_args()
    figures = COMMANDS[options.command].run(options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; the docstring of a module describes its command."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.scale", description=__doc__)
    parser.formatter_class = raw
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        text = str(module.__doc__)
        command = commands.add_parser(
            name, help=text.splitlines()[0], description=text, formatter_class=raw
        )
        module.add_arguments(command)
        command.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser


if __name__ == "__main__":
    main()
