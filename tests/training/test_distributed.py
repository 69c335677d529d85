from __future__ import annotations

import pytest
import torch

from taxoexpan.errors import ConfigurationError
from taxoexpan.training.distributed import ALONE, Processes, own_device


@pytest.mark.parametrize(("count", "processes"), [(10, 3), (2, 5), (0, 2), (256, 8)])
def test_every_column_belongs_to_one_process(count: int, processes: int) -> None:
    ranges = [Processes(rank, processes).own_columns(count) for rank in range(processes)]
    assert [column for first, stop in ranges for column in range(first, stop)] == list(range(count))
    sizes = [stop - first for first, stop in ranges]
    assert max(sizes) - min(sizes) <= 1


def test_blocks_are_divided_by_their_costs() -> None:
    costs = [1, 2, 3, 10, 4, 5, 5, 0]
    owned = [Processes(rank, 3).own_blocks(costs) for rank in range(3)]
    assert sorted(block for own in owned for block in own) == list(range(len(costs)))
    assert [sum(costs[block] for block in own) for own in owned] == [10, 10, 10]


def test_with_fewer_blocks_than_processes_some_have_none() -> None:
    assert [Processes(rank, 3).own_blocks([7, 9]) for rank in range(3)] == [[1], [0], []]


def test_one_process_needs_nobody() -> None:
    tensor = torch.arange(3)
    ALONE.add_up(tensor)
    ALONE.leave()
    ALONE.refuse_difference(2)
    assert tensor.tolist() == [0, 1, 2]
    assert ALONE.share(lambda: {"mr": 0.1}) == {"mr": 0.1}
    assert ALONE.first_before_others(lambda: 5) == 5


def test_a_lack_of_memory_is_an_error_and_other_errors_stay() -> None:
    def fail(message: str) -> int:
        raise RuntimeError(message)

    assert ALONE.attempt(lambda: 5) == 5
    with pytest.raises(MemoryError):
        ALONE.attempt(lambda: fail("CUDA out of memory"))
    with pytest.raises(RuntimeError, match="size mismatch"):
        ALONE.attempt(lambda: fail("size mismatch"))


def test_every_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    found = []
    for rank in range(3):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        found.append((own_device("auto"), own_device("cuda"), own_device("cpu")))
    assert [auto for auto, *_ in found] == ["cuda:0", "cuda:1", "cuda:0"]
    assert all(auto == cuda and cpu == "cpu" for auto, cuda, cpu in found)
    assert own_device("cuda:1") == "cuda:1"


def test_without_a_gpu_processes_compute_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert own_device("auto") == "cpu"
    with pytest.raises(ConfigurationError, match="choose cpu, or train in one process"):
        own_device("mps")
