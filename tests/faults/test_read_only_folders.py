"""Outputs in folders that may not be written to are refused before any work."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from taxoexpan.cli.main import main
from tests.support.unprivileged import give_away, open_folder, run_unprivileged

COMMANDS = (
    "convert {taxonomy} {folder}/out.ttl",
    "train {taxonomy} -o {folder}/model",
    "apply {taxonomy} {decisions} -o {folder}/out.csv",
    "demo -o {folder}/demo",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_read_only_folder_is_refused_before_any_work(
    command: str, pantry: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with open_folder() as place:
        folder = place / "folder"
        folder.mkdir()
        shutil.copy(pantry, place / "taxonomy.csv")
        (place / "decisions.csv").write_text("query,parent_label\nrye bread,bread\n")
        give_away(folder)
        folder.chmod(0o555)
        names = {"taxonomy": place / "taxonomy.csv", "decisions": place / "decisions.csv"}
        words = command.format(folder=folder, **names).split()
        assert run_unprivileged(lambda: main(words)) == 2
        assert f"nothing can be created in {folder}" in capfd.readouterr().err
        assert list(folder.iterdir()) == []
