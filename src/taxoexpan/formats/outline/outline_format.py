"""Outlines: lines indented by spaces or tabs, lists with bullets or numbers, Markdown headings.

As in files of paths, the id of a concept is its path. Text that is not a list is kept and ignored.
A definition follows a tab, or in Markdown a link.
"""

from __future__ import annotations

import re

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.concept_list import combined_lines
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.inline_markdown import escaped
from taxoexpan.formats.outline.insertion import OutlineInserter, by_parent
from taxoexpan.formats.outline.outline import Outline
from taxoexpan.formats.outline.scanning import PLAIN_SUFFIXES, RULE, is_markdown, scan_lines
from taxoexpan.formats.tables.path_layouts import SEPARATOR, Category
from taxoexpan.formats.tables.paths import path_ids, refuse_unsupported, written_paths
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

MIN_NESTED = 0.25
"""The fraction of the items of a text file that must be on another level than the first one."""
_NOT_IN_LABELS = re.compile(r"[\n\r]")
_MARKDOWN_REPLACEMENTS = {"\n": " ", "\r": " "}
_TEXT_REPLACEMENTS = {**_MARKDOWN_REPLACEMENTS, "\t": " "}


class OutlineFormat(Format):
    """Indented lines, lists and headings."""

    fields = frozenset({"labels"})
    changes = frozenset()

    def can_read(self, file: TextFile) -> bool:
        """Return whether a Markdown file has an item with a mark, or a text enough nested items.

        In a text, `MIN_NESTED` holds for lines with bullets, too: a flat list is not a taxonomy.
        """
        if file.suffix not in (*self.suffixes, *PLAIN_SUFFIXES) or not file.text.strip():
            return False
        items = file.parsed(scan_lines).items
        if file.suffix in self.suffixes and any(item.mark for item in items):
            return True
        nested = sum(item.place != items[0].place for item in items)
        return nested > 0 and nested >= MIN_NESTED * len(items)

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read every item as a concept below the item or heading that it is indented under."""
        outline = file.parsed(Outline.of)
        builder = TaxonomyBuilder(file.path)
        ids = path_ids(file, [Category(item.line, "", item.parts) for item in outline.items])
        for item in outline.items:
            builder.add(ids[item.parts], item.label, item.line, definition=item.definition)
            if len(item.parts) > 1:
                builder.relate(ids[item.parts[:-1]], ids[item.parts], item.line)
        scanned = file.parsed(scan_lines)
        ignored = sorted(scanned.texts | {n for n in scanned.skipped if file.lines[n - 1].strip()})
        if ignored:
            builder.ignored["line that is not a list item or a heading"] = len(ignored)
            message = "this line is not a list item or a heading"
            if len(ignored) > 1:
                message = f"{len(ignored):,} lines are not list items or headings"
            builder.note(ignored[0], f"{message}; kept, but not read as concepts")
        if not is_markdown(file):
            undefined = [(item.line, item.label) for item in outline.items if not item.definition]
            for lines, message in combined_lines(undefined):
                if len(lines) * 2 > len(outline.items):  # or else they are labels
                    builder.note(lines[0], message)
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Insert a line per new concept after its siblings, with the same mark and indentation."""
        for concept in additions.concepts:
            refuse_unsupported(file, expanded, concept.id, _NOT_IN_LABELS)
        new = [tuple(expanded.path(concept.id)) for concept in additions.concepts]
        insertions = OutlineInserter(file.parsed(Outline.of)).insert(new)
        changed = TextFile(file.path, file.apply(insertions).decode("utf-8-sig"), file.options)
        read_back = {item.parts for item in changed.parsed(Outline.of).items}
        lost = next((parts[-1] for parts in new if parts not in read_back), None)
        if lost is not None:
            message = f"{lost!r} would not be read back as one item"
            raise FormatError(file.path, message, fix="rename it")
        return {file.path: insertions}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a list with two spaces per level; a concept is below its first parent only."""
        to_markdown = format_suffix(target.path) not in PLAIN_SUFFIXES
        replacements = _MARKDOWN_REPLACEMENTS if to_markdown else _TEXT_REPLACEMENTS
        paths = written_paths(taxonomy, target.path, replacements)
        if len({SEPARATOR.join(parts) for parts in paths.values()}) < len(paths):
            # A label with the separator looks like the path of another concept.
            paths = written_paths(taxonomy, target.path, {**replacements, ">": "›"})
        children = by_parent(paths.values())
        lines = list[str]()
        waiting = children[()][::-1]
        while waiting:
            parts = waiting.pop()
            label = escaped(parts[-1]) if to_markdown else parts[-1]
            # With a hyphen, a label of hyphens would be a horizontal rule.
            mark = "+ " if RULE.fullmatch(f"- {label}") else "- "
            lines.append(f"{'  ' * (len(parts) - 1)}{mark}{label}\n")
            waiting += children.get(parts, [])[::-1]
        ids = {id: SEPARATOR.join(parts) for id, parts in paths.items()}
        return Copy({target.path: "".join(lines)}, ids)
