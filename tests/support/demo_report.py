"""A made-up report with sections of every kind."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime

from taxoexpan.placement.learned.confidence import Bin, CoveragePoint
from taxoexpan.report.charts import (
    coverage_chart,
    reliability_chart,
    training_chart,
)
from taxoexpan.report.page import (
    ChartSection,
    Column,
    Details,
    KeyFigure,
    KeyFigures,
    Neighbor,
    Page,
    Row,
    Table,
    TextSection,
    Tree,
    TreePosition,
)

HOSTILE = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    '"><svg onload="window.hit = 1">',
    "</script><script>window.hit = 1</script>",
    "</td></tr></table><b id=injected>bold</b>",
    "<!--<script>",
    "]]> &lt;b id=injected&gt; &amp;amp;",
    "abc\u202egnp.exe",
    "שוקו קר",
    "crème brûlée 🍮",
    "\ud800 \x00 \x1b[31m",
    "javascript:window.hit = 1",
    "' onmouseover='window.hit = 1",
)

FOODS = {
    ("food", "beverage", "tea"): ("green tea", "black tea", "oolong", "chai", "maté"),
    ("food", "foodstuff", "dairy product", "milk"): ("skim milk", "goat's milk", "buttermilk"),
    ("food", "foodstuff", "dairy product", "cheese"): ("feta", "brie", "gouda", "ricotta"),
    ("food", "produce", "edible fruit"): ("mango", "papaya", "kiwi", "passion fruit", "citrus"),
    ("food", "nutriment", "dish", "soup"): ("borscht", "minestrone", "chowder", "gazpacho"),
    ("food", "baked goods", "bread", "flatbread"): ("naan", "pita", "tortilla", "matzo"),
}
NEW = (
    "oat milk", "bubble tea", "dragon fruit", "halloumi", "ramen", "injera", "kefir", "matcha",
    "burrata", "jackfruit", "laksa", "lavash", "almond milk", "hojicha", "rambutan", "pho",
)  # fmt: skip

COLUMNS = (
    Column("Concept"),
    Column("Parent"),
    Column("Score", "fraction"),
    Column("Agreement", "fraction"),
    Column("Siblings", "number"),
    Column("Path", "path"),
)


def rows(number: int, seed: int = 0, details: bool = True) -> list[Row]:
    """Return suggestions for foods, each with its tree."""
    rng = random.Random(seed)
    paths = list(FOODS)
    made = []
    for index in range(number):
        suffix = f" {index // len(NEW) + 1}" if index >= len(NEW) else ""
        concept = NEW[index % len(NEW)] + suffix
        path, other = rng.sample(paths, 2)
        score = round(0.3 + 0.7 * rng.betavariate(3, 1.6), 4)
        siblings = [Neighbor(label, round(rng.uniform(0.3, 0.9), 2)) for label in FOODS[path]]
        siblings.sort(key=lambda neighbor: -(neighbor.cosine or 0))
        more = rng.randrange(0, 60)
        moving = (replace(siblings[-1], note="may move here"),) if index % 5 == 1 else ()
        kept = siblings[: len(siblings) - len(moving)]
        suggested = TreePosition(path, kept, more, moving, f"{score:.2f}")
        other_score = round((1 - score) / 3, 2)
        runner_up = TreePosition(other, number=f"{other_score:.2f}") if index % 3 else None
        opened = Details(
            [f"The list contains only the label of the new concept {concept}."],
            [
                ("runner-up", other[-1]),
                ("margin", f"{score - (1 - score) / 3:.2f}"),
                ("agreement", "3 of 3 models"),
            ],
            Tree(concept, suggested, runner_up),
        )
        agreement = None if index % 11 == 7 else rng.randrange(1, 4) / 3
        cells = (concept, path[-1], score, agreement, len(siblings) + more, path)
        made.append(Row(cells, opened if details else None))
    return made


def demo_page(number: int = 600) -> Page:
    """Return a page with key figures, a text, four charts and two tables."""
    bins = [Bin(9 + 4 * m * m, m / 10 + 0.05, (m / 10 + 0.05) ** 1.15) for m in range(10)]
    curve = [CoveragePoint(0, c / 100, 0.98 - 0.35 * (c / 100) ** 2) for c in range(4, 101)]
    losses = [6.5 * math.exp(-e / 6) + 1.4 for e in range(32)]
    mrrs = [0.41 * (1 - math.exp(-e / 5)) - (0.0015 * max(0, e - 21)) for e in range(32)]
    return Page(
        "New foods for the food branch",
        "600 new concepts for food.csv (2,432 concepts), by the model food-2, 3 May 2026",
        [
            KeyFigures(
                "",
                [
                    KeyFigure("New concepts", 600, "12 more already in the taxonomy"),
                    KeyFigure("Accepted", 427, "score of at least 0.62"),
                    KeyFigure("Expected to be right", "90 %", "of those accepted"),
                    KeyFigure("Validation MRR", 0.4137, "over 200 held-out leaves"),
                ],
            ),
            TextSection(
                "How to read this report",
                ["The best of the other concepts is the runner-up.", "No concept was changed."],
            ),
            Table(
                "Suggestions",
                COLUMNS,
                rows(number),
                "Open a row to see the tree around the new concept.",
            ),
            ChartSection("Is the confidence reliable?", reliability_chart(bins)),
            ChartSection(
                "How many suggestions to accept?",
                coverage_chart(curve, CoveragePoint(0.62, 0.71, 0.8036)),
            ),
            ChartSection("Training", training_chart(losses, mrrs, 22)),
            Table(
                "Already in the taxonomy",
                [Column("In your list"), Column("In the taxonomy"), Column("Path", "path")],
                [Row(("soya milk", "soymilk", ("food", "foodstuff", "dairy product", "milk")))],
            ),
        ],
        datetime(2026, 5, 3, tzinfo=UTC),
    )
