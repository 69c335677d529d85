from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taxoexpan import Concept, TaxoExpan, Taxonomy, read_taxonomy, write_taxonomy
from taxoexpan.errors import ChangedFileError, ConfigurationError, FormatError
from taxoexpan.taxonomy import Additions, Move
from tests.support.expanded_files import write_file

OBO = """format-version: 1.2

[Term]
id: X:1
name: tool ! kept

[Term]
id: X:2
name: saw
is_a: X:1
"""
NEW = """
[Term]
id: X:3
name: fretsaw
is_a: X:2 ! saw
"""
FRETSAW = Additions([Concept("X:3", "fretsaw")], [("X:2", "X:3")])


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A file with two tools."""
    return write_file(tmp_path / "tools.obo", OBO)


def test_every_byte_of_the_file_is_kept(tools: Path, tmp_path: Path) -> None:
    write_taxonomy(read_taxonomy(tools).expanded(FRETSAW), tmp_path / "new.obo")
    assert (tmp_path / "new.obo").read_text() == OBO + NEW


def test_moves_and_synonyms_are_written_too(tmp_path: Path) -> None:
    old = write_file(tmp_path / "old.csv", "child,parent\nsaw,tool\nfretsaw,tool\n")
    taxonomy = read_taxonomy(old)
    additions = Additions(
        [Concept("hand tool", "hand tool")],
        [("tool", "hand tool")],
        moves=[Move("saw", "tool", "hand tool")],
    )
    write_taxonomy(taxonomy.expanded(additions), tmp_path / "new.csv")
    expected = "child,parent\nsaw,hand tool\nfretsaw,tool\nhand tool,tool\n"
    assert (tmp_path / "new.csv").read_text() == expected


def test_the_order_of_a_model_does_not_matter(tools: Path, tmp_path: Path) -> None:
    write_taxonomy(read_taxonomy(tools).canonical.expanded(FRETSAW), tmp_path / "new.obo")
    assert (tmp_path / "new.obo").read_text().startswith(OBO)


def test_the_file_may_be_replaced_if_it_is_the_same(tools: Path) -> None:
    expanded = read_taxonomy(tools).expanded(FRETSAW)
    with pytest.raises(FormatError, match="exists"):
        write_taxonomy(expanded, tools)
    write_taxonomy(expanded, tools, force=True)
    assert "fretsaw" in tools.read_text()
    with pytest.raises(ChangedFileError) as caught:
        write_taxonomy(expanded, tools, force=True)
    assert caught.value.path == tools
    assert "source" in caught.value.fix
    assert "model.update" in caught.value.fix


def test_a_source_is_named_where_it_is_not_known(tools: Path, tmp_path: Path) -> None:
    known = read_taxonomy(tools)
    expanded = Taxonomy(
        [*known.concepts, *FRETSAW.concepts], [*known.relations, *FRETSAW.relations]
    )
    for number, source in enumerate((tools, str(tools), known)):
        output = tmp_path / f"{number}.obo"
        write_taxonomy(expanded, output, source=source)
        assert output.read_text().startswith(OBO)
    with pytest.raises(ConfigurationError, match="not read from a file"):
        write_taxonomy(expanded, tmp_path / "x.obo", source=expanded)


def test_the_options_of_reading_are_used_again(tmp_path: Path) -> None:
    text = "Key,Name,Above\n1,tool,\n2,saw,1\n"
    path = write_file(tmp_path / "tools.csv", text)
    taxonomy = read_taxonomy(path, columns={"id": "Key", "label": "Name", "parent": 3})
    additions = Additions([Concept("3", "fretsaw")], [("2", "3")])
    write_taxonomy(taxonomy.expanded(additions), tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text() == text + "3,fretsaw,2\n"


@pytest.mark.parametrize(
    "changed",
    [
        Taxonomy([Concept("X:1", "tool ! kept")]),
        Taxonomy([Concept("X:1", "tools"), Concept("X:2", "saw")], [("X:1", "X:2")]),
        Taxonomy([Concept("X:1", "tool ! kept"), Concept("X:2", "saw")]),
    ],
    ids=["removed", "relabeled", "unrelated"],
)
def test_other_changes_are_refused(changed: Taxonomy, tools: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="without rewriting") as caught:
        write_taxonomy(changed, tmp_path / "new.obo", source=tools)
    assert caught.value.path == tools
    assert not (tmp_path / "new.obo").exists()


def test_definitions_of_old_concepts_are_left_out_with_a_warning(
    tools: Path, tmp_path: Path
) -> None:
    old = read_taxonomy(tools)
    defined = [Concept(c.id, c.label, c.synonyms, "for cutting") for c in old.concepts]
    with pytest.warns(UserWarning, match="2 definitions"):
        write_taxonomy(Taxonomy(defined, old.relations), tmp_path / "new.obo", source=tools)
    assert (tmp_path / "new.obo").read_text() == OBO


@pytest.mark.parametrize("suffix", ["csv", "ttl", "json", "xlsx", "obo", "md"])
@pytest.mark.filterwarnings("ignore:.*changed.* id")
def test_a_taxonomy_without_a_file_is_written_in_any_format(tmp_path: Path, suffix: str) -> None:
    tools = Taxonomy([Concept("tool", "tool"), Concept("saw", "saw")], [("tool", "saw")])
    path = tmp_path / f"new.{suffix}"
    write_taxonomy(tools, path)
    written = read_taxonomy(path)
    assert sorted(written.labels) == ["saw", "tool"]
    assert len(written.relations) == 1


def test_another_format_is_written_anew_with_a_warning_about_losses(tmp_path: Path) -> None:
    path = write_file(tmp_path / "tools.obo", OBO.replace("name: saw", "name: saw\nxref: Y:1"))
    with pytest.warns(UserWarning, match="xref"):
        write_taxonomy(read_taxonomy(path), tmp_path / "tools.csv")
    assert (tmp_path / "tools.csv").read_text().startswith("id,label")


def test_arguments_in_the_wrong_order_are_refused(tools: Path) -> None:
    with pytest.raises(ConfigurationError, match="first"):
        write_taxonomy(str(tools), read_taxonomy(tools))  # type: ignore[arg-type]


def test_nothing_is_written_in_an_unknown_format(tmp_path: Path) -> None:
    tools = Taxonomy([Concept("tool", "tool")])
    with pytest.raises(ConfigurationError, match="suffix"):
        write_taxonomy(tools, tmp_path / "tools.docx")
    assert list(tmp_path.iterdir()) == []


def test_a_taxonomy_of_a_loaded_model_asks_for_its_file(
    pantry: Path, model: TaxoExpan, model_directory: Path, tmp_path: Path
) -> None:
    loaded = TaxoExpan.load(model_directory, "cpu").taxonomy
    with pytest.warns(UserWarning, match="as source"):
        write_taxonomy(loaded, tmp_path / "new.csv")
    for known in (loaded, model.taxonomy):
        write_taxonomy(known, tmp_path / "new.csv", source=pantry, force=True)
        assert (tmp_path / "new.csv").read_bytes() == pantry.read_bytes()
    with pytest.raises(ConfigurationError, match="not read from a file"):
        write_taxonomy(loaded, tmp_path / "more.csv", source=loaded)


def test_a_source_in_another_format_is_refused(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="source") as caught:
        write_taxonomy(read_taxonomy(tools), tmp_path / "new.csv", source=tools)
    assert caught.value.option == "source"
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.parametrize("name", ["x.foo", "x.parquet", "x", "x.obo.zip"])
def test_an_unknown_suffix_needs_a_format(name: str, tools: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="suffix"):
        write_taxonomy(read_taxonomy(tools), tmp_path / name)
    write_taxonomy(read_taxonomy(tools), tmp_path / name, format="obo")
    assert (tmp_path / name).read_text() == OBO


def test_an_unknown_suffix_of_the_file_itself_is_kept(tmp_path: Path) -> None:
    path = write_file(tmp_path / "tools.onto", OBO)
    write_taxonomy(read_taxonomy(path).expanded(FRETSAW), tmp_path / "new.onto")
    assert (tmp_path / "new.onto").read_text() == OBO + NEW


def test_a_text_does_not_overwrite_a_file(tools: Path) -> None:
    with pytest.raises(ConfigurationError, match="force"):
        write_taxonomy(read_taxonomy(tools), tools, force="no")  # type: ignore[arg-type]
    assert tools.read_text() == OBO


@pytest.mark.parametrize("path", [None, b"tools.obo"])
def test_what_is_no_path_is_refused(path: Any, tools: Path) -> None:
    with pytest.raises(ConfigurationError, match="path"):
        read_taxonomy(path)
    with pytest.raises(ConfigurationError, match="path"):
        write_taxonomy(read_taxonomy(tools), path)


def test_nothing_is_fetched_from_a_url() -> None:
    with pytest.raises(FormatError, match="URL"):
        read_taxonomy("https://example.org/tools.ttl")


def test_columns_are_a_text_or_a_dictionary(tools: Path) -> None:
    with pytest.raises(ConfigurationError, match="dictionary"):
        read_taxonomy(tools, columns=["name"])  # type: ignore[arg-type]
