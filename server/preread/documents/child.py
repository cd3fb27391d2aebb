"""Reads one document in a process with limits, and prints it as JSON."""

import hashlib
import json
import sys
from collections.abc import Callable
from importlib import import_module

from preread.documents.model import Document, Unusable
from preread.infra.reading import plain_bytes

MEMORY = 1_500_000_000  # bytes of address space, part of which is pdfium's code
SECONDS = 30  # of processor time
MAX_CHARACTERS = 20_000_000
TOO_LARGE = f"reading it takes more than {MEMORY / 1e9:g} GB of memory"


def limit() -> None:
    """Limit this process, if the platform supports it."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))  # SIGXCPU, then SIGKILL
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def function(reader: str) -> Callable[[bytes], Document]:
    """The function that a `module.function` names."""
    module, _, name = reader.partition(".")
    found: Callable[[bytes], Document] = getattr(import_module(f"preread.documents.{module}"), name)
    return found


def answer(read: Callable[[bytes], Document], data: bytes) -> dict[str, object]:
    """The document that `read` finds in the data, or why it cannot be read, as JSON."""
    try:
        document = read(data)
        if sum(len(line) for part in document.parts for line in part.lines) > MAX_CHARACTERS:
            raise Unusable("size", f"its text has more than {MAX_CHARACTERS:,} characters")
        return document.as_json()
    except Unusable as error:
        return {"reason": error.reason, "message": str(error)}
    except MemoryError:
        return {"reason": "memory", "message": TOO_LARGE}
    except RecursionError:
        return {"reason": "damaged", "message": "its parts are nested too deeply"}


def serve(reader: str, path: str) -> None:
    """Print what `reader`, a `module.function`, reads from a file, and the file's digest."""
    limit()
    data = plain_bytes(path) or b""
    digest = hashlib.sha256(data).hexdigest()
    sys.stdout.write(json.dumps({**answer(function(reader), data), "digest": digest}))
