"""Every command on small inputs, with the outputs that must survive an interruption."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.model_directory import is_archive, read_intact
from tests.support.builders import pantry_csv

QUICK = "--preset fast --features static --epochs 2 --device cpu --quiet"
NEW = "cashew milk\nrye bread\ntomato juice\nred lentil soup\n"


@dataclass(frozen=True)
class Command:
    """A command line, its outputs below `out`, and whether it needs torch.

    `endless` commands run until they are stopped. Two complete outputs of a `timed` one differ.
    """

    name: str
    line: str
    outputs: tuple[str, ...] = ()
    heavy: bool = True
    endless: bool = False
    timed: bool = False

    @property
    def arguments(self) -> list[str]:
        """The arguments without --force."""
        return self.line.split()

    @property
    def all_arguments(self) -> list[str]:
        """The arguments, with --force if there are outputs that may exist."""
        forced = bool(self.outputs) and not self.endless and self.name != "update in place"
        return self.arguments + ["--force"] * forced


COMMANDS = (
    Command("check", "check taxonomy.csv", heavy=False),
    Command("info", "info taxonomy.csv", heavy=False),
    Command("diff", "diff taxonomy.csv newer.csv", heavy=False),
    Command("completion", "completion bash", heavy=False),
    Command("convert", "convert taxonomy.csv out/a.ttl", ("a.ttl",), heavy=False),
    Command(
        "discover",
        "discover corpus.txt --taxonomy taxonomy.csv -o out/d.csv --workers 2 --min-count 1 "
        "--quiet",
        ("d.csv",),
    ),
    Command("train", f"train taxonomy.csv -o out/m {QUICK}", ("m",)),
    Command("update", "update model newer.csv -o out/m --quiet", ("m",)),
    Command("update in place", "update out/m newer.csv --quiet", ("m",)),
    Command("suggest", "suggest model new.txt -o out/s.csv", ("s.csv",)),
    Command("apply", "apply taxonomy.csv decisions.csv -o out/a.csv --all", ("a.csv",)),
    Command(
        "expand",
        "expand taxonomy.csv new.txt -o out/a.csv --suggestions out/s.csv --model out/m " + QUICK,
        ("a.csv", "s.csv", "m"),
    ),
    Command("clean", f"clean taxonomy.csv -o out/c.csv --folds 2 {QUICK}", ("c.csv",)),
    Command(
        "evaluate",
        "evaluate taxonomy.csv newer.csv -o out/e.json --features static --device cpu --quiet "
        "--methods popularity,closest-parent",
        ("e.json",),
        timed=True,
    ),
    Command("export", "export reviews.db -o out/x.csv", ("x.csv",)),
    Command("demo", f"demo -o out/demo {QUICK}", ("demo",), timed=True),
    Command(
        "review",
        "review model new.txt --decisions out/r.db --no-browser --port 0",
        ("r.db",),
        endless=True,
        timed=True,
    ),
    Command("serve", "serve model --port 0", endless=True),
    Command("mcp", "mcp model"),
    Command("doctor", "doctor"),
)


def write_inputs(folder: Path) -> None:
    """Write the inputs of all commands."""
    (folder / "out").mkdir(parents=True)
    (folder / "taxonomy.csv").write_text(pantry_csv(), encoding="utf-8")
    newer = pantry_csv() + "nut milk,milk\ncashew milk,nut milk\n"
    (folder / "newer.csv").write_text(newer, encoding="utf-8")
    (folder / "new.txt").write_text(NEW, encoding="utf-8")
    sentences = ("They drink rye coffee with oat milk.", "A rye coffee is a coffee, she said.")
    (folder / "corpus.txt").write_text("\n".join(sentences * 400), encoding="utf-8")
    decisions = "query,parent_label\ncashew milk,milk\nrye bread,bread\n"
    (folder / "decisions.csv").write_text(decisions, encoding="utf-8")


def write_model(folder: Path, run: Callable[..., float]) -> None:
    """Write the model and the decisions that some commands need; `run` runs a command."""
    run("train", "taxonomy.csv", "-o", "model", *QUICK.split())
    from taxoexpan.desk.store.decision_store import DecisionStore

    with closing(DecisionStore.open(str(folder / "reviews.db"))):
        pass


def is_complete(path: Path) -> bool:
    """Whether an output that contains times is whole."""
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database:
            return bool(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    if path.suffix == ".json":
        return bool(json.loads(path.read_text(encoding="utf-8")))
    return all(digest(part) for part in path.iterdir())


def ended_early(model: Path) -> bool:
    """Whether Ctrl-C ended a training with the best epoch so far, which gives another result."""
    if not is_archive(model):
        return False
    read_intact(model)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return bool(config["training"]["interrupted"])


def digest(path: Path) -> str:
    """Return what identifies an output: its bytes, or those of the files of a model."""
    if not path.exists():
        return "nothing"
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if is_archive(path):
        read_intact(path)
    timed = ("config.json", "manifest.json", "README.md")
    parts = {part.name: part for part in path.iterdir()}
    return json.dumps({n: n if n in timed else digest(part) for n, part in sorted(parts.items())})


def replace_by_copy(source: Path, target: Path) -> None:
    """Make a target, which may exist, a copy of a source, which may not."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copyfile(source, target)
