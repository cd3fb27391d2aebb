"""The daemon's log: standard error, whose disk may be full. The daemon then goes on without it."""

from contextlib import suppress
from typing import Any, TextIO


class Log:
    """A text stream that drops what cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else the stream has
        return getattr(self._stream, name)
