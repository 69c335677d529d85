"""Self-cleaning: find relations that may be wrong, according to models trained without them."""

from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.folds import (
    SuspiciousRelation,
    suspicious_relations_csv,
)
from taxoexpan.curation.cleaning.self_cleaning import clean

__all__ = ["ModelOptions", "SuspiciousRelation", "clean", "suspicious_relations_csv"]
