"""The engine that computes suggestions: this process, or workers of Ray."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.errors import ConfigurationError

if TYPE_CHECKING:
    from taxoexpan.explain.suggested_block import SuggestedBlock
    from taxoexpan.taxonomy import Concept, Taxonomy

RAY = "ray"


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose the engine."""
    parser.add_argument(
        "--engine",
        choices=["local", RAY],
        default="local",
        help="where to compute: in this process, or in several ones with Ray (default: local)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        help="with --engine ray: the number of workers, each of which holds the model (default: "
        "one per core, at most eight per machine)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="with --engine ray: a running Ray cluster to which this machine belongs; the "
        "model directory must have the same path on all of its machines",
    )


def refuse_engine_conflicts(options: argparse.Namespace) -> None:
    """Refuse options that the chosen engine does not have, before any work."""
    if options.engine == RAY:
        for flag in ("together", "report"):
            if getattr(options, flag):
                message = f"--{flag} needs all concepts in one process"
                raise ConfigurationError(f"{message}; omit it, or use --engine local")
        from taxoexpan.cluster.placement import check_ray

        check_ray()
        from taxoexpan.cluster.session import refuse_ray_client

        refuse_ray_client(options.address)
    else:
        for flag in ("workers", "address"):
            if getattr(options, flag) is not None:
                raise ConfigurationError(f"--{flag} belongs to Ray; add --engine ray")


def blocks_from_ray(
    options: argparse.Namespace, taxonomy: Taxonomy, concepts: Sequence[Concept], explain: bool
) -> Iterator[SuggestedBlock]:
    """Return the suggestions for blocks of new concepts, computed by workers of Ray."""
    from taxoexpan.cluster import ClusterOptions, suggest_on_cluster

    return suggest_on_cluster(
        options.model,
        taxonomy,
        concepts,
        ClusterOptions(options.workers, options.address),
        top_k=options.top_k,
        explain=explain,
        device=options.device,
        features=options.features,
    )
