from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from taxoexpan.config import Config, load_preset
from taxoexpan.errors import ModelError, is_out_of_memory
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.loop import TrainingRun, compute_gradients, train, train_batch
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch
from taxoexpan.training.run import Checkpoint
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy

SIZE = 6


def new_run(config: Config) -> tuple[TrainingRun, ConceptVectors]:
    taxonomy = random_taxonomy(3, count=40)
    network = MatchingNetwork(config, SIZE).double()
    network.reset(torch.Generator().manual_seed(0))
    drawn = torch.randn(2, len(taxonomy), SIZE, generator=torch.Generator().manual_seed(1))
    vectors = ConceptVectors.of(torch.nn.functional.normalize(drawn.double(), dim=2))
    return TrainingRun(network, TrainingSampler(taxonomy, config, 0), config), vectors


def batch_run(negatives: str, loss: str) -> tuple[TrainingRun, ConceptVectors]:
    """A training with dropout, in batches of 16."""
    config = load_preset(
        "best", negative_sampling=negatives, loss=loss, batch_size=16, num_negatives=8
    )
    run, vectors = new_run(config)
    run.network.train()
    assert config.dropout
    assert config.query_dropout
    return run, vectors


def gradients(run: TrainingRun) -> list[torch.Tensor]:
    return [p.grad.clone() for p in run.network.parameters() if p.grad is not None]


@pytest.mark.parametrize(
    ("negatives", "loss"), [("sampled", "infonce"), ("uniform", "bce"), ("shared", "infonce")]
)
def test_a_batch_in_parts_has_the_same_gradient(negatives: str, loss: str) -> None:
    """And the same dropout, and it leaves the random numbers in the same state."""
    run, vectors = batch_run(negatives, loss)
    batch = next(run.sampler.epoch())
    found = []
    for parts in (1, 2, 5, 16, 64):
        run.parts = parts
        run.optimizer.zero_grad()
        torch.manual_seed(3)
        value = compute_gradients(run, vectors, batch)
        found.append([value, *gradients(run), torch.rand(1)])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            torch.testing.assert_close(same, one)


@pytest.mark.slow
def test_a_batch_that_does_not_fit_in_memory_is_split_until_it_does() -> None:
    """The operating system limits the memory, so that an allocation really fails."""
    program = """
        import resource, sys, warnings
        import torch
        from tests.support.builders import random_taxonomy
        from taxoexpan.config import load_preset
        from taxoexpan.network.matching_network import MatchingNetwork
        from taxoexpan.network.concept_vectors import ConceptVectors
        from taxoexpan.training.sampling import TrainingSampler
        from taxoexpan.training.loop import train

        torch.set_num_threads(1)
        torch.manual_seed(0)
        taxonomy = random_taxonomy(3, count=1000, most_parents=1)
        c = load_preset(
            "paper", negative_sampling="shared", num_negatives=8000, matching="mlp",
            hidden_dim=64, num_heads=1, embedding_dim=8, position_dim=2, batch_size=1024, epochs=2,
            learning_rate=0.01,
        )  # every pair of 1,000 queries and anchors holds 64 units: 256 MB, several times
        network = MatchingNetwork(c, 8)
        network.reset(torch.Generator().manual_seed(0))
        vectors = ConceptVectors.of(torch.nn.functional.normalize(torch.randn(2, 1000, 8), dim=2))
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, resource.RLIM_INFINITY))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            history = train(network, vectors, TrainingSampler(taxonomy, c, 0), None, c)
        print([str(w.message) for w in caught if "out of memory" in str(w.message)])
        print([epoch.loss for epoch in history.epochs])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        # Without memory that the allocators have reserved before the limit.
        env={
            "PYTHONPATH": ":".join(sys.path),
            "MALLOC_ARENA_MAX": "1",
            "MIMALLOC_ARENA_RESERVE": "0",
        },
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    messages, losses = done.stdout.splitlines()
    assert "processed in 2 parts" in messages, messages
    first, second = eval(losses)
    assert 0 < second < first


def test_a_single_query_that_does_not_fit_in_memory_is_an_error_with_a_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, vectors = new_run(load_preset("best", batch_size=4, num_negatives=8))

    def fail(*_: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(run.network, "loss", fail)
    monkeypatch.setattr(run.network, "total_loss", fail)
    batch = next(run.sampler.epoch())
    with pytest.warns(UserWarning, match="parts"), pytest.raises(ModelError, match="fewer anchors"):
        train_batch(run, vectors, batch)
    assert run.parts >= 4


def test_other_errors_are_not_mistaken_for_a_lack_of_memory() -> None:
    assert not is_out_of_memory(RuntimeError("expected all tensors to be on the same device"))
    assert is_out_of_memory(MemoryError())


def test_attention_dropout_affects_training_only() -> None:
    run, vectors = new_run(
        load_preset(
            "paper",
            quirks={"attention_dropout": 0.5},
            dropout=0.0,
            hidden_dim=4,
            embedding_dim=4,
            position_dim=2,
        )
    )
    batch = next(run.sampler.epoch())
    run.network.train()
    assert run.network.loss(vectors, batch) != run.network.loss(vectors, batch)
    run.network.eval()
    assert run.network.loss(vectors, batch) == run.network.loss(vectors, batch)


def test_learning_rate_is_halved_if_validation_does_not_improve() -> None:
    run, _ = new_run(load_preset("best"))
    flat = Metrics(10, 5.0, 0.4, 0.5, 0.6, 0.7, reciprocal_rank=0.4)
    rates = []
    for _ in range(10):
        run.finish_epoch(1.0, flat, 0.0)
        rates.append(run.optimizer.param_groups[0]["lr"])
    assert rates[0] == 0.002
    assert rates[-1] == 0.0005


def test_the_checkpoint_is_saved_before_an_epoch_is_reported(tmp_path: Path) -> None:
    c = load_preset("best", batch_size=16, num_negatives=8, epochs=1, hidden_dim=4, embedding_dim=4)
    run, vectors = new_run(c)
    checkpoint = Checkpoint(tmp_path / "checkpoint", "this training")
    found = []

    class Recorder(TrainingLog):
        def write(self, epoch: Epoch, is_best: bool) -> None:
            found.append((epoch.number, is_best, checkpoint.path.exists()))

    train(run.network, vectors, run.sampler, None, c, Recorder(), checkpoint)
    assert found == [(1, True, True)]
