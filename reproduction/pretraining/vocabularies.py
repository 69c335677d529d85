"""The vocabularies of the pre-training: their concepts without excluded names, by domain."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taxoexpan import Concept, Taxonomy
from taxoexpan.taxonomy.names import name_key

SUFFIX = ".jsonl.gz"
"""The end of the name of a vocabulary's file."""
DOMAINS = {
    "products": "cpv hs_codes un_cpc_products unspsc_top3",
    "work": (
        "anzsco anzsic cofog esco_occupations esco_skills fibo_finance isic naics sic_us soc_us stw"
    ),
    "knowledge": (
        "ai_ontology anzsrc_for arxiv cip_education eurovoc hochschulfaecher_en iconclass "
        "iptc_media_topics music_genres_beets patent_cpc_groups schema_org tadirah"
    ),
    "computing": "d3fend misp_taxonomies software_swo trove_classifiers",
    "earth": (
        "agro agrovoc_part brick_building cgi_geoscience envo gemet geonames_features open_energy "
        "osm_presets overture_places sdgio sweet_earth"
    ),
    "anatomy": (
        "cell_ontology fly_anatomy fungal_anatomy insect_anatomy mouse_anatomy_emapa "
        "plant_ontology uberon_musculoskeletal wasp_anatomy_hao worm_anatomy"
    ),
    "biology": (
        "bio_attribute_oba cdno eco gene_ontology microbial_phenotype ncbitaxon_food_slice "
        "pathway_ontology pato plant_exp_conditions plant_trait psi_mod vertebrate_trait"
    ),
    "medicine": (
        "addicto bcio clinical_measurement doid_slims emotion_ontology experimental_conditions "
        "hancestro icd10_pcs_top3 ido maxo mental_functioning mesh_top3 ncit_top3 obi omrse stato"
    ),
    "matter": ("chebi_slice chmo emmo mop pmdco_materials psi_ms qudt_quantitykinds rxno units_uo"),
    "general": "common_core iao umbel wordnet30_nouns wordnet30_verbs",
}
"""The names of the vocabularies of each domain."""


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary, its domain, and its taxonomy."""

    name: str
    domain: str
    taxonomy: Taxonomy


def read_vocabularies(folder: Path, excluded: Collection[str]) -> list[Vocabulary]:
    """Read all `NAME.jsonl.gz`, without the concepts whose name keys are excluded."""
    return [read_vocabulary(path, excluded) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def read_vocabulary(path: Path, excluded: Collection[str]) -> Vocabulary:
    """Read one vocabulary, without the concepts whose name keys are excluded."""
    name = path.name.removesuffix(SUFFIX)
    (domain,) = (domain for domain, names in DOMAINS.items() if name in names.split())
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return Vocabulary(name, domain, without_names(map(json.loads, file), excluded))


def without_names(rows: Iterable[dict[str, Any]], excluded: Collection[str]) -> Taxonomy:
    """Return the taxonomy of the rows whose labels are not excluded."""
    kept = [row for row in rows if name_key(row["label"]) not in excluded]
    ids = {row["id"] for row in kept}
    concepts = [Concept(row["id"], row["label"], definition=row["definition"]) for row in kept]
    relations = [(parent, row["id"]) for row in kept for parent in row["parents"] if parent in ids]
    return Taxonomy(concepts, relations)


def read_excluded(paths: Iterable[Path]) -> set[str]:
    """Return the keys of the names in text files with one name per line."""
    return {name_key(line) for path in paths for line in path.read_text("utf-8").splitlines()}
