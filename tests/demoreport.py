"""A report with sections of every kind, made up, but as a real one could be."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from taxoexpan.report.html import (
    Bin,
    Column,
    Details,
    Figure,
    Figures,
    Neighbour,
    Page,
    Picture,
    Place,
    Row,
    Table,
    Text,
    Threshold,
    Tree,
    coverage,
    histogram,
    reliability,
    training,
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
    Column("Score", "share"),
    Column("Agreement", "share"),
    Column("Siblings", "number"),
    Column("Path", "path"),
)


def rows(number: int, seed: int = 0, details: bool = True) -> list[Row]:
    """Placements of foods, each with its tree."""
    dice = random.Random(seed)
    places = list(FOODS)
    made = []
    for each in range(number):
        again = f" {each // len(NEW) + 1}" if each >= len(NEW) else ""
        concept = NEW[each % len(NEW)] + again
        path, other = dice.sample(places, 2)
        score = round(0.3 + 0.7 * dice.betavariate(3, 1.6), 4)
        siblings = [Neighbour(label, round(dice.uniform(0.3, 0.9), 2)) for label in FOODS[path]]
        siblings.sort(key=lambda neighbour: -(neighbour.figure or 0))
        more = dice.randrange(0, 60)
        moving = (replace(siblings[-1], mark="might move here"),) if each % 5 == 1 else ()
        kept = siblings[: len(siblings) - len(moving)]
        place = Place(path, kept, more, moving, score)
        runner_up = Place(other, figure=round((1 - score) / 3, 2)) if each % 3 else None
        opened = Details(
            [f"A new concept, {concept}, of which the list says no more than its name."],
            [
                ("runner-up", other[-1]),
                ("margin", f"{score - (1 - score) / 3:.2f}"),
                ("said by", "3 of 3 models"),
            ],
            Tree(concept, place, runner_up),
        )
        agreement = None if each % 11 == 7 else dice.randrange(1, 4) / 3
        cells = (concept, path[-1], score, agreement, len(siblings) + more, path)
        made.append(Row(cells, opened if details else None))
    return made


def demo_page(number: int = 600) -> Page:
    """Figures, prose, four charts and two tables."""
    bins = [Bin(m / 10 + 0.05, (m / 10 + 0.05) ** 1.15, 9 + 4 * m * m) for m in range(10)]
    curve = [(c / 100, 0.98 - 0.35 * (c / 100) ** 2) for c in range(4, 101)]
    losses = [6.5 * math.exp(-e / 6) + 1.4 for e in range(32)]
    ranks = [0.41 * (1 - math.exp(-e / 5)) - (0.0015 * max(0, e - 21)) for e in range(32)]
    counts = [4, 9, 17, 25, 41, 60, 92, 121, 140, 91]
    return Page(
        "New foods for the food branch",
        "600 new concepts placed in food.csv (2,432 concepts) by model food-2, 3 May 2026",
        [
            Figures(
                "",
                [
                    Figure("Concepts placed", 600, "12 more were there already"),
                    Figure("Accepted", 427, "score of 0.62 or more"),
                    Figure("Expected to be right", "90 %", "of those accepted, by validation"),
                    Figure("Validation MRR", 0.4137, "over 200 masked leaves"),
                ],
            ),
            Text(
                "How to read this",
                [
                    "Each new concept was compared with every concept of the taxonomy. The score "
                    "is the share of the model's belief that falls on the parent shown; the rest "
                    "falls on others, of which the best is the runner-up.",
                    "Nothing was changed that was in the taxonomy before. Where an existing "
                    "concept might better go below a new one it is said so, and left to you.",
                ],
            ),
            Table(
                "Placements",
                COLUMNS,
                rows(number),
                "Open a row to see where the concept would hang, and beside what.",
            ),
            Picture("Can the scores be believed?", reliability(bins)),
            Picture("How many to accept?", coverage(curve, Threshold(0.62, 0.71, 0.8036))),
            Picture("Training", training(losses, ranks, 22)),
            Picture("Scores", histogram([n / 10 for n in range(11)], counts, "score")),
            Table(
                "Already there",
                [Column("New concept"), Column("Known as"), Column("Path", "path")],
                [Row(("soya milk", "soymilk", ("food", "foodstuff", "dairy product", "milk")))],
            ),
        ],
        "Made by taxoexpan 0.1.0 on 3 May 2026.",
    )
