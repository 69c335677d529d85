from __future__ import annotations

import pytest

from taxoexpan.cluster import cluster_options
from taxoexpan.cluster.cluster_options import MAX_WORKERS, WorkerPool, check_ray
from taxoexpan.errors import ConfigurationError


@pytest.mark.parametrize(
    ("workers", "nodes", "expected"),
    [
        (None, [1], WorkerPool(1, 1)),
        (None, [4], WorkerPool(4, 1)),
        (None, [64], WorkerPool(MAX_WORKERS, 8)),
        (2, [8], WorkerPool(2, 4)),
        (3, [8], WorkerPool(3, 2)),
        (5, [2], WorkerPool(5, 1)),
        (None, [4, 4], WorkerPool(8, 1)),
        (3, [24, 24, 16], WorkerPool(3, 16)),  # no worker needs more than a machine has
    ],
)
def test_cores_are_divided_among_workers(
    workers: int | None, nodes: list[int], expected: WorkerPool
) -> None:
    pool = WorkerPool.plan(workers, nodes)
    assert pool == expected
    assert pool.workers * pool.threads <= max(sum(nodes), pool.workers)


def test_every_gpu_gets_one_worker() -> None:
    assert WorkerPool.plan(None, [16, 16], gpus=4) == WorkerPool(4, 8, 1)
    assert WorkerPool.plan(2, [16, 16], gpus=4) == WorkerPool(2, 8, 1)
    assert WorkerPool.plan(9, [16, 16], gpus=4) == WorkerPool(4, 8, 1)


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    check_ray()
    monkeypatch.setattr(cluster_options, "find_spec", lambda name: None if name == "ray" else name)
    with pytest.raises(ConfigurationError, match=r"needs ray; pip install 'taxoexpan\[cluster\]'"):
        check_ray()
