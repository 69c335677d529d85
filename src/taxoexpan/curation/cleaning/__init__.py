"""Which relations of a taxonomy look wrong to a model that has not seen them (self-cleaning)."""

from taxoexpan.curation.cleaning.doubts import Doubt, doubts_csv
from taxoexpan.curation.cleaning.judging import Training
from taxoexpan.curation.cleaning.self_cleaning import clean

__all__ = ["Doubt", "Training", "clean", "doubts_csv"]
