"""The encoder `skipgram:CORPUS`, which learns the vectors of names from a text corpus."""

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
from taxoexpan.features.corpus.documents import corpus_files, read_documents
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.skipgram.skipgram_encoder import SkipGramEncoder
from taxoexpan.features.skipgram.skipgram_training import DIMENSION, check_gensim, train_skipgram
from taxoexpan.features.static import StaticEncoder


class CorpusEncoder(Encoder):
    """Skip-gram vectors that `learn` trains, or that are loaded from the folder `saved`.

    A name that is too rare in the corpus is the mean of its words. A text without any known word
    uses its static vector, mapped into the space of the corpus. Trained vectors are cached on disk
    and reused for the same corpus and names.
    """

    dimension = DIMENSION

    def __init__(self, corpus: Path, saved: Path | None = None) -> None:
        self.name = f"skipgram:{corpus}"
        self._corpus = corpus
        self._progress = False
        self._trained: SkipGramEncoder | None = None
        if saved is not None:
            self._trained = SkipGramEncoder.load(saved, StaticEncoder())
        else:
            check_gensim()
            next(read_documents(corpus))  # reports an unreadable corpus before any work is done

    def show_progress(self, shown: bool) -> None:
        """Show or hide the progress of the training."""
        self._progress = shown

    def learn(self, names: Collection[str]) -> None:
        """Learn the vectors of these names and of all words in the same documents."""
        names = sorted(set(names))
        folder = self._cache_folder(names)
        if folder is not None and folder.is_dir():
            with suppress(ModelError):  # damaged vectors are trained again
                self._trained = SkipGramEncoder.load(folder, StaticEncoder())
                return
        learned = train_skipgram(self._corpus, names, progress=self._progress)
        self._trained = SkipGramEncoder(learned, StaticEncoder())
        if folder is not None:
            _cache(self._trained, folder)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text; upper and lower case are the same."""
        return self._encoder.encode(texts)

    def fingerprint(self) -> str:
        """A digest of the trained vectors and of the static vectors."""
        return f"{self._encoder.fingerprint()[:16]} {StaticEncoder().fingerprint()}"

    def save(self, folder: Path) -> None:
        """Save the trained vectors in a new folder."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._encoder.save(folder)

    @property
    def _encoder(self) -> SkipGramEncoder:
        if self._trained is None:
            raise ModelError(f"{self.name} is not trained yet; call learn with the names first")
        return self._trained

    def _cache_folder(self, names: Sequence[str]) -> Path | None:
        """The folder in which the vectors of this corpus and these names are cached."""
        folder = cache_folder()
        if folder is None:
            return None
        digest = hashlib.sha256()
        for part in (names, version("gensim"), platform.machine(), StaticEncoder().fingerprint()):
            digest.update(json.dumps(part).encode())
        for path in corpus_files(self._corpus):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return folder / "skipgram" / digest.hexdigest()[:32]


def _cache(encoder: SkipGramEncoder, folder: Path) -> None:
    try:
        folder.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.mkdir(exist_ok=True)
        encoder.save(folder, force=True)
    except (OSError, TaxoExpanError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"{folder.parent}: the trained vectors are not cached ({reason})"
        warnings.warn(f"{message}; set TAXOEXPAN_CACHE to another folder", stacklevel=3)
