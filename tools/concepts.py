"""Print how many ideas the package holds: classes, records, shared classes, public names, modules.

concepts.py [ROOT ...] prints one column per checkout; the default is this repository.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

RECORD_BASES = {"NamedTuple", "TypedDict", "BaseModel"}
FOLDERS = ("src", "tests", "reproduction", "benchmarks", "tools", "docs")


def count(root: Path) -> dict[str, int]:
    """Return all counts of a checkout by their names."""
    package = root / "src" / "taxoexpan"
    trees = {path: ast.parse(path.read_bytes()) for path in sorted(package.rglob("*.py"))}
    classes = [node for tree in trees.values() for node in find_classes(tree)]
    closure = import_closure(root / "src", "taxoexpan.cli.expand")
    counts = {
        "classes": len(classes),
        "records": sum(is_record(node) for node in classes),
        "classes that another package imports": len(shared_classes(package, trees)),
        "modules": len(trees),
        "modules imported by expand": len(closure),
        "lines imported by expand": sum(map(count_lines, closure)),
    }
    for folder in FOLDERS:
        suffix = "*.md" if folder == "docs" else "*.py"
        counts[f"lines in {folder}"] = sum(map(count_lines, (root / folder).rglob(suffix)))
    for path, tree in trees.items():
        name = f"public names in {package_of(package, path)}"
        counts[name] = counts.get(name, 0) + len(public_names(tree))
    return counts


def package_of(package: Path, path: Path) -> str:
    """Return the top-level package or module that a file belongs to."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def count_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_bytes().splitlines())


def find_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes of a module, nested ones included."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def is_record(node: ast.ClassDef) -> bool:
    """Return whether a class is a dataclass, a named tuple, or a typed dict."""
    decorators = [ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list]
    bases = [ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases]
    is_dataclass = any(name.rpartition(".")[2] == "dataclass" for name in decorators)
    return is_dataclass or not RECORD_BASES.isdisjoint(bases)


def shared_classes(package: Path, trees: dict[Path, ast.Module]) -> set[tuple[str, str]]:
    """Return module and name of the classes that modules of another top-level package import.

    Imports for types only count too: a reader has to know these classes all the same.
    """
    homes = {}
    for path, tree in trees.items():
        module = ".".join(("taxoexpan", *path.relative_to(package).with_suffix("").parts))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[module.removesuffix(".__init__"), node.name] = package_of(package, path)
    imported: set[tuple[str, str]] = set()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {(node.module, alias.name) for alias in node.names}
                imported |= {
                    name
                    for name in names & homes.keys()
                    if homes[name] != package_of(package, path)
                }
    return imported


def public_names(tree: ast.Module) -> list[str]:
    """Return the public classes, functions and constants that a module defines."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            stored = (name for target in node.targets for name in ast.walk(target))
            names += [name.id for name in stored if isinstance(name, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return [name for name in names if not name.startswith("_")]


def import_closure(source: Path, start: str) -> list[Path]:
    """Return the modules that a module imports, also inside functions, and their packages."""
    files: dict[str, Path] = {}
    pending = [start]
    while pending:
        name = pending.pop()
        stem = source.joinpath(*name.split("."))
        file = next(
            (f for f in (stem / "__init__.py", stem.with_suffix(".py")) if f.exists()), None
        )
        if file is not None and name not in files:
            files[name] = file
            pending += [name.rpartition(".")[0], *imports(ast.parse(file.read_bytes()))]
    return sorted(files.values())


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


def format_table(columns: list[dict[str, int]]) -> str:
    """Return one line per count, with one column per checkout."""
    names = dict.fromkeys(name for column in columns for name in column)
    return "\n".join(
        f"{name:<38}" + "".join(f"{column.get(name, 0):>10,}" for column in columns)
        for name in names
    )


if __name__ == "__main__":
    print(format_table([count(Path(root)) for root in sys.argv[1:] or [Path(__file__).parents[1]]]))
