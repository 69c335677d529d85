from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.optim import LBFGS, Adam, AdamW, Optimizer

from taxoexpan.training.run import without_compiler


@pytest.mark.parametrize("kind", [Adam, AdamW, LBFGS])
def test_an_optimizer_without_the_compiler_takes_the_same_steps(kind: type[Optimizer]) -> None:
    ends = []
    for make in (kind, without_compiler(kind)):
        weights = torch.tensor([3.0, -1.0], requires_grad=True)
        optimizer = make([weights], lr=0.1)

        def loss(weights: torch.Tensor = weights, optimizer: Optimizer = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            value = (weights**4 - weights).sum()
            value.backward()
            return value

        for _ in range(5):
            optimizer.step(loss)
            optimizer.load_state_dict(optimizer.state_dict())
        ends.append(weights.tolist())
    assert ends[0] == ends[1] != [3.0, -1.0]


@pytest.mark.slow
def test_the_default_training_loads_neither_the_compiler_of_torch_nor_transformers(
    pantry: Path,
) -> None:
    """Loading them takes seconds."""
    program = (
        "import sys; from taxoexpan import TaxoExpan, read_taxonomy\n"
        "TaxoExpan(epochs=1, map_epochs=1).fit(read_taxonomy(sys.argv[1]))\n"
        "print({*sys.modules} & {'torch._dynamo', 'transformers', 'sentence_transformers'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, pantry], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
