"""Write the embedding vectors of concepts to a file, or show the concepts nearest to a term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cli.arguments import read_taxonomy
from taxoexpan.cli.messages import note, print_json, print_line
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import (
    POSITIVE,
    argument,
    option,
    output_option,
    repeated,
    switch,
)
from taxoexpan.shared_options import DeviceOptions, FeatureOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.features.encoder import Encoder, Vectors
    from taxoexpan.taxonomy import Concept, Taxonomy


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, FeatureOptions, DeviceOptions):
    """The options of `embed`."""

    taxonomy: Path = argument(
        "TAXONOMY",
        "taxonomy file, or model directory; of a model, both the taxonomy and the encoder are used",
    )
    new: Path | None = argument(
        "NEW", "file with new concepts, which are embedded as well", default=None
    )
    output: Path | None = output_option(
        "output file: .npz (NumPy), or .vec or .txt (word2vec text format)"
    )
    force: bool = switch("overwrite existing output files")
    nearest: tuple[str, ...] = repeated(
        "show the concepts nearest to this term; can be repeated", metavar="TERM"
    )
    top: int = option("number of concepts to show per term", 10, POSITIVE)
    json: bool = switch("print the nearest concepts as JSON")
    quiet: bool = switch("do not show progress")


def run(options: Options) -> int:
    """Embed the concepts, write the vectors, and print the nearest concepts."""
    from taxoexpan.features.embedding import (
        nearest_concepts,
        refuse_suffix,
        refuse_unknown,
        vectors_content,
        warn_of_unknown,
    )
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.taxonomy import Concept

    if not options.output and not options.nearest:
        raise ConfigurationError("there is nothing to do; give -o FILE or --nearest TERM")
    if options.output:
        refuse_suffix(options.output)
        inputs = [path for path in (options.taxonomy, options.new) if path]
        preflight([options.output], inputs, options.force)
    new = read_concepts(options.new) if options.new else []
    terms = [Concept("", term) for term in options.nearest]
    taxonomy, encoder, embed = _opened(options)
    concepts = [*taxonomy.concepts, *new]
    both, queries = embed(concepts), embed(terms)
    refuse_unknown(both, encoder.name)
    warn_of_unknown(queries, terms)
    if options.output:
        content = vectors_content(options.output, concepts, both)
        write_whole({options.output: content}, options.force)
        note(f"{both.shape[1]:,} vectors with {both.shape[2]} dimensions in {options.output}")
    found: dict[str, list[dict[str, Any]]] = {
        term.label: [
            {"id": c.id, "label": c.label, "path": path, "cosine": cosine}
            for c, cosine in nearest_concepts(concepts, both[0], query, options.top)
            for path in [taxonomy.path(c.id) if c.id in taxonomy else (c.label,)]
        ]
        for term, query in zip(terms, queries[0], strict=True)
    }
    if options.json:
        print_json(found)
        return 0
    for term, nearest in found.items():
        print_line(f"{term}:")
        for each in nearest:
            path = " > ".join(each["path"])
            print_line(f"  {each['cosine']:6.3f}  {each['label']}  ({path})")
    return 0


def _opened(options: Options) -> tuple[Taxonomy, Encoder, Callable[[list[Concept]], Vectors]]:
    """Return the taxonomy, its encoder, and a function that embeds concepts."""
    from taxoexpan.archive import load_archive
    from taxoexpan.config import changed_settings, load_preset
    from taxoexpan.features.embedding import embed_concepts
    from taxoexpan.features.encoder_registry import make_encoder
    from taxoexpan.model_directory import is_archive

    settings = changed_settings(options)
    if is_archive(options.taxonomy):
        if options.settings:
            raise ConfigurationError("a model has its own settings; omit --set")
        archive = load_archive(options.taxonomy, options.features, options.device)
        taxonomy, encoder, c = archive.taxonomy, archive.encoder, archive.config
        encoder.show_progress(not options.quiet)
    else:
        c = load_preset("best", **settings)
        encoder = make_encoder(c.features, c.oov, options.device)
        encoder.show_progress(not options.quiet)
        taxonomy = read_taxonomy(options.taxonomy, options)

    def embed(concepts: list[Concept]) -> Vectors:
        return embed_concepts(encoder, concepts, c.name_weight, c.definition_weight)

    return taxonomy, encoder, embed
