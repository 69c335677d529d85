from __future__ import annotations

from collections import Counter

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.experiments.methods.method_registry import make_method
from taxoexpan.experiments.paper.experiment import (
    FIGURES,
    PICTURES,
    SEMEVAL,
    TABLES,
    Cell,
    all_cells,
    find_cells,
)


@pytest.mark.parametrize("cell", all_cells(), ids=lambda cell: cell.name)
def test_every_cell_makes_a_method(cell: Cell) -> None:
    if cell.method:
        make_method(cell.method, **cell.settings)
    else:
        assert cell.published
    assert 0 <= cell.noise < 1
    assert 0 < cell.share <= 1
    assert cell.title


def test_no_two_cells_are_alike_in_a_table() -> None:
    cells = all_cells()
    assert len({cell.name for cell in cells}) == len(cells)
    assert len({(cell.group, cell.title) for cell in cells}) == len(cells)
    assert max(Counter((cell.group, cell.order) for cell in cells).values()) == 1


def test_tables_have_their_published_figures() -> None:
    """Table 2 but for what the paper has not, and Table 3."""
    own = {"main/popularity", "main/taxoexpan-best", "main/taxoexpan-best-leaves"}
    published = [cell for cell in find_cells(["main", "ablation"]) if cell.name not in own]
    assert len(published) == 6 + 12
    for cell in published:
        assert set(FIGURES) <= set(cell.published), cell.name
        assert 0 < cell.published["hit_at_1"] < cell.published["hit_at_3"] < 1
        assert 0 < cell.published["mrr"] < 1 < cell.published["mr"]
    assert not any(cell.published for cell in find_cells(sorted(own)))


def test_every_cell_is_in_a_table_and_every_picture_has_cells() -> None:
    assert {cell.group for cell in all_cells()} == {*TABLES, SEMEVAL}
    assert all(find_cells([pattern]) for pattern in PICTURES.values())


def test_the_ablation_has_the_papers_twelve_rows_in_order() -> None:
    rows = find_cells(["ablation"])
    assert [cell.order for cell in rows] == list(range(1, 13))
    parts = {
        (cell.settings["propagation"], cell.settings["readout"], cell.settings["matching"][:3])
        for cell in rows
    }
    assert len(parts) == 12
    assert rows[10].published.items() <= find_cells(["main/taxoexpan"])[0].published.items()


def test_cells_are_found_by_name_group_and_pattern() -> None:
    assert [cell.name for cell in find_cells(["main/taxoexpan"])] == ["main/taxoexpan"]
    assert all(cell.group == "loss" for cell in find_cells(["loss"]))
    assert len(find_cells(["ablation/*-mlp"])) == 8
    both = find_cells(["main/taxoexpan", "main"])
    assert len(both) == len(find_cells(["main"]))
    assert both[0].name == "main/taxoexpan"


def test_an_unknown_cell_is_refused_with_the_groups_that_there_are() -> None:
    with pytest.raises(
        ConfigurationError, match=r"'tabel'; there are ablation, loss, main, .*list"
    ):
        find_cells(["main", "tabel"])
