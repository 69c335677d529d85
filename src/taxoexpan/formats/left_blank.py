"""What a written file has for its old concepts and not for the new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from taxoexpan.formats import category_paths
from taxoexpan.formats.json import json_format
from taxoexpan.formats.obo import obo_format, stanzas
from taxoexpan.formats.obographs import obographs_format
from taxoexpan.formats.openfoodfacts import blocks, openfoodfacts_format
from taxoexpan.formats.property_index import BlankProperty, PropertyIndex, blank_properties
from taxoexpan.formats.rdf import owl, skos
from taxoexpan.formats.tables import concept_rows, edge_list
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Taxonomy

if TYPE_CHECKING:
    from taxoexpan.formats.registry import Format

Indexer = Callable[[TextFile, Taxonomy], PropertyIndex]

INDEXERS: Mapping[str, Indexer] = {
    json_format.NAME: json_format.index_properties,
    obo_format.NAME: stanzas.index_properties,
    obographs_format.NAME: obographs_format.index_properties,
    skos.NAME: skos.index_properties,
    owl.NAME: owl.index_properties,
    openfoodfacts_format.NAME: blocks.index_properties,
    concept_rows.NAME: concept_rows.index_properties,
    edge_list.NAME: edge_list.index_properties,
    category_paths.NAME: category_paths.index_properties,
}
"""The formats in which concepts can have any properties."""


def find_left_blank(
    format: Format, before: tuple[TextFile, Taxonomy], after: tuple[TextFile, Taxonomy]
) -> list[BlankProperty]:
    """Return the properties that old concepts have and new ones lack, if the format has any."""
    indexer = INDEXERS.get(format.NAME)
    if indexer is None:
        return []
    return blank_properties(indexer(*before), indexer(*after))
