"""Promises about the package itself that a newcomer can rely on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import taxoexpan

PACKAGE = Path(taxoexpan.__file__).parent
TESTS = Path(__file__).parent
OTHER = ("benchmarks", "faults", "fuzz", "tools")
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def test_every_package_says_what_it_is() -> None:
    for init in PACKAGE.rglob("__init__.py"):
        assert init.read_text(encoding="utf-8").startswith('"""'), init


PLACEMENT = sorted(
    f"placement/{init.parent.name}" for init in PACKAGE.glob("placement/*/__init__.py")
)


@pytest.mark.parametrize(
    "package", ["decisions", "github", "network", "placement", *PLACEMENT, "training"]
)
def test_a_large_package_says_where_each_module_belongs(package: str) -> None:
    documented = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text()))
    names = {path.stem for path in (PACKAGE / package).glob("*.py")} - {"__init__"}
    names |= {init.parent.name for init in (PACKAGE / package).glob("*/__init__.py")}
    assert [name for name in sorted(names) if f"`{name}`" not in (documented or "")] == []


def test_tests_mirror_the_package() -> None:
    """Every folder of tests, but those of scripts, has a package of the same name."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    unknown = [f for f in folders if not (PACKAGE / f).is_dir() and str(f) not in OTHER]
    assert unknown == []


def test_public_names_are_importable() -> None:
    for name in taxoexpan.__all__:
        assert getattr(taxoexpan, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = taxoexpan.nothing


def flags_in(path: Path) -> list[str]:
    """Return the texts of a module, other than docstrings, that name a flag."""
    text = path.read_text(encoding="utf-8")
    if not FLAG.search(text):
        return []
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in docstrings and FLAG.search(node.value)
    ]


def test_only_the_command_line_names_flags() -> None:
    """Messages reach Python users too, who have arguments instead."""
    # They quote whole commands.
    commands = {
        "glossary_file.py",
        "export_routes.py",
        "taxonomy_file.py",
        "option_declarations.py",
        "shared_options.py",
    }
    commands |= {"text_file.py", "large_parts.py"}  # those of iconv and pip
    modules = [p for p in PACKAGE.rglob("*.py") if p.parent.name not in ("cli", "github")]
    found = {path.name: flags_in(path) for path in modules if path.name not in commands}
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert flags_in(PACKAGE / "cli" / "train.py")
