"""Tests of the imports in another process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taxoexpan.diagnosis.import_trial import try_imports

MODULES = {
    "brokenlibrary": "raise OSError('libbroken.so: cannot open shared object file\\nmore')",
    "crashing": "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
    "exiting": "import os; os._exit(3)",
    "talking": "import os; print('{\"name\": 1}'); os.write(1, b'{}\\n')",
    "waiting": "import time; time.sleep(60)",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in MODULES.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(tmp_path), before] if before else [str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", path)


def test_each_package_has_a_result_after_one_has_ended_the_process() -> None:
    names = ["json", "crashing", "absent", "exiting", "brokenlibrary", "talking"]
    trials = try_imports(names)
    assert {name: trial.problem for name, trial in trials.items()} == {
        "json": None,
        "crashing": "the import ends Python with SIGILL",
        "absent": "ModuleNotFoundError: No module named 'absent'",
        "exiting": "the import ends Python with status 3",
        "brokenlibrary": "OSError: libbroken.so: cannot open shared object file",
        "talking": None,
    }


def test_an_import_that_does_not_end_is_stopped() -> None:
    trials = try_imports(["json", "waiting"], timeout=1)
    assert trials["json"].problem is None
    assert trials["waiting"].problem == "the import takes more than 1 s"


def test_a_file_of_the_current_folder_is_not_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "current"
    folder.mkdir()
    (folder / "local_file.py").touch()
    monkeypatch.chdir(folder)
    assert "No module named" in str(try_imports(["local_file"])["local_file"].problem)
