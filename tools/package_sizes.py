"""Print the sizes of the wheel, the core and each extra, and start-up times, as a Markdown table.

The core is installed in a new environment, and each extra in a copy of it. This takes minutes and
needs a package index:

    python tools/package_sizes.py [EXTRA…]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
REPETITIONS = 5
STATEMENTS = {
    "taxoexpan --help": ["-m", "taxoexpan", "--help"],
    "import taxoexpan": ["-c", "import taxoexpan"],
    "from taxoexpan import Taxonomy": ["-c", "from taxoexpan import Taxonomy"],
    "from taxoexpan import TaxoExpan": ["-c", "from taxoexpan import TaxoExpan"],
}


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder in bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def format_table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Return a Markdown table with two columns."""
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in rows)])


def megabytes(size: int) -> str:
    """Return a size as text."""
    return f"{size / 1e6:,.1f} MB"


def build(folder: Path) -> Path:
    """Build the wheel."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True)
    (wheel,) = folder.glob("taxoexpan-*.whl")
    return wheel


def install(environment: Path, target: str) -> Path:
    """Install a wheel, and perhaps its extra, and return the Python of the environment."""
    python = environment / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
    command += ["--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"), target]
    subprocess.run(command, check=True)
    return python


def size_with_extra(core: Path, wheel: Path, extra: str) -> int:
    """Return the size of the core with an extra, which is installed in a copy of the core.

    The copy consists of hard links, because torch is large. pip replaces files and never writes
    into them, so the core stays as it is.
    """
    environment = core.with_name(f"core-{extra}")
    shutil.copytree(core, environment, symlinks=True, copy_function=os.link)
    try:
        install(environment, f"{wheel}[{extra}]")
        return size_of(environment)
    finally:
        shutil.rmtree(environment)


def seconds(command: list[str]) -> float:
    """Return the shortest of several times that a command takes; the first run compiles."""
    times = []
    for _ in range(REPETITIONS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    """Measure and print two tables."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = sorted(set(project["optional-dependencies"]) - {"dev", "docs"})
    parser = argparse.ArgumentParser(description="Print sizes and start-up times.")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="extras (default: all)")
    chosen = parser.parse_args().extras or known
    if unknown := set(chosen) - set(known):
        parser.error(f"no extra is called {unknown.pop()!r}; choose from {', '.join(known)}")
    with TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        venv.create(folder / "core", with_pip=True)
        python = install(folder / "core", str(wheel))
        core = size_of(folder / "core")
        sizes = [("wheel", megabytes(wheel.stat().st_size)), ("core", megabytes(core))]
        for extra in chosen:
            more = size_with_extra(folder / "core", wheel, extra) - core
            sizes.append((f"extra `{extra}`", f"+ {megabytes(more)}"))
        times = [
            (f"`{title}`", f"{seconds([str(python), *arguments]):.2f} s")
            for title, arguments in STATEMENTS.items()
        ]
    print(format_table(("package", "installed size"), sizes))
    print()
    print(format_table(("start-up", "shortest time"), times))


if __name__ == "__main__":
    main()
