"""Commands that need no model import no torch, so that they start at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from taxoexpan.cli.examples import GROUPS
from tests.support.expanded_files import write_file

PROGRAM = """
import sys
from taxoexpan.cli.main import main

for line in sys.argv[1:]:
    try:
        status = main(line.split())
    except SystemExit as ended:
        status = ended.code
    heavy = [name for name in ("scipy", "sklearn", "torch") if name in sys.modules]
    print("heavy" if heavy else "light", status or 0, line.split()[0], *heavy, file=sys.stderr)
"""


def test_commands_without_a_model_import_no_torch(tmp_path: Path) -> None:
    write_file(tmp_path / "old.csv", "child,parent\nfruit,food\napple,fruit\n")
    write_file(tmp_path / "decisions.csv", "query,parent_label\npear,fruit\n")
    lines = [
        "apply old.csv decisions.csv -o new.csv --changes new.kgcl",
        "diff old.csv new.csv",
        "check new.csv",
        "info new.csv",
        "convert new.csv new.ttl",
        "export missing.db",
        *(f"{name} --help" for names in GROUPS.values() for name in names),
    ]
    command = [sys.executable, "-c", PROGRAM, *lines]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ended = [each for each in done.stderr.splitlines() if each.startswith(("heavy", "light"))]
    assert len(ended) == len(lines)
    assert [each for each in ended if each.startswith("heavy")] == []
    failed = [each for each in ended if not each.startswith("light 0")]
    assert failed == ["light 1 diff", "light 2 export"]
