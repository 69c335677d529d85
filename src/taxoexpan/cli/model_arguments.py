"""The arguments of commands that use a trained model."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the model directory."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model directory, from train")


def add_encoder_location(parser: argparse.ArgumentParser) -> None:
    """Add the option for an encoder whose files were moved."""
    parser.add_argument(
        "--features",
        metavar="ENCODER",
        help="new location of the encoder's files, if they were moved after training, such as "
        "vectors:NEW_PATH",
    )
