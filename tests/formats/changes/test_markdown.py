from __future__ import annotations

from taxoexpan.formats.changes.markdown import MAX_LISTED, changes_markdown
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference

OLD = Taxonomy(
    [
        Concept("1", "food"),
        Concept("2", "drink"),
        Concept("3", "oat milk"),
        Concept("4", "tea"),
        Concept("5", "mud"),
    ],
    [("1", "2"), ("2", "3"), ("2", "4"), ("2", "5")],
)
NEW = Taxonomy(
    [
        Concept("1", "food"),
        Concept("2", "drinks"),
        Concept("3", "oat milk", ("oat drink",)),
        Concept("4", "tea", deprecated=True),
        Concept("6", "milk", ("moo",), "white"),
    ],
    [("1", "2"), ("6", "3"), ("2", "6"), ("2", "4"), ("1", "4")],
)


def test_changes_have_labels_ids_and_paths() -> None:
    text = changes_markdown(Difference(OLD, NEW), [("1", "11")], title="Changes in food.ttl")
    assert text == (
        "<!-- taxoexpan: Changes in food.ttl -->\n"
        "## Changes in food.ttl\n"
        "\n"
        "1 added, 2 moved, 1 renamed, 2 described, 1 id changed and 1 removed.\n"
        "\n"
        "### Added (1)\n"
        "\n"
        "- **milk** (`6`) under food › drinks; synonym moo; definition: white\n"
        "\n"
        "### Moved (2)\n"
        "\n"
        "- **oat milk** (`3`): from food › drink to food › drinks › milk\n"
        "- **tea** (`4`): now also under food\n"
        "\n"
        "### Renamed (1)\n"
        "\n"
        "- drink → **drinks** (`2`)\n"
        "\n"
        "### Described (2)\n"
        "\n"
        "- **oat milk** (`3`): 1 new synonym oat drink\n"
        "- **tea** (`4`): deprecated\n"
        "\n"
        "### Id changed (1)\n"
        "\n"
        "- **food**: `1` → `11`\n"
        "\n"
        "### Removed (1)\n"
        "\n"
        "- **mud** (`5`), which was under food › drink\n"
    )


def test_no_change_is_said() -> None:
    assert changes_markdown(Difference(OLD, OLD)) == (
        "<!-- taxoexpan: Changes -->\n## Changes\n\nNo changes.\n"
    )


def test_very_long_lists_are_cut() -> None:
    many = Taxonomy([Concept(str(n), f"c{n}") for n in range(MAX_LISTED + 7)])
    lines = changes_markdown(Difference(Taxonomy([]), many)).splitlines()
    assert lines[-1] == "- … and 7 more, which are not listed here"
    assert len(lines) == MAX_LISTED + 8


def test_a_lost_parent_is_named() -> None:
    concepts = [Concept("1", "food"), Concept("2", "drink"), Concept("3", "tea")]
    both, one, none = [("1", "3"), ("2", "3")], [("2", "3")], list[tuple[str, str]]()
    for before, after, steps in (
        (both, one, "no longer under food"),
        (one, none, "no longer under drink, now at the top"),
        (one, both, "now also under food"),
        (none, one, "now under drink"),
    ):
        difference = Difference(Taxonomy(concepts, before), Taxonomy(concepts, after))
        text = changes_markdown(difference)
        assert f"**tea** (`3`): {steps}\n" in text
