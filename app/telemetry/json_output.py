"""Turn all text on standard error and standard output of the service into JSON log lines.

Log lines are JSON by their formatter. Libraries, the interpreter and the command line also write
plain text: usage errors, tracebacks, errors of a worker that cannot start. With
`PAGEFAULT_LOG_FORMAT=json` both streams are replaced by streams that log each line of text. Text
that C code or `faulthandler` writes in a crash is not replaced.
"""

import io
import logging
import os
import sys
import threading
from types import TracebackType
from typing import TextIO

_FORMAT_VARIABLE = "PAGEFAULT_LOG_FORMAT"
_log = logging.getLogger("pagefault.process")


class LoggedText(io.TextIOBase):
    """A text stream whose lines become log lines.

    Args:
        stream: The replaced stream, to which the log is written.
        level: The level of its lines.
        name: The logger of its lines.
    """

    def __init__(self, stream: TextIO, *, level: int, name: str) -> None:
        super().__init__()
        self.stream = stream
        self._level = level
        self._log = logging.getLogger(name)
        self._rest = ""
        self._inside = threading.local()

    def write(self, text: str) -> int:
        """Log complete lines, and keep the incomplete last line for the next call."""
        # A log handler that fails writes to this stream. Its text must not be logged again.
        if not getattr(self._inside, "is_logging", False):
            *lines, self._rest = (self._rest + text).split("\n")
            self._log_lines(lines)
        return len(text)

    def flush(self) -> None:
        """Log the incomplete last line."""
        rest, self._rest = self._rest, ""
        self._log_lines([rest])

    def fileno(self) -> int:
        """Return the descriptor of the replaced stream, for `faulthandler` and child processes."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """Return `True`."""
        return True

    def _log_lines(self, lines: list[str]) -> None:
        self._inside.is_logging = True
        try:
            for line in filter(str.strip, lines):
                self._log.log(self._level, "%s", line.rstrip())
        finally:
            self._inside.is_logging = False


def is_json_only() -> bool:
    """Return whether `PAGEFAULT_LOG_FORMAT` is `json`, so that all output is JSON."""
    return os.environ.get(_FORMAT_VARIABLE) == "json"


def log_stream() -> TextIO:
    """Return the stream of log lines: standard error, or the stream that was replaced."""
    stream: TextIO = sys.stderr
    return stream.stream if isinstance(stream, LoggedText) else stream


def redirect_streams(*, with_output: bool) -> None:
    """Log all text and all uncaught exceptions; a repeated call does nothing.

    Args:
        with_output: Replace standard output too, where commands print their results.
    """
    if not isinstance(sys.stderr, LoggedText):
        sys.stderr = LoggedText(sys.stderr, level=logging.ERROR, name="stderr")
    if with_output and not isinstance(sys.stdout, LoggedText):
        sys.stdout = LoggedText(sys.stdout, level=logging.WARNING, name="stdout")
    sys.excepthook = _log_exception
    threading.excepthook = _log_thread_exception
    sys.unraisablehook = _log_unraisable


def _log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        _log.critical("uncaught exception", exc_info=(kind, error, trace))


def _log_thread_exception(args: threading.ExceptHookArgs) -> None:
    _log.error("uncaught exception in a thread", exc_info=args.exc_value or args.exc_type())


def _log_unraisable(args: "sys.UnraisableHookArgs") -> None:
    error = args.exc_value or args.exc_type()
    _log.error(args.err_msg or "exception ignored", exc_info=error)
