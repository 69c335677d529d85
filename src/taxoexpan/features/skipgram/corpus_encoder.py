"""`skipgram:CORPUS`: what the names of a taxonomy mean, learned from the company they keep."""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.cache import cache_folder
from taxoexpan.features.corpus.documents import files_of, read_documents
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.skipgram.skipgram_training import DIMENSION, refuse_training, train_skipgram
from taxoexpan.features.skipgram.skipgram_vectors import SkipGramEncoder
from taxoexpan.features.static import StaticEncoder


class CorpusEncoder(Encoder):
    """Skip-gram vectors, which are learned when the names are known, or were kept in a folder.

    A name that the corpus says too seldom is the mean of its words, and what has no word there is
    its static vector, carried over. What was learned is kept on disk, and not learned again for the
    same texts and names.
    """

    dimension = DIMENSION

    def __init__(self, corpus: Path, kept: Path | None = None) -> None:
        self.name = f"skipgram:{corpus}"
        self._corpus = corpus
        self._progress = False
        self._learned: SkipGramEncoder | None = None
        if kept is not None:
            self._learned = SkipGramEncoder.load(kept, StaticEncoder())
        else:
            refuse_training()
            next(read_documents(corpus))  # what cannot be read is refused before any work

    def show_progress(self, shown: bool) -> None:
        """Whether to show how far the learning is."""
        self._progress = shown

    def learn(self, names: Collection[str]) -> None:
        """Learn the vectors of these names and of all words beside them."""
        names = sorted(set(names))
        place = self._place(names)
        if place is not None and place.is_dir():
            # What is damaged is learned again.
            with suppress(ModelError):
                self._learned = SkipGramEncoder.load(place, StaticEncoder())
                return
        learned = train_skipgram(self._corpus, names, progress=self._progress)
        self._learned = SkipGramEncoder(learned, StaticEncoder())
        if place is not None:
            self._keep(self._learned, place)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, whatever its case."""
        return self._known.encode(texts)

    def fingerprint(self) -> str:
        """A digest of what was learned, and of the static vectors beside it."""
        return f"{self._known.fingerprint()[:16]} {StaticEncoder().fingerprint()}"

    def save(self, folder: Path) -> None:
        """Keep what was learned."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._known.save(folder)

    @property
    def _known(self) -> SkipGramEncoder:
        if self._learned is None:
            raise ModelError(f"{self.name} has learned nothing yet; call learn with the names")
        return self._learned

    def _place(self, names: Sequence[str]) -> Path | None:
        """Where what is learned from these texts for these names is kept."""
        folder = cache_folder()
        if folder is None:
            return None
        digest = hashlib.sha256()
        for part in (names, version("gensim"), platform.machine(), StaticEncoder().fingerprint()):
            digest.update(json.dumps(part).encode())
        for path in files_of(self._corpus):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return folder / "skipgram" / digest.hexdigest()[:32]

    @staticmethod
    def _keep(learned: SkipGramEncoder, place: Path) -> None:
        try:
            place.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.parent.mkdir(exist_ok=True)
            learned.save(place, force=True)
        except (OSError, TaxoExpanError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            message = f"{place.parent}: what was learned is not kept for another time ({reason})"
            warnings.warn(f"{message}; set TAXOEXPAN_CACHE to another folder", stacklevel=3)
