from __future__ import annotations

from pathlib import Path

import pytest

from tools.concepts import count, import_closure

FILES = {
    "__init__.py": "VERSION, _private = 1, 2\n",
    "model.py": (
        "from dataclasses import dataclass\nfrom typing import NamedTuple\n"
        "@dataclass(frozen=True)\nclass Model:\n    class Nested: ...\n"
        "class Row(NamedTuple):\n    cell: str\nclass Plain: ...\ndef train() -> None: ...\n"
    ),
    "unused.py": "class Unused: ...\n",
    "cli/__init__.py": "",
    "cli/arguments.py": "class Arguments: ...\n",
    "cli/expand.py": (
        "if TYPE_CHECKING:\n    from taxoexpan.unused import Unused\n"
        "from taxoexpan.cli.arguments import Arguments\n"
        "def run():\n    from taxoexpan.model import Model, train\n"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "src" / "taxoexpan" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_classes_records_and_public_names_are_counted(root: Path) -> None:
    counts = count(root)
    assert counts["classes"] == 6
    assert counts["records"] == 2
    assert counts["modules"] == len(FILES)
    assert counts["lines in src"] == sum(text.count("\n") for text in FILES.values())
    assert counts["public names in model"] == 4
    assert counts["public names in cli"] == 2
    assert counts["public names in __init__"] == 1


def test_only_classes_that_another_package_imports_are_shared(root: Path) -> None:
    assert count(root)["classes that another package imports"] == 2


def test_lazy_imports_and_packages_count_but_imports_of_types_do_not(root: Path) -> None:
    package = root / "src" / "taxoexpan"
    closure = import_closure(root / "src", "taxoexpan.cli.expand")
    assert {str(path.relative_to(package)) for path in closure} == set(FILES) - {"unused.py"}
