from __future__ import annotations

from demoreport import HOSTILE
from page_reader import CREATED, figures_of, table_of

from taxoexpan import Taxonomy
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.report import joint_page
from taxoexpan.report.html import render
from taxoexpan.taxonomy import Additions, Concept


def test_the_page_shows_the_expanded_taxonomy() -> None:
    concepts = [Concept(id, id) for id in ("food", "tea", "green tea", "black tea")]
    relations = [("food", "tea"), ("tea", "green tea"), ("tea", "black tea")]
    taxonomy = Taxonomy(concepts, relations)
    hostile = HOSTILE[0]
    milk, oat, white = Concept("m", hostile), Concept("o", "oat milk"), Concept("w", "white tea")
    suggestions = [
        Suggestion(oat, 1, milk, ("food", hostile), 0.7),
        Suggestion(milk, 1, taxonomy.concept("food"), ("food",), 0.4),
        Suggestion(white, 1, taxonomy.concept("tea"), ("food", "tea"), 0.9),
    ]
    present = [(Concept("", "Tea"), concepts[1])]
    page = joint_page(taxonomy, suggestions, "Milk", CREATED, present)
    figures = figures_of(page)
    assert figures["New concepts"] == (3, "1 more already in the taxonomy")
    assert figures["Under another new concept"] == (1, "33\N{NO-BREAK SPACE}%")
    table = table_of(page)
    assert [row.cells[1] for row in table.rows] == ["new", "existing", "existing"]
    trees = [row.details.tree for row in table.rows if row.details is not None]
    children = trees[1].suggested.children  # type: ignore[union-attr]
    siblings = trees[2].suggested.siblings  # type: ignore[union-attr]
    assert [(each.label, each.note) for each in children] == [("oat milk", "new")]
    assert [(each.label, each.note) for each in siblings] == [("green tea", ""), ("black tea", "")]
    assert hostile not in render(page)
    added = Additions((milk, white), (("food", "m"), ("tea", "w")))
    applied = joint_page(taxonomy, suggestions, "Milk", CREATED, added=added)
    assert figures_of(applied)["New concepts"] == (3, "2 added")
    assert figures_of(applied)["Under another new concept"] == (0, "0\N{NO-BREAK SPACE}%")
    rows = table_of(applied).rows
    assert [row.cells[-1] for row in rows] == ["not added", "added", "added"]
    drawn = [row.details.tree for row in rows if row.details is not None]
    assert drawn[0] is None
    assert not drawn[1].suggested.children  # type: ignore[union-attr]


def test_a_page_without_new_concepts() -> None:
    taxonomy = Taxonomy([Concept("food", "food")], [])
    page = joint_page(taxonomy, [], "Nothing", CREATED)
    assert figures_of(page)["New concepts"] == (0, "")
