"""A small embedding model that ships in a package: texts become vectors.

The model is a table of word vectors, 256 numbers for each part of a word. The extra
`preread[meaning]` installs it; texts and vectors stay on this machine.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "wordllama-l2-supercat-256"
HOW_TO_INSTALL = "pip install 'preread[meaning]'"
NEEDED = ("numpy", "safetensors", "tokenizers", "wordllama")
MAX_CHARS = 4000  # of one text


def is_installed() -> bool:
    return all(find_spec(name) is not None for name in NEEDED)


class Model:
    """The word vectors and their tokenizer."""

    def __init__(self) -> None:
        import numpy as np
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        # Only the package's files are used: its code downloads models and imports its own library.
        spec = find_spec("wordllama")
        folder = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
        tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._np = np
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        tensors = load_file(folder / "weights" / "l2_supercat_256.safetensors")
        self._table = next(iter(tensors.values()))

    def vectors(self, texts: "Sequence[str]") -> "list[bytes]":
        """A unit vector for each text, as 256 numbers of 4 bytes."""
        cut = [
            text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8").lower() for text in texts
        ]
        found = self._tokenizer.encode_batch(cut, add_special_tokens=False)
        return [self._vector(one.ids).tobytes() for one in found]

    def _vector(self, ids: "list[int]") -> Any:  # noqa: ANN401 - NumPy is optional
        known = [id_ for id_ in ids if id_ < len(self._table)]
        zero = self._np.zeros(self._table.shape[1], dtype="float32")
        mean = self._table[known].astype("float32").mean(axis=0) if known else zero
        length = float(self._np.linalg.norm(mean))
        return (mean / length if length else mean).astype("float32")

    def similarities(self, query: bytes, others: "Sequence[bytes]") -> "list[float]":
        """The cosine of each vector with the query's, from -1 to 1."""
        if not others:
            return []
        table = self._np.frombuffer(b"".join(others), dtype="float32").reshape(len(others), -1)
        return [float(x) for x in table @ self._np.frombuffer(query, dtype="float32")]


@cache
def model() -> Model | None:
    """The model; None if the extra is not installed."""
    return Model() if is_installed() else None
