"""Build the wheel and the source distribution, and try both in environments without the source.

Each is installed in a new environment, and every kind of file that a wheel can lack is used: data
and presets, templates, static files and migrations.

    python tools/check_package.py [--epochs 3]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parents[1]
EXTRAS = "web"
LOCATION = "import taxoexpan; print(taxoexpan.__file__)"


def build(folder: Path) -> tuple[Path, Path]:
    """Build both packages in a folder, and return them: the wheel, then the source."""
    folder.mkdir(exist_ok=True)
    os.chdir(ROOT)
    return folder / build_wheel(str(folder)), folder / build_sdist(str(folder))


class Environment:
    """A new environment with a package, and a folder to work in; the source is not on its path."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.folder, self.work = folder / "env", folder / "work"
        self.work.mkdir(parents=True)
        self.variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self.variables["TAXOEXPAN_CACHE"] = str(folder / "cache")
        venv.create(self.folder, with_pip=True)
        pip = [*["-m", "pip", "install", "--quiet", "-c"], str(ROOT / "constraints.txt")]
        self.run("python", *pip, f"{package}[{EXTRAS}]")

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, and return what it prints."""
        print(f"  {program} {' '.join(arguments)}", flush=True)
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=self.work,
            env=self.variables,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout


def try_commands(environment: Environment, epochs: int) -> None:
    """Run commands that use the files of the package."""
    location = Path(environment.run("python", "-c", LOCATION).strip())
    assert location.is_relative_to(environment.folder), f"imported from {location}"
    environment.run("taxoexpan", "doctor")
    training = ["--preset", "fast", "--epochs", str(epochs), "--quiet"]
    placed = environment.run("taxoexpan", "demo", *training)
    assert "dragon fruit" in placed, placed
    data = location.parent / "data"
    report = ["-o", "suggestions.csv", "--report", "report.html"]
    new = str(data / "new-foods.csv")
    environment.run("taxoexpan", "suggest", "demo-output/model", new, *report)
    try_review(environment, ["demo-output/model", new, "--no-browser", "--quiet"])


def try_review(environment: Environment, arguments: list[str]) -> None:
    """Start the review, and load its first page and all files that the page names."""
    print(f"  taxoexpan review {' '.join(arguments)}", flush=True)
    server = subprocess.Popen(
        [environment.folder / "bin" / "taxoexpan", "review", *arguments],
        cwd=environment.work,
        env=environment.variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        addresses = (re.search(r"http://\S+", line) for line in server.stderr)
        address = next(found[0] for found in addresses if found)
        page = urlopen(address).read().decode()
        files = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
        assert files, "the page names no static files"
        for file in files:
            assert urlopen(re.sub(r"(://[^/]+).*", rf"\1{file}", address)).status == 200
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Build and try both packages; the packages are left in dist/."""
    parser = argparse.ArgumentParser(description="Build and try the wheel and the sdist.")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of the demo (default: 3)")
    epochs = parser.parse_args().epochs
    for package in build(ROOT / "dist"):
        print(f"{package.name} ({package.stat().st_size / 1e6:.1f} MB)", flush=True)
        with TemporaryDirectory() as folder:
            try_commands(Environment(Path(folder), package), epochs)
    print("the wheel and the source distribution work")


if __name__ == "__main__":
    sys.exit(main())
