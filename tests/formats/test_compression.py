from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept
from tests.support.corruptions import FOOD
from tests.support.expanded_files import refusal, under, write_expanded

NAMES = {
    "rows": "x.tsv.gz",
    "edges": "x.csv.gz",
    "paths": "x.txt.gz",
    "json": "x.json.gz",
    "obographs": "x.json.gz",
    "obo": "x.obo.gz",
    "skos": "x.ttl.gz",
    "terms": "x.terms.gz",
}


@pytest.mark.parametrize("format", NAMES)
def test_every_text_format_may_be_compressed(format: str, tmp_path: Path) -> None:
    path, output = tmp_path / NAMES[format], tmp_path / NAMES[format].replace("x", "new")
    copy = FORMATS[format].write(FOOD, Target(path))
    for part, content in copy.contents().items():
        assert content.startswith(b"\x1f\x8b")
        part.write_bytes(content)
    file = TaxonomyFile.open(path)
    assert format == file.format.name
    assert len(file.taxonomy) == len(FOOD)
    id = f"{file.taxonomy.ids[0]}-new"
    file.write(under(file.taxonomy.ids[0], concept=Concept(id, "kiwi")), output)
    assert "kiwi" in read_taxonomy(output).labels
    written = gzip.decompress(output.read_bytes())
    old = gzip.decompress(path.read_bytes())
    assert all(line in written for line in old.splitlines())


def test_the_name_of_the_output_says_whether_it_is_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "x.csv", tmp_path / "x.csv.gz"
    plain.write_bytes(b"child,parent\na,b\n")
    write_expanded(plain, under("b"), packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes() + b"kiwi,b\n"
    write_expanded(packed, under("a", concept=Concept("fig", "fig")), tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_bytes() == plain.read_bytes() + b"kiwi,b\nfig,a\n"


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"child,parent\na,b\n")
    for name in ("one.ttl.gz", "two.ttl.gz"):
        convert(tmp_path / "x.csv", Target(tmp_path / name))
    assert (tmp_path / "one.ttl.gz").read_bytes() == (tmp_path / "two.ttl.gz").read_bytes()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    content = gzip.compress(b"child,parent\na,b\n" * 9)
    for damaged in (content[:-9], content[:15] + b"\xff\xff" + content[17:], content[:5]):
        path.write_bytes(damaged)
        assert "the compressed file is damaged" in refusal(path)


def test_the_suffix_of_another_format_is_refused_in_compressed_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"child,parent\na,b\n")
    with pytest.raises(FormatError, match=r"a \.ttl file would be read in another format"):
        write_expanded(tmp_path / "x.csv", under("b"), tmp_path / "y.ttl.gz")


@pytest.mark.parametrize(
    ("name", "suffix"), [("x.csv.gz", ".csv"), ("x.CSV.GZ", ".csv"), ("x.gz", ""), ("x.nt", ".nt")]
)
def test_the_suffix_that_says_the_format(name: str, suffix: str) -> None:
    assert format_suffix(Path(name)) == suffix


def test_a_file_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a" * (65 << 20), mtime=0))
    with pytest.raises(FormatError, match=r"x\.csv\.gz: the file has more than 67,108,864 bytes"):
        read_taxonomy(path)


def _tar(path: Path, mode: str) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # mode is a literal
        archive.add(path.with_name("x.csv"), "x.csv")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("x.tar.gz", "tar"), ("x.tgz", "tar"), ("x.tar", "tar"), ("x.zip", "zip")),
        *(("x.csv.xz", "xz"), ("x.csv.bz2", "bzip2"), ("x.7z", "7z")),
    ],
)
def test_an_archive_is_refused_with_the_advice_to_unpack_it(
    tmp_path: Path, name: str, kind: str
) -> None:
    path, text = tmp_path / name, b"child,parent\na,b\n"
    (tmp_path / "x.csv").write_bytes(text)
    if kind == "tar":
        _tar(path, "w" if path.suffix == ".tar" else "w:gz")
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "x.csv", "x.csv")
    else:
        content = {"xz": lzma.compress(text), "bzip2": bz2.compress(text)}
        path.write_bytes(content.get(kind, b"7z\xbc\xaf\x27\x1c\0\4"))
    message = refusal(path)
    assert message.startswith(f"{path}: the file is ")
    assert kind in message
    assert "unpack it" in message
