"""End-to-end runs of the command line, on real files."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

import taxoexpan
from taxoexpan import read_taxonomy
from taxoexpan.cli import train
from taxoexpan.cli.examples import GROUPS
from taxoexpan.cli.parser import add_options
from taxoexpan.formats.registry import FORMATS
from tests.support.command_line import run
from tests.support.ctrl_c import interrupt_cli
from tests.support.expanded_files import write_file
from tests.support.full_disk import no_file_larger_than

QUICK = ["--preset", "fast", "--features", "static", "--epochs", "3", "--device", "cpu"]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    path.write_text('label\ncashew milk\n"tea, white"\nOat-Milk\ncashew  milk\n', encoding="utf-8")
    return path


def run_cli(*arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "taxoexpan.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_help_names_every_command_and_needs_no_other_package() -> None:
    """So it is fast."""
    loaded = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    program = f"from taxoexpan.cli.main import build_parser; build_parser(); {loaded}"
    # -S: without the packages of the environment.
    source = Path(taxoexpan.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(source)},
    )
    assert set(done.stdout.split()) - sys.stdlib_module_names == {"__main__", "taxoexpan"}
    text = run_cli("--help").stdout
    assert all(name in text for name in ("check", "info", "train", "suggest", "apply", "expand"))


def test_help_and_options_need_no_docstrings(pantry: Path) -> None:
    program = """
import contextlib, sys
from taxoexpan.cli.examples import GROUPS
from taxoexpan.cli.main import main
for name in (name for names in GROUPS.values() for name in names):
    with contextlib.suppress(SystemExit):
        main([name, "--help"])
sys.exit(main(["info", sys.argv[1], "--json"]))
"""
    command = [sys.executable, "-B", "-OO", "-c", program, str(pantry)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"usage: taxoexpan {name} " in done.stdout for name in sum(GROUPS.values(), ()))


def test_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert run_cli("--version").stdout.strip() == f"taxoexpan {version('taxoexpan')}"


@pytest.mark.slow
@pytest.mark.parametrize("own", [None, "active"])
def test_threads_wait_passively_unless_the_user_says_otherwise(
    pantry: Path, tmp_path: Path, own: str | None
) -> None:
    """OpenMP prints its settings when torch loads it; the unknown device ends the command."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_DISPLAY_ENV": "true"} | ({"OMP_WAIT_POLICY": own} if own else {})
    unknown = ["--device", "abacus"]
    done = subprocess.run(
        [sys.executable, "-m", "taxoexpan", "train", pantry, "-o", tmp_path / "model", *unknown],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert f"OMP_WAIT_POLICY = '{(own or 'passive').upper()}'" in done.stderr


def test_the_help_names_every_format() -> None:
    (action,) = (each for each in _train_parser()._actions if each.dest == "format")
    named = {word.strip(",:") for word in str(action.help).split()}
    assert {*FORMATS} - named == set()


def _train_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    add_options(parser, train.Options)
    return parser


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("change", "note"),
    [
        ("tower_epochs=3", "the encoder 'static' has no sentence model"),
        ("hidden_dim=8", ""),
    ],
)
def test_a_setting_without_effect_is_reported(
    pantry: Path, tmp_path: Path, change: str, note: str
) -> None:
    command = ["train", pantry, "-o", tmp_path / "model", *QUICK, "--set", change]
    lines = [line for line in run(*command).err.splitlines() if "no effect" in line]
    assert lines == ([f"warning: tower_epochs has no effect, because {note}"] if note else [])


def test_train_suggest_apply_place_new_concepts(pantry: Path, new: Path, tmp_path: Path) -> None:
    """Another process than the one that trained the model makes suggestions with it."""
    model, suggestions = tmp_path / "model", tmp_path / "suggestions.csv"
    out = tmp_path / "out.csv"
    command = ["train", pantry, "-o", model, "--epochs", "8", "--device", "cpu"]
    trained = run(*command, "--preset", "fast", "--features", "static")
    assert "validation MR" in trained.err
    assert trained.out == ""
    ranked = run_cli("suggest", model, new, "-o", suggestions, "--top-k", "3")
    assert ranked.returncode == 0, ranked.stderr
    assert "already present: 'Oat-Milk' is 'oat milk'" in ranked.stderr
    assert (
        "repeated: 'cashew milk' is in the list more than once; the first row is used"
        in ranked.stderr
    )
    rows = rows_of(suggestions)
    assert [(r["query"], r["rank"]) for r in rows] == [
        (query, rank) for query in ("cashew milk", "tea, white") for rank in "123"
    ]
    run("apply", pantry, suggestions, "-o", out)
    assert out.read_bytes().startswith(pantry.read_bytes())
    expanded = read_taxonomy(out)
    assert set(expanded) - set(read_taxonomy(pantry)) == {"cashew milk", "tea, white"}
    assert expanded.parents("cashew milk") == (rows[0]["parent_id"],)


def test_expand_trains_suggests_applies_and_saves_the_requested_outputs(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    out, kept, model = tmp_path / "out.csv", tmp_path / "kept.csv", tmp_path / "model"
    command = ["expand", pantry, new, "-o", out, "--top-k", "2", *QUICK]
    command += ["--min-confidence", "0"]
    captured = run(*command, "--suggestions", kept, "--model", model)
    assert captured.out == ""
    assert "2 concepts and 4 relations added" in captured.err
    assert out.read_bytes().startswith(pantry.read_bytes())
    assert len(read_taxonomy(out).parents("cashew milk")) == 2
    assert len(rows_of(kept)) == 10
    answer = json.loads(run("suggest", model, new, "--json").out)
    assert [r["rank"] for r in answer["suggestions"]] == [1, 2, 3, 4, 5] * 2
    assert answer["already_present"][0]["id"] == "oat milk"


def test_the_demo_places_new_foods_and_saves_its_outputs(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    command = ["demo", "-o", str(folder), "--epochs", "1", "--device", "cpu"]
    command += ["--preset", "fast", "--features", "static", "--seed", "2"]
    captured = run(*command)
    assert "oat milk" in captured.out
    outcomes = dict[str, str]()
    for row in rows_of(folder / "suggestions.csv"):
        decision = "coarse" if row["kind"] == "coarse" else row["decision"]
        outcomes[row["query"]] = outcomes.get(row["query"]) or decision
    assert len(outcomes) == 39
    counts = Counter(outcomes.values())
    assert set(counts) == {"accepted", "coarse", "undecided"}
    assert f"{counts['accepted'] + counts['coarse']} concepts and " in captured.err
    assert f"{counts['coarse']} of them are placed coarsely" in captured.err
    assert f"{counts['undecided']} of 39 new concepts are undecided" in captured.err
    for label, outcome in outcomes.items():
        line = next(each for each in captured.out.splitlines() if each.startswith(f"{label} "))
        assert f"  {outcome}  " in line
    made = sorted(path.name for path in folder.iterdir())
    assert made == ["food-expanded.csv", "model", "suggestions.csv"]
    assert "already exists" in run(*command, status=2).err


def test_additions_that_the_file_cannot_hold_are_refused_before_training(tmp_path: Path) -> None:
    old, new, out = tmp_path / "old.txt", tmp_path / "new.csv", tmp_path / "out.txt"
    old.write_text("A\nA > B\nA > C\nA > D\n")
    new.write_text("label\nE > F\n")
    command = ["expand", old, new, "-o", out]
    assert "'E > F' would not be read back as one category" in run(*command, status=2).err
    new.write_text("label\nE\n")
    messages = run(*command, "--top-k", "2", status=2).err
    assert "'E' has 2 parents, but a path has only one; choose one" in messages
    assert "training" not in messages
    assert not out.exists()


def test_a_second_run_gives_the_same_bytes(pantry: Path, new: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        command = ["expand", pantry, new, "-o", folder / "out.csv", *QUICK]
        run(*command, "--suggestions", folder / "s.csv")
    for file in ("out.csv", "s.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_range_below_every_parent_may_be_smaller_than_the_list(tmp_path: Path) -> None:
    old, new, out = (tmp_path / name for name in ("old.csv", "new.txt", "out.csv"))
    rows = [f"{sort}-{n},{sort} {n},{sort}" for sort in ("tea", "milk") for n in range(5)]
    old.write_text("\n".join(["id,label,parents", "tea,tea,", "milk,milk,", *rows, ""]))
    new.write_text("tea 9\nmilk 9\n", encoding="utf-8")
    command = ["expand", old, new, "-o", out, *QUICK, "--all"]
    run(*command, "--id-template", "{parent}-{number}", "--id-range", "7-7")
    added = {*read_taxonomy(out)} - {*read_taxonomy(old)}
    assert len(added) == 2
    assert all(id.endswith("-7") for id in added)


def test_nothing_is_overwritten_without_force(pantry: Path, new: Path, tmp_path: Path) -> None:
    out = write_file(tmp_path / "out.csv", "precious")
    command = ["expand", pantry, new, "-o", out, *QUICK]
    assert "(option --force)" in run(*command, status=2).err
    assert out.read_text() == "precious"
    run(*command, "--force")
    assert out.read_bytes().startswith(pantry.read_bytes())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "missing.csv"], "missing.csv: there is no such file; check the path"),
        (["train", "missing.csv", "-o", "model"], "there is no such file"),
        (["suggest", "nowhere", "new.csv"], "no such model directory"),
        (["info", "new.csv", "--format", "xml"], "there is no format 'xml'; choose one of"),
        (["apply", "old.csv", "new.csv", "-o", "out.csv"], "no column query"),
        (["expand", "tiny.csv", "new.csv", "-o", "out.csv"], "too little to learn from: 1 concept"),
        (["expand", "old.csv", "empty.csv", "-o", "out.csv"], "the file is empty"),
        (["expand", "old.csv", "new.csv", "-o", "no/such/out.csv"], "does not exist; create it"),
        (["expand", "old.csv", "long.csv", "-o", "out.csv"], "long.csv, line 2: the name has"),
        (
            ["expand", "old.csv", "new.csv", "-o", "out.csv", "--suggestions", "out.csv"],
            "out.csv: would overwrite another output",
        ),
    ],
)
def test_an_error_is_one_line_that_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text("child,parent\na,b\nc,b\nd,b\n")
    Path("new.csv").write_text("label\nx\n")
    Path("tiny.csv").write_text("label,parents\na,\n")
    Path("empty.csv").write_text("")
    Path("long.csv").write_text("label\n" + "x" * 10_000 + "\n")
    before = sorted(Path().iterdir())
    captured = run(*arguments, status=2)
    assert message in captured.err
    assert captured.err.count("\n") <= 2
    assert captured.out == ""
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--top-k", "0"], "'0' is not a whole number above zero"),
        (["--seed", "-1"], "'-1' is not a whole number from 0"),
        (["--id-start", "-5"], "'-5' is not a whole number of zero or more"),
        (["--id-range", "5--3"], "'5--3' is not two whole numbers"),
        (["--min-score", "2"], "'2' is not a number from 0 to 1"),
    ],
)
def test_an_option_out_of_range_is_refused(
    pantry: Path, new: Path, option: list[str], message: str
) -> None:
    assert message in run("expand", pantry, new, "-o", "out.csv", *option, status=2).err


@pytest.mark.parametrize("command", ["train {old} -o {out}", "expand {old} {new} -o {out}"])
def test_single_settings_can_be_changed(
    pantry: Path, new: Path, tmp_path: Path, command: str
) -> None:
    model = tmp_path / "model"
    train = command.startswith("train")
    words = command.format(
        old=pantry, new=new, out=model if train else tmp_path / "out.csv"
    ).split()
    changes = ["--set", "propagation=pgcn", "--set", "hidden_dim=8", "--set", "dropout=0.25"]
    kept = [] if train else ["--model", str(model)]
    run(*words, *kept, *changes, *QUICK)
    used = json.loads((model / "config.json").read_text(encoding="utf-8"))["settings"]
    assert (used["propagation"], used["hidden_dim"], used["dropout"]) == ("pgcn", 8, 0.25)
    assert (used["readout"], used["epochs"]) == ("weighted", 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "hiden=8"], "no setting is called 'hiden'; did you mean hidden_dim?"),
        (["--set", "hidden_dim=big"], "hidden_dim is 'big'; it must be a valid integer"),
        (["--set", "dropout=nan"], "dropout is 'nan'; it must be less than 0.998"),
        (["--set", "propagation=foo"], "propagation is 'foo'; it must be 'gcn', 'gat', "),
        (["--set", "num_heads=2", "--set", "num_heads=3"], "num_heads is set twice; set it once"),
        (["--epochs", "2", "--set", "epochs=3"], "epochs is set twice; set it once"),
    ],
)
@pytest.mark.parametrize("command", ["train", "expand", "demo"])
def test_a_wrong_setting_is_refused_before_anything_is_read_or_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out.checkpoint").write_text("hours of work")
    files = {"train": ["missing.csv"], "expand": ["missing.csv", "new.csv"], "demo": []}
    messages = run(command, *files[command], "-o", "out", "--force", *options, status=2).err
    assert messages.startswith(f"taxoexpan: {message}")
    assert [path.name for path in Path().iterdir()] == ["out.checkpoint"]


def test_help_names_the_settings_and_where_they_are_explained() -> None:
    text = " ".join(run_cli("train", "--help").stdout.split())
    assert "propagation, readout, matching" in text
    assert "page Settings" in text
    assert "auto, cpu, cuda, cuda:N or mps" in text


@pytest.mark.slow
def test_ctrl_c_before_the_first_epoch_writes_nothing(tmp_path: Path) -> None:
    food = str(resources.files("taxoexpan") / "data" / "food.csv")
    command = [
        "train",
        food,
        "-o",
        str(tmp_path / "model"),
        "--device",
        "cpu",
        "--preset",
        "fast",
        "--features",
        "static",
    ]
    status, messages = interrupt_cli(command, "training on")
    assert status == 130, messages
    assert "taxoexpan: stopped" in messages
    assert list(tmp_path.iterdir()) == []


def test_output_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    path = write_file(tmp_path / "cycle.csv", "child,parent\n豆,茶\n茶,豆\n")
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "taxoexpan.cli.main", "check", str(path)],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 1
    assert "豆 → 茶" in done.stdout.decode("utf-8") or "茶 → 豆" in done.stdout.decode("utf-8")


def test_a_full_disk_is_an_error_without_a_traceback(pantry: Path) -> None:
    command = f"{sys.executable} -m taxoexpan.cli.main info {pantry} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "taxoexpan: No space left on device: standard output\n"


@pytest.mark.filterwarnings("default")  # train says that it goes on without the checkpoint
@pytest.mark.parametrize(
    "command", ["train {old} -o model", "expand {old} {new} -o out.csv --model model"]
)
def test_a_full_disk_leaves_no_partial_output(
    pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    new = pantry.with_name("new-milk.txt")
    new.write_text("cashew milk\n", encoding="utf-8")
    with no_file_larger_than(20_000):
        messages = run(*command.format(old=pantry, new=new).split(), *QUICK, status=2).err
    (line,) = (each for each in messages.splitlines() if "taxoexpan: model: cannot be" in each)
    assert "File too large" in line
    assert messages.count("model.checkpoint: cannot be written") == command.startswith("train")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_is_no_error(pantry: Path) -> None:
    bad = f"{sys.executable} -m taxoexpan.cli.main info {pantry} | head -n 1"
    done = subprocess.run(["bash", "-c", bad], capture_output=True, text=True, check=True)
    assert "format" in done.stdout
    assert done.stderr == ""


def test_the_model_is_kept_where_no_confidence_is_known(pantry: Path, tmp_path: Path) -> None:
    new, out, model = tmp_path / "new.txt", tmp_path / "out.csv", tmp_path / "model"
    new.write_text("nut milk\n", encoding="utf-8")
    given = ["expand", pantry, new, "-o", out, "--model", model]
    more = [
        "--preset",
        "fast",
        "--features",
        "static",
        "--epochs",
        "1",
        "--device",
        "cpu",
        "--accept-at-precision",
        "1",
        "--set",
        "learn_fusion=false",
    ]
    messages = run(*given, *more, status=2).err
    assert "train with the setting validation_fraction=0.38" in messages
    assert "training on" not in messages
    suggestions = tmp_path / "s.csv"
    more += ["--set", "validation_fraction=0.9", "--suggestions", str(suggestions)]
    messages = run(*given, *more, status=2).err
    assert f"taxoexpan apply with {suggestions} needs no further training" in messages
    assert (model / "config.json").exists()
    assert suggestions.exists()
    assert not out.exists()
