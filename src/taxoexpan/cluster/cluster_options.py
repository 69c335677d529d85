"""Where to run, with how many workers and threads."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from taxoexpan.errors import ConfigurationError

MAX_WORKERS = 8
"""The default number of workers is at most this, because each holds a copy of the model."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Where to place concepts.

    Without an `address`, `workers` processes are started on this machine (by default one per core,
    at most `MAX_WORKERS`). With the address of a Ray cluster (HOST:PORT), they run there, and the
    model directory must have the same path on all of its machines.
    """

    workers: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """A number of workers, and the number of threads, or the GPU, of each."""

    workers: int
    threads: int
    gpus: int = 0

    @classmethod
    def plan(cls, workers: int | None, nodes: list[int], gpus: int = 0) -> WorkerPool:
        """Divide the cores of the nodes among the workers, so that no core gets two threads.

        Workers compute on GPUs, one on each, if there are any.
        """
        cores = sum(nodes)
        if gpus:
            return cls(min(workers or gpus, gpus), max(1, cores // gpus), 1)
        workers = workers or min(cores, MAX_WORKERS * len(nodes))
        return cls(workers, max(1, min(cores // workers, *nodes)))


def check_ray() -> None:
    """Refuse to start without Ray and Arrow."""
    missing = [name for name in ("ray", "pyarrow") if find_spec(name) is None]
    if missing:
        message = f"the engine ray needs {' and '.join(missing)}"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[cluster]'")
