"""A report in one HTML file: figures, texts, tables that open, small trees and charts."""

from taxoexpan.report.html.charts import (
    Bin,
    Chart,
    Threshold,
    coverage,
    histogram,
    reliability,
    training,
)
from taxoexpan.report.html.page import Figure, Figures, Page, Picture, Section, Text, colophon, html
from taxoexpan.report.html.sortable_table import Cell, Column, Details, Row, Table
from taxoexpan.report.html.tree import Neighbour, Place, Tree

__all__ = [
    "Bin",
    "Cell",
    "Chart",
    "Column",
    "Details",
    "Figure",
    "Figures",
    "Neighbour",
    "Page",
    "Picture",
    "Place",
    "Row",
    "Section",
    "Table",
    "Text",
    "Threshold",
    "Tree",
    "colophon",
    "coverage",
    "histogram",
    "html",
    "reliability",
    "training",
]
