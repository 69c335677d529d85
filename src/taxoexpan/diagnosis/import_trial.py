"""Imports packages in a process of their own, because a broken package can end its process.

`python -m taxoexpan.diagnosis.import_trial NAME…` prints one line of JSON per name.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

STATIC, TRANSFORMER = "encoder static", "encoder transformer"
"""Names of trials that load an encoder instead of a package."""

TIMEOUT = 300.0
MAX_REASON = 200


@dataclass(frozen=True)
class Trial:
    """The result of an import: the problem, if there is one, and what the package reports."""

    name: str
    problem: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def try_imports(names: Sequence[str], timeout: float = TIMEOUT) -> dict[str, Trial]:
    """Import packages in another process, and return the result of each by its name."""
    trials: dict[str, Trial] = {}
    while rest := [name for name in names if name not in trials]:
        output, reason = _run(rest, timeout)
        for line in output.splitlines():
            if line.startswith("{"):
                trial = Trial(**json.loads(line))
                trials[trial.name] = trial
        broken = next((name for name in rest if name not in trials), None)
        if broken is not None:  # the process ended in this import; go on with the next one
            trials[broken] = Trial(broken, reason)
    return trials


def _run(names: Sequence[str], timeout: float) -> tuple[str, str]:
    """Return the output of the process, and why it ended."""
    # -P: a file of the current folder must not be imported in place of a package.
    command = [sys.executable, "-P", "-m", __spec__.name, *names]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        text = output if isinstance(output, str) else output.decode("utf-8", "replace")
        return text, f"the import takes more than {timeout:.0f} s"
    if done.returncode < 0:
        return done.stdout, f"the import ends Python with {signal.Signals(-done.returncode).name}"
    return done.stdout, f"the import ends Python with status {done.returncode}"


def _try(name: str) -> Trial:
    """Import a package, or load an encoder, in this process."""
    probe = _PROBES.get(name, dict[str, Any])
    try:
        if name not in (STATIC, TRANSFORMER):
            import_module(name)
        return Trial(name, None, probe())
    except Exception as error:
        message = (str(error).strip().splitlines() or [""])[0]
        return Trial(name, f"{type(error).__name__}: {message}"[:MAX_REASON])


def _probe_torch() -> dict[str, Any]:
    """Return the devices of torch, after a small computation."""
    import torch

    assert float(torch.ones(2, 2).mm(torch.ones(2, 2)).sum()) == 8.0
    devices = ["cpu"]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        devices += [f"cuda:{n} ({torch.cuda.get_device_name(n)})" for n in range(count)]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return {"devices": devices, "threads": torch.get_num_threads()}


def _probe_static() -> dict[str, Any]:
    from taxoexpan.features.static import StaticEncoder

    return {"dimension": StaticEncoder().encode(["green tea"]).shape[1]}


def _probe_transformer() -> dict[str, Any]:
    """Check the files of the default sentence transformer, without loading it."""
    from taxoexpan.features.transformer.model_files import (
        find_model,
        module_files,
        read_modules,
        refuse_damaged,
    )

    folder = find_model("all-MiniLM-L6-v2")
    refuse_damaged([path for module in read_modules(folder) for path in module_files(module)])
    return {"folder": str(folder)}


_PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "torch": _probe_torch,
    STATIC: _probe_static,
    TRANSFORMER: _probe_transformer,
}


def main() -> None:
    """Try the names of the command line; what the packages print goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as results, redirect_stdout(sys.stderr):
        os.dup2(2, 1)
        for name in sys.argv[1:]:
            print(json.dumps(asdict(_try(name))), file=results, flush=True)


if __name__ == "__main__":
    main()
