"""Convert a taxonomy to another format, and report content that the format cannot represent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taxoexpan.cli.addition_messages import print_protected
from taxoexpan.cli.arguments import refuse_json_beside
from taxoexpan.cli.messages import note, print_json, spell_files, warn
from taxoexpan.option_declarations import argument, json_option, option, switch
from taxoexpan.shared_options import QuietOptions, ReadingOptions


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, QuietOptions):
    """The options of `convert`."""

    taxonomy: Path = argument("TAXONOMY", "taxonomy file, or - for standard input")
    output: Path = argument("OUT", "output file, or - for standard output (requires --to)")
    to: str | None = option(
        "output format: a name as in --format, or an RDF syntax: ttl, nt, rdf, jsonld (default: "
        "inferred from the suffix of OUT)",
        metavar="NAME",
    )
    base: str | None = option(
        "when writing RDF, prefix for ids that are not IRIs (default: http://example.org/, or "
        "http://purl.obolibrary.org/obo/ if TAXONOMY is OBO)",
        metavar="IRI",
    )
    force: bool = switch("overwrite OUT if it exists")
    json: bool = json_option("print the size of the copy, and the content that was lost,")


def run(options: Options) -> int:
    """Convert a taxonomy, and print the content that was lost."""
    from taxoexpan.files import preflight
    from taxoexpan.formats.conversion import convert
    from taxoexpan.formats.format import DEFAULT_BASE, Target
    from taxoexpan.formats.taxonomy_file import read_options
    from taxoexpan.phrasing import pluralize

    if options.json:
        refuse_json_beside(options.output)
    preflight([options.output], [options.taxonomy], options.force)
    target = Target(options.output, options.base or DEFAULT_BASE, options.language or "")
    done = convert(
        options.taxonomy,
        target,
        options.format,
        options.to,
        read_options(options),
        options.force,
    )
    rebased = sum(id.startswith(done.base) for id in done.ids.values()) if done.base else 0
    if done.base:
        changed = pluralize(rebased, "id")
        default = "" if options.base else "; --base sets another"
        note(f"note: {changed} written as IRIs that start with {done.base}{default}")
    print_protected(done.protected)
    for loss in done.losses:
        warn(loss)
    size = pluralize(len(done.copy), "concept")
    note(
        f"{size} and {pluralize(len(done.copy.relations), 'relation')} in {spell_files(done.files)}"
    )
    if options.json:
        print_json(
            {
                "files": list(map(str, done.files)),
                "concepts": len(done.copy),
                "relations": len(done.copy.relations),
                "base": done.base or None,
                "ids_with_base": rebased,
                "protected": done.protected,
                "losses": done.losses,
            }
        )
    return 0
