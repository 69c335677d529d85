"""A model on disk: a directory of JSON, safetensors and a model card; never a pickle.

`save_archive` writes all parts of a model with a manifest. `load_archive` reads them, and refuses
parts that are damaged or of another model. `load_summary` reads only what describes the model.
"""

from taxoexpan.archive.archive import Archive, new_archive
from taxoexpan.archive.reader import ModelSummary, load_archive, load_summary
from taxoexpan.archive.writer import save_archive

__all__ = [
    "Archive",
    "ModelSummary",
    "load_archive",
    "load_summary",
    "new_archive",
    "save_archive",
]
