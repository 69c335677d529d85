from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path

import pytest

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

WHOLE = Path(os.environ.get("TAXOEXPAN_WORDNET", "/usr/share/wordnet"))
LICENCE = "  1 This database is yours to use.  \n  2 Enjoy.  \n"

# A name, and the line behind its offset; {name} stands for the offset of that line.
NOUNS = {
    "entity": '03 n 01 entity 0 001 ~ {animal} n 0000 | that which is; "a | b"  ',
    "animal": "05 n 03 animal 0 Animate_being 0 beast 1 002 @ {entity} n 0000 ~ {dog} n 0000 "
    "| alive  ",
    "dog": "05 n 01 dog 0 003 @ {animal} n 0000 @ {pet} n 0000 + {chase} v 0101 | it barks; "
    '"the dog barked"; "down, dog"  ',
    "pet": "05 n 01 Pet 0 001 @ {animal} n 0000 | kept at home; fed  ",
    "frump": "18 n 02 frump 0 dog 0 001 @ {entity} n 0000 |   ",
    "rex": "05 n 01 Rex 0 001 @i {dog} n 0000 | a dog  ",
}
NOUN_INDEX = [
    "animal n 1 2 @ ~ 1 0 {animal}  ",
    "animate_being n 1 2 @ ~ 1 0 {animal}  ",
    "beast n 1 2 @ ~ 1 0 {animal}  ",
    "dog n 2 3 @ ~ + 2 1 {frump} {dog}  ",
    "entity n 1 1 ~ 1 0 {entity}  ",
    "frump n 1 1 @ 1 0 {frump}  ",
    "pet n 1 1 @ 1 0 {pet}  ",
    "rex n 1 1 @i 1 0 {rex}  ",
]
VERBS = {
    "go": "38 v 01 go 0 001 ~ {chase} v 0000 02 + 02 00 + 08 00 | move  ",
    "chase": "38 v 02 chase 0 dog 0 002 @ {go} v 0000 @ {dog} n 0000 01 + 08 00 | go after  ",
}
VERB_INDEX = [
    "chase v 1 1 @ 1 0 {chase}  ",
    "dog v 1 1 @ 1 0 {chase}  ",
    "go v 1 1 ~ 1 0 {go}  ",
]


def line_offsets(lines: dict[str, str], newline: str = "\n") -> dict[str, str]:
    """Return the offset of each line in a file that consists of these lines."""
    blank = dict.fromkeys([*NOUNS, *VERBS, *lines], "0" * 8)
    sizes = [len(f"{'0' * 8} {line}".format(**blank)) + len(newline) for line in lines.values()]
    start = len(LICENCE.replace("\n", newline))
    places = accumulate(sizes, initial=start)
    return {name: f"{place:08d}" for name, place in zip(lines, places, strict=False)}


def put(folder: Path, part: str, lines: dict[str, str], index: list[str], newline: str) -> None:
    offsets = {
        **line_offsets(NOUNS, newline),
        **line_offsets(VERBS, newline),
        **line_offsets(lines, newline),
    }
    data = "".join(f"{offsets[name]} {line}\n".format(**offsets) for name, line in lines.items())
    entries = "".join(f"{line}\n".format(**offsets) for line in index)
    for kind, text in (("data", data), ("index", entries)):
        text = (LICENCE + text).replace("\n", newline)
        (folder / f"{kind}.{part}").write_bytes(text.encode())


def small(folder: Path, newline: str = "\n") -> Path:
    """Write a WordNet of six nouns and two verbs."""
    folder.mkdir(exist_ok=True)
    put(folder, "noun", NOUNS, NOUN_INDEX, newline)
    put(folder, "verb", VERBS, VERB_INDEX, newline)
    return folder


def read(folder: Path, instances: bool = False) -> Taxonomy:
    return FORMATS["wordnet"].read(TextFile(folder, "", ReadOptions(instances=instances))).taxonomy


def refusal(folder: Path) -> str:
    with pytest.raises(FormatError) as caught:
        read(folder)
    return str(caught.value)


def replace(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path.parent


def test_synsets_are_read_as_concepts(tmp_path: Path) -> None:
    assert read(small(tmp_path)) == Taxonomy(
        [
            Concept("entity#n#1", "entity", (), "that which is"),
            Concept("animal#n#1", "animal", ("Animate being", "beast"), "alive"),
            Concept("dog#n#2", "dog", (), "it barks"),
            Concept("pet#n#1", "Pet", (), "kept at home; fed"),
            Concept("frump#n#1", "frump", ("dog",)),
            Concept("rex#n#1", "Rex", (), "a dog"),
            Concept("go#v#1", "go", (), "move"),
            Concept("chase#v#1", "chase", ("dog",), "go after"),
        ],
        [
            ("entity#n#1", "animal#n#1"),
            ("animal#n#1", "dog#n#2"),
            ("pet#n#1", "dog#n#2"),
            ("animal#n#1", "pet#n#1"),
            ("entity#n#1", "frump#n#1"),
            ("go#v#1", "chase#v#1"),
        ],
    )


def test_instances_are_children_of_their_class_on_request(tmp_path: Path) -> None:
    small(tmp_path)
    without, with_them = set(read(tmp_path).relations), set(read(tmp_path, True).relations)
    assert with_them - without == {("dog#n#2", "rex#n#1")}


@pytest.mark.parametrize(("part", "gone"), [("noun", "#v#"), ("verb", "#n#")])
def test_one_part_of_speech_is_enough(tmp_path: Path, part: str, gone: str) -> None:
    whole = read(small(tmp_path))
    for path in [path for path in tmp_path.iterdir() if path.suffix != f".{part}"]:
        path.unlink()
    assert read(tmp_path) == whole.without([id for id in whole if gone in id])


def test_one_of_two_data_files_may_be_empty(tmp_path: Path) -> None:
    small(tmp_path, "\r\n")
    assert len(read(tmp_path)) == 8
    (tmp_path / "data.verb").write_text(LICENCE)
    assert len(read(tmp_path)) == 6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n 01 dog 0", "n dog 0"),
        ("n 01 dog 0", "n 02 dog 0"),
        ("n 01 dog 0", "n 00"),
        ("n 01 dog 0", "v 01 dog 0"),
        ("n 01 dog 0", "n 01 _ 0"),
        ("n 01 dog 0", "n 01  0"),
        ("dog 0 003", "dog 0 004"),
        ("dog 0 003", "dog 0 -03"),
        ("dog 0 003", "dog 0 @"),
        (" 05 n 01 dog 0 003", ""),
    ],
)
def test_an_invalid_synset_is_refused(tmp_path: Path, old: str, new: str) -> None:
    data = small(tmp_path) / "data.noun"
    replace(data, old, new)
    assert refusal(tmp_path).startswith(f"{data}, line 5: not a synset line")


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "words"),
    [
        ("data.noun", "{frump} 18", "{pet} 18", "data.noun, line 7", "{pet} occurs twice"),
        ("data.noun", "3 @ {animal}", "3 @ 00000000", "data.noun, line 5", "no concept has the id"),
        ("data.noun", "3 @ {animal}", "3 @ {dog}", "data.noun, line 5", "'dog#n#2' is its own"),
        ("index.noun", "{frump} {dog}", "{frump}", "data.noun, line 5", "no sense of 'dog' at"),
        ("index.noun", "pet n", "cat n", "data.noun, line 6", "no sense of 'pet' at {pet}"),
        ("index.noun", "pet n 1 1", "pet n one", "index.noun, line 9", "not an index line"),
        ("data.verb", "0 001 ~", "0 001 @", "data.verb, line 3", "a cycle: "),
        ("data.verb", "0 001 ~", "0 001 @", "data.verb, line 3", "lines 3, 4)"),
    ],
)
def test_an_invalid_file_is_refused(
    tmp_path: Path, file: str, old: str, new: str, place: str, words: str
) -> None:
    offsets = line_offsets(NOUNS)
    replace(small(tmp_path) / file, old.format(**offsets), new.format(**offsets))
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path}/{place}: ")
    assert words.format(**offsets) in message


def test_missing_synsets_and_a_missing_index_are_named(tmp_path: Path) -> None:
    (small(tmp_path) / "index.verb").unlink()
    assert "index.verb has no sense of" in refusal(tmp_path)
    for part in ("noun", "verb"):
        (tmp_path / f"data.{part}").write_text(LICENCE)
    assert "no concept" in refusal(tmp_path)


def test_a_single_file_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path) / "data.noun"
    assert refusal(path).startswith(f"{path}: WordNet is a directory")


def test_a_directory_is_recognized_by_its_data_files(tmp_path: Path) -> None:
    assert not FORMATS["wordnet"].can_read(TextFile(tmp_path, ""))
    assert not FORMATS["wordnet"].can_read(TextFile(tmp_path / "gone", ""))
    assert FORMATS["wordnet"].can_read(TextFile(small(tmp_path), ""))
    assert not FORMATS["wordnet"].can_read(TextFile.load(tmp_path / "data.noun"))
    (tmp_path / "data.noun").unlink()
    assert FORMATS["wordnet"].can_read(TextFile(tmp_path, ""))


def test_the_database_files_are_not_changed(tmp_path: Path) -> None:
    file = TaxonomyFile.open(small(tmp_path))
    additions = Additions([Concept("cat", "cat")], [("animal#n#1", "cat")])
    with pytest.raises(FormatError, match="taxoexpan convert") as caught:
        file.can_hold(additions.concepts, 1, tmp_path / "new")
    assert caught.value.path == tmp_path
    with pytest.raises(FormatError, match="taxoexpan convert"):
        file.write(additions, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_wordnet_is_converted_to_other_formats_but_not_written(tmp_path: Path) -> None:
    done = convert(small(tmp_path / "wn"), Target(tmp_path / "wn.json"))
    assert set(done.copy) == set(read(tmp_path / "wn"))
    with pytest.raises(ConfigurationError, match="wordnet is only read"):
        convert(tmp_path / "wn.json", Target(tmp_path / "copy"), to="wordnet")
    with pytest.raises(ConfigurationError) as caught:
        convert(tmp_path / "wn.json", Target(tmp_path / "copy"))
    assert "wordnet" not in str(caught.value)


@pytest.mark.skipif(not (WHOLE / "data.noun").exists(), reason="install Debian's wordnet-base")
@pytest.mark.slow
@pytest.mark.parametrize(("instances", "relations"), [(False, 89_089), (True, 97_666)])
def test_the_whole_of_wordnet_is_read(instances: bool, relations: int) -> None:
    taxonomy = read(WHOLE, instances)
    assert (len(taxonomy), len(taxonomy.relations)) == (95_882, relations)
    assert taxonomy.path("dog#n#1")[-3:] == ("carnivore", "canine", "dog")
    assert taxonomy.concept("dog#n#1").synonyms == ("domestic dog", "Canis familiaris")
    assert ("composer#n#1" in taxonomy.parents("mozart#n#1")) is instances
