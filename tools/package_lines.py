"""Print lines and modules per package, and the modules that a command imports.

package_lines.py [ROOT ...] prints one column per checkout; the default is this repository.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def count(root: Path) -> dict[str, str]:
    """Return the lines and modules of each package and folder of a checkout."""
    package = root / "src" / "taxoexpan"
    folders = {path.name: sorted(path.rglob("*.py")) for path in sorted(package.iterdir())}
    folders = {name: files for name, files in folders.items() if files}
    folders["modules at the top"] = sorted(package.glob("*.py"))
    folders["src"] = sorted(package.rglob("*.py"))
    folders["tests"] = sorted((root / "tests").rglob("*.py"))
    folders["reproduction"] = sorted((root / "reproduction").rglob("*.py"))
    folders["imported by expand"] = import_closure(root / "src", "taxoexpan.cli.expand")
    lines = {name: sum(len(f.read_bytes().splitlines()) for f in folders[name]) for name in folders}
    return {name: f"{lines[name]:9,} in {len(files):3}" for name, files in folders.items()}


def import_closure(source: Path, start: str) -> list[Path]:
    """Return the modules that a module imports, also inside functions, and their packages."""
    found: dict[str, Path] = {}
    pending = [start]
    while pending:
        name = pending.pop()
        stem = source.joinpath(*name.split("."))
        file = next(
            (f for f in (stem / "__init__.py", stem.with_suffix(".py")) if f.exists()), None
        )
        if file is not None and name not in found:
            found[name] = file
            pending += [name.rpartition(".")[0], *imports(ast.parse(file.read_bytes()))]
    return sorted(found.values())


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module imports, except for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        yield from imports(node)


if __name__ == "__main__":
    columns = [count(Path(root)) for root in sys.argv[1:] or [Path(__file__).parents[1]]]
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"{name:<20}" + "".join(f"{column.get(name, '–'):>18}" for column in columns))
