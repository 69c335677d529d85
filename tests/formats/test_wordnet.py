from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from strategies import Growth, growths, names, quickly

from taxoexpan.errors import FormatError
from taxoexpan.formats import wordnet
from taxoexpan.formats.format import Copy, Target
from taxoexpan.formats.registry import FORMATS
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


def extended_directory(folder: Path, additions: Additions) -> Path:
    """Return the extended directory, after checking that it has every old line, in order."""
    source = TextFile(folder, "")
    expanded = FORMATS["wordnet"].read(source).taxonomy.expanded(additions)
    insertions = FORMATS["wordnet"].extend(source, expanded, additions)
    output = folder.with_name(folder.name + "-expanded")
    shutil.copytree(folder, output, dirs_exist_ok=True)
    for path, pieces in insertions.items():
        assert path.parent == folder
        content = TextFile.load(path).apply(pieces)
        (output / path.name).write_bytes(content)
        old, new = path.read_bytes().splitlines(), iter(content.splitlines())
        assert all(line in new for line in old)
    for path in output.glob("data.*"):
        assert_offsets_are_bytes(path.read_bytes())
    for path in output.glob("index.*"):
        lemmas = [line.split()[0] for line in path.read_bytes().splitlines() if line[:1] != b" "]
        assert lemmas == sorted(lemmas)
    return output


def assert_offsets_are_bytes(content: bytes) -> None:
    start = 0
    for line in content.splitlines(keepends=True):
        assert line.startswith(b"  ") or int(line.split()[0]) == start
        start += len(line)


def expansion_refusal(folder: Path, additions: Additions) -> str:
    with pytest.raises(FormatError) as caught:
        extended_directory(folder, additions)
    return str(caught.value)


def under(*parents: str, concept: Concept) -> Additions:
    return Additions([concept], [(parent, concept.id) for parent in parents])


def copied(taxonomy: Taxonomy, folder: Path) -> tuple[Taxonomy, Copy]:
    """Write a taxonomy to a directory; return it as read back, and the copy."""
    copy = FORMATS["wordnet"].write(taxonomy, Target(folder))
    for path, text in copy.files.items():
        path.write_bytes(text.encode())
    return read(folder), copy


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


def test_new_synsets_are_appended_and_their_words_are_indexed(tmp_path: Path) -> None:
    folder = small(tmp_path / "w")
    additions = Additions(
        [
            Concept("city_fox#n#1", "city fox", ("Urban fox",), "a fox é in town"),
            Concept("zebra#n#1", "zebra"),
            Concept("fox#n#1", "fox"),
        ],
        [("fox#n#1", "city_fox#n#1"), ("animal#n#1", "fox#n#1"), ("pet#n#1", "fox#n#1")],
    )
    new = extended_directory(folder, additions)
    at = line_offsets(NOUNS)
    start = (folder / "data.noun").stat().st_size
    zebra, fox = start, start + len("00000000 03 n 01 zebra 0 000 |   \n")
    line = "00000000 05 n 01 fox 0 003 @ 00000000 n 0000 @ 00000000 n 0000 ~ 00000000 n 0000 |   \n"
    city = fox + len(line)
    assert (new / "data.noun").read_bytes()[start:].decode() == (
        f"{zebra:08d} 03 n 01 zebra 0 000 |   \n"
        f"{fox:08d} 05 n 01 fox 0 003 @ {at['animal']} n 0000 @ {at['pet']} n 0000 "
        f"~ {city:08d} n 0000 |   \n"
        f"{city:08d} 05 n 02 city_fox 0 Urban_fox 0 001 @ {fox:08d} n 0000 | a fox é in town  \n"
    )
    added = set((new / "index.noun").read_text().splitlines())
    assert added - set((folder / "index.noun").read_text().splitlines()) == {
        f"city_fox n 1 1 @ 1 0 {city:08d}  ",
        f"fox n 1 2 @ ~ 1 0 {fox:08d}  ",
        f"urban_fox n 1 1 @ 1 0 {city:08d}  ",
        f"zebra n 1 0 1 0 {zebra:08d}  ",
    }
    assert (new / "data.verb").read_bytes() == (folder / "data.verb").read_bytes()
    assert read(new) == read(folder).expanded(additions)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_the_child_of_a_verb_is_a_verb(tmp_path: Path, newline: str, closed: bool) -> None:
    folder = small(tmp_path / "w", newline)
    if not closed:
        for path in folder.iterdir():
            path.write_bytes(path.read_bytes().removesuffix(newline.encode()))
    additions = under("chase#v#1", concept=Concept("stalk#v#1", "stalk", (), "chase quietly"))
    new = extended_directory(folder, additions)
    assert read(new) == read(folder).expanded(additions)
    last = (new / "data.verb").read_bytes().splitlines()[-1].decode()
    assert re.fullmatch(r"\d{8} 38 v 01 stalk 0 001 @ \d{8} v 0000 00 \| chase quietly  ", last)


def test_two_new_concepts_may_share_a_new_word(tmp_path: Path) -> None:
    folder = small(tmp_path / "w")
    additions = Additions(
        [
            Concept("bat#n#2", "bat"),
            Concept("club#n#1", "club", ("bat",)),
            Concept("cat#n#1", "Cat"),
        ],
        [("animal#n#1", "bat#n#2")],
    )
    assert read(extended_directory(folder, additions)) == read(folder).expanded(additions)


@pytest.mark.parametrize(
    ("concept", "message"),
    [
        (Concept("frump#n#2", "Frump"), "/index.noun, line 8: 'frump' is already in the index"),
        (Concept("fox", "fox", ("dog",)), "/index.noun, line 6: 'dog' is already in the index"),
        (Concept("a_b#n#1", "a_b"), ": 'a_b' would not be read back"),
        (Concept("fox#n#1", "fox", ("|",)), ": '|' would not be read back"),
        (Concept("fox#n#1", "fox", ("a\nb",)), ": 'a\\nb' would not be read back"),
        (Concept("fox#n#1", "fox", ("",)), ": '' would not be read back"),
        (Concept("fox#n#1", "fox", tuple(f"s{k}" for k in range(255))), ": 'fox' has 255 synonyms"),
        (Concept("fox#n#1", "fox", (), 'red; "a fox"'), ": the definition of 'fox' would not be"),
    ],
)
def test_additions_that_would_not_read_back_are_refused(
    tmp_path: Path, concept: Concept, message: str
) -> None:
    found = expansion_refusal(small(tmp_path), under("animal#n#1", concept=concept))
    assert found.startswith(f"{tmp_path}{message}")


def test_a_noun_and_a_verb_have_no_child_in_common(tmp_path: Path) -> None:
    additions = under("animal#n#1", "go#v#1", concept=Concept("fox#n#1", "fox"))
    assert "'fox' was given both a noun and a verb" in expansion_refusal(small(tmp_path), additions)


@pytest.mark.parametrize(
    ("parent", "id", "label", "read_as"),
    [
        ("animal#n#1", "arctic-fox", "Arctic fox", "arctic_fox#n#1"),
        ("go#v#1", "stalk#n#1", "stalk", "stalk#v#1"),
        ("animal#n#1", "fox#n#2", "fox", "fox#n#1"),
    ],
)
def test_the_id_is_made_from_the_first_word(
    tmp_path: Path, parent: str, id: str, label: str, read_as: str
) -> None:
    old = read(small(tmp_path))
    new = read(extended_directory(tmp_path, under(parent, concept=Concept(id, label))))
    assert set(new) - set(old) == {read_as}
    assert new.parents(read_as) == (parent,)


@pytest.mark.parametrize("instances", [False, True])
def test_a_rewritten_wordnet_reads_back_unchanged(tmp_path: Path, instances: bool) -> None:
    original = read(small(tmp_path), instances)
    (tmp_path / "copy").mkdir()
    again, copy = copied(original, tmp_path / "copy")
    assert again == original
    assert dict(copy.ids) == {id: id for id in original}
    for path in copy.files:
        if path.name.startswith("data"):
            assert_offsets_are_bytes(path.read_bytes())


def test_a_new_file_has_pointers_both_ways_and_groups_senses(tmp_path: Path) -> None:
    original = Taxonomy(
        [Concept("1", "Fruit", (), "sweet"), Concept("2", "date"), Concept("3", "day", ("Date",))],
        [("1", "2")],
    )
    copy = FORMATS["wordnet"].write(original, Target(tmp_path))
    nouns = {path: text for path, text in copy.files.items() if path.suffix == ".noun"}
    assert nouns == {
        tmp_path / "data.noun": (
            "  1 Made by taxoexpan, in the format of wndb(5WN).  \n"
            "00000053 03 n 01 Fruit 0 001 ~ 00000110 n 0000 | sweet  \n"
            "00000110 03 n 01 date 0 001 @ 00000053 n 0000 |   \n"
            "00000161 03 n 02 day 0 Date 0 000 |   \n"
        ),
        tmp_path / "index.noun": (
            "  1 Made by taxoexpan, in the format of wndb(5WN).  \n"
            "date n 2 1 @ 2 0 00000110 00000161  \n"
            "day n 1 0 1 0 00000161  \n"
            "fruit n 1 1 ~ 1 0 00000053  \n"
        ),
    }
    assert copy.ids == {"1": "fruit#n#1", "2": "date#n#1", "3": "day#n#1"}


def test_a_sense_number_without_predecessors_becomes_smaller(tmp_path: Path) -> None:
    _, copy = copied(Taxonomy([Concept("dog#n#7", "dog"), Concept("cad#n#1", "cad")]), tmp_path)
    assert copy.ids == {"dog#n#7": "dog#n#1", "cad#n#1": "cad#n#1"}


def test_verbs_below_nouns_are_written_as_nouns(tmp_path: Path) -> None:
    original = Taxonomy(
        [Concept("act#n#1", "act"), Concept("go#v#1", "go")], [("act#n#1", "go#v#1")]
    )
    again, copy = copied(original, tmp_path)
    assert set(again.relations) == {("act#n#1", "go#n#1")}
    assert copy.ids == {"act#n#1": "act#n#1", "go#v#1": "go#n#1"}


def test_unsupported_content_is_left_out(tmp_path: Path) -> None:
    original = Taxonomy(
        [
            Concept("1", "a_b", (" ", "|", *(f"s{k}" for k in range(300))), ' x\ny; "z"'),
            Concept("2", "_", deprecated=True),
        ]
    )
    again, _ = copied(original, tmp_path)
    first, second = again.concepts
    assert first.label == "a b"
    assert first.synonyms == ("¦", *(f"s{k}" for k in range(253)))
    assert first.definition == "x y"
    assert second == Concept("concept#n#1", "concept")


def test_a_concept_may_have_more_children_than_pointers(tmp_path: Path) -> None:
    concepts = [Concept(f"c{k}#n#1", f"c{k}") for k in range(1200)]
    original = Taxonomy(concepts, [("c0#n#1", concept.id) for concept in concepts[1:]])
    assert copied(original, tmp_path)[0] == original


def test_a_file_too_large_for_its_offsets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "_MAX_OFFSET", 99)
    original = Taxonomy([Concept("1", "a", (), "x" * 100)])
    with pytest.raises(FormatError, match="too large for offsets"):
        FORMATS["wordnet"].write(original, Target(tmp_path))


def as_read_back(name: str) -> str:
    """Return a name as it is read back from WordNet."""
    return {"|": "¦"}.get(name, re.sub(r"[_\r\n]", " ", name))


@given(growths(labels=names(breaks=True), details=True).map(lambda growth: growth.old))
@quickly
def test_any_taxonomy_can_be_written(
    tmp_path_factory: pytest.TempPathFactory, original: Taxonomy
) -> None:
    again, copy = copied(original, tmp_path_factory.mktemp("wordnet"))
    expected = Taxonomy(
        [
            Concept(
                copy.id_of(concept.id),
                as_read_back(concept.label) if as_read_back(concept.label).strip() else "concept",
                concept.synonyms,
                concept.definition,
            )
            for concept in original.concepts
        ],
        [(copy.id_of(parent), copy.id_of(child)) for parent, child in original.relations],
    )
    assert again == expected
    twice, same = copied(again, tmp_path_factory.mktemp("again"))
    assert twice == again
    assert all(id == new for id, new in same.ids.items())


@given(growths(labels=names(without="_|"), details=True))
@quickly
def test_old_lines_are_kept_and_the_extended_files_read_back_in_full(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth
) -> None:
    folder = tmp_path_factory.mktemp("wordnet")
    _, copy = copied(growth.old, folder)
    taken = {word.lower() for c in growth.old.concepts for word in (c.label, *c.synonyms)}
    fresh = {}
    for concept in growth.additions.concepts:
        words = enumerate((concept.label, *concept.synonyms))
        label, *synonyms = [f"{name} {len(taken)}.{k}" for k, name in words]
        taken.update([label, *synonyms])
        id = label.lower().replace(" ", "_") + "#n#1"
        fresh[concept.id] = Concept(id, label, tuple(synonyms), concept.definition)
    ids = {**copy.ids, **{old: concept.id for old, concept in fresh.items()}}
    additions = Additions(
        list(fresh.values()), [(ids[p], ids[c]) for p, c in growth.additions.relations]
    )
    assert read(extended_directory(folder, additions)) == read(folder).expanded(additions)


def run_wn(folder: Path, word: str, search: str) -> str:
    """Return what `wn` finds; its status is the number of senses."""
    environment = {**os.environ, "WNSEARCHDIR": str(folder)}
    command = ["wn", word, search]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(shutil.which("wn") is None, reason="install Debian's wordnet")
@pytest.mark.parametrize(
    ("word", "search", "expected"),
    [
        ("arctic fox", "-hypen", ["arctic fox, Polar fox", "=> fox", "=> animal", "=> entity"]),
        ("polar fox", "-over", ["1. arctic fox, Polar fox -- (white in winter)"]),
        ("fox", "-hypon", ["fox", "=> arctic fox"]),
        ("zebra", "-over", ["The noun zebra has 1 sense"]),
        ("aardvark", "-hypen", ["=> animal"]),
        ("stalk", "-hypev", ["stalk", "=> chase", "=> go"]),
        ("dog", "-hypen", ["2 senses of dog", "Sense 2", "=> animal", "=> Pet"]),
    ],
)
def test_wn_finds_the_added_synsets(
    tmp_path: Path, word: str, search: str, expected: list[str]
) -> None:
    words = {"fox#n#1": "animal#n#1", "aardvark#n#1": "animal#n#1", "stalk#v#1": "chase#v#1"}
    arctic = Concept("arctic_fox#n#1", "arctic fox", ("Polar fox",), "white in winter")
    others = [Concept(id, id.partition("#")[0]) for id in (*words, "zebra#n#1")]
    relations = [("fox#n#1", arctic.id), *((parent, id) for id, parent in words.items())]
    new = extended_directory(small(tmp_path / "w"), Additions([arctic, *others], relations))
    for name in ("data.adj", "index.adj", "data.adv", "index.adv", "sents.vrb", "sentidx.vrb"):
        (new / name).touch()
    for name in ("noun", "verb", "adj", "adv"):
        (new / f"{name}.exc").touch()
    found = run_wn(new, word, search)
    places = [found.find(text) for text in expected]
    assert places == sorted(places)
    assert -1 not in places


@pytest.mark.skipif(shutil.which("wn") is None, reason="install Debian's wordnet")
def test_wn_opens_new_files(tmp_path: Path) -> None:
    copied(Taxonomy([Concept("1", "fruit"), Concept("2", "fig tree")], [("1", "2")]), tmp_path)
    assert "=> fruit" in run_wn(tmp_path, "fig tree", "-hypen")


@pytest.mark.skipif(not (WHOLE / "data.noun").exists(), reason="install Debian's wordnet-base")
@pytest.mark.slow
@pytest.mark.parametrize(("instances", "relations"), [(False, 89_089), (True, 97_666)])
def test_the_whole_of_wordnet_is_read(instances: bool, relations: int) -> None:
    taxonomy = read(WHOLE, instances)
    assert (len(taxonomy), len(taxonomy.relations)) == (95_882, relations)
    assert taxonomy.path("dog#n#1")[-3:] == ("carnivore", "canine", "dog")
    assert taxonomy.concept("dog#n#1").synonyms == ("domestic dog", "Canis familiaris")
    assert ("composer#n#1" in taxonomy.parents("mozart#n#1")) is instances
