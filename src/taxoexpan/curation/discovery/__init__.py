"""Discovery of new concepts in a text corpus.

Exports `discover`, its result `DiscoveredConcept`, and `discovered_concepts_table`, which writes
them as a list of new concepts. `term_discovery` reads the corpus twice. The first pass counts
phrases (`phrase_counts`), from which `candidates` are chosen. The second one (`contexts`, by the
`phrase_finder`) collects `observations` and `definitions`. Then candidates are ranked
(`candidate_ranking`), named (`label_choice`) and compared with known names (`nearest_known`).
"""

from taxoexpan.curation.discovery.term_discovery import (
    DiscoveredConcept,
    discover,
    discovered_concepts_table,
)

__all__ = ["DiscoveredConcept", "discover", "discovered_concepts_table"]
