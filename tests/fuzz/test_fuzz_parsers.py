"""Every parser reads or refuses every input, in bounded time and memory.

`TAXOEXPAN_FUZZ_ROUNDS` sets the number of inputs per parser.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from tests.support.fuzz_inputs import BILLION_LAUGHS, EXTERNAL_ENTITY, unpack_workbook
from tests.support.fuzz_parsers import PARSERS
from tests.support.fuzz_run import fuzz

ROUNDS = os.environ.get("TAXOEXPAN_FUZZ_ROUNDS")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("rounds", [24, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_hostile_file_is_read_or_refused(name: str, rounds: int) -> None:
    outcome = fuzz(PARSERS[name], int(ROUNDS or rounds))
    print(outcome)
    assert outcome.others == []
    assert outcome.parsed >= len(PARSERS[name].samples)
    assert outcome.refused > 0


def test_entities_cannot_fill_the_memory_or_read_other_files(tmp_path: Path) -> None:
    for content in (BILLION_LAUGHS, EXTERNAL_ENTITY):
        (tmp_path / "x.rdf").write_bytes(content)
        with pytest.raises(FormatError, match=r"x\.rdf"):
            read_taxonomy(tmp_path / "x.rdf")


def test_a_workbook_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("child,parent\nb,a\n")
    convert(tmp_path / "x.csv", Target(tmp_path / "x.xlsx"), to="rows")
    parts = unpack_workbook((tmp_path / "x.xlsx").read_bytes())
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.writestr("xl/padding.xml", b" " * (65 << 20))
    with pytest.raises(FormatError, match=r"more than 67,108,864 bytes after decompression"):
        read_taxonomy(tmp_path / "x.xlsx")
