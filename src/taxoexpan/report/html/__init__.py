"""Generic HTML reports: key figures, texts, sortable tables, small trees and charts.

`render` turns a `Page` into one HTML file that loads nothing from elsewhere, works without a
script, and escapes every text.
"""

from taxoexpan.report.html.charts import (
    Chart,
    coverage_chart,
    histogram,
    reliability_chart,
    training_chart,
)
from taxoexpan.report.html.page import (
    ChartSection,
    KeyFigure,
    KeyFigures,
    Page,
    Section,
    TextSection,
    creation_note,
    render,
)
from taxoexpan.report.html.sortable_table import Cell, Column, Details, Row, Table
from taxoexpan.report.html.tree import Neighbor, Tree, TreePosition

__all__ = [
    "Cell",
    "Chart",
    "ChartSection",
    "Column",
    "Details",
    "KeyFigure",
    "KeyFigures",
    "Neighbor",
    "Page",
    "Row",
    "Section",
    "Table",
    "TextSection",
    "Tree",
    "TreePosition",
    "coverage_chart",
    "creation_note",
    "histogram",
    "reliability_chart",
    "render",
    "training_chart",
]
