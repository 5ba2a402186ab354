"""Keeps standard error and standard output of the service to JSON, whoever writes there.

Log lines are JSON by their formatter. Libraries, the interpreter and the command line write text
past it: usage errors, tracebacks, what a worker says when it cannot start. With
`PAGEFAULT_LOG_FORMAT=json` both streams are replaced by ones that make a log line of each line of
text; only what is written by C code or by `faulthandler`, at a crash, goes past them.
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
        behind: The stream it stands for, where the log is written.
        level: The level of its lines.
        name: The logger of its lines.
    """

    def __init__(self, behind: TextIO, *, level: int, name: str) -> None:
        super().__init__()
        self.behind = behind
        self._level = level
        self._log = logging.getLogger(name)
        self._rest = ""
        self._inside = threading.local()

    def write(self, text: str) -> int:
        """Log the lines that are complete, and keep the rest for the next call."""
        # What a handler says of its own failure would come here again, without end.
        if not getattr(self._inside, "is_logging", False):
            *lines, self._rest = (self._rest + text).split("\n")
            self._tell(lines)
        return len(text)

    def flush(self) -> None:
        """Log what is not complete as well."""
        rest, self._rest = self._rest, ""
        self._tell([rest])

    def fileno(self) -> int:
        """Return the descriptor of the stream behind, for `faulthandler` and child processes."""
        return self.behind.fileno()

    def writable(self) -> bool:
        """Return whether it can be written to, which it can."""
        return True

    def _tell(self, lines: list[str]) -> None:
        self._inside.is_logging = True
        try:
            for line in filter(str.strip, lines):
                self._log.log(self._level, "%s", line.rstrip())
        finally:
            self._inside.is_logging = False


def is_json_only() -> bool:
    """Return whether everything is to be JSON: not by default, where a pipe may have a reader."""
    return os.environ.get(_FORMAT_VARIABLE) == "json"


def log_stream() -> TextIO:
    """Return the stream that log lines are written to: standard error, or what it was before."""
    stream: TextIO = sys.stderr
    return stream.behind if isinstance(stream, LoggedText) else stream


def redirect_streams(*, with_output: bool) -> None:
    """Make log lines of all text, and of exceptions that nobody handles. May be called again.

    Args:
        with_output: Whether standard output is replaced too; a command's result is printed there.
    """
    if not isinstance(sys.stderr, LoggedText):
        sys.stderr = LoggedText(sys.stderr, level=logging.ERROR, name="stderr")
    if with_output and not isinstance(sys.stdout, LoggedText):
        sys.stdout = LoggedText(sys.stdout, level=logging.WARNING, name="stdout")
    sys.excepthook = _tell_exception
    threading.excepthook = _tell_exception_of_thread
    sys.unraisablehook = _tell_unraisable


def _tell_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        _log.critical("uncaught exception", exc_info=(kind, error, trace))


def _tell_exception_of_thread(given: threading.ExceptHookArgs) -> None:
    _log.error("uncaught exception in a thread", exc_info=given.exc_value or given.exc_type())


def _tell_unraisable(given: "sys.UnraisableHookArgs") -> None:
    error = given.exc_value or given.exc_type()
    _log.error(given.err_msg or "exception ignored", exc_info=error)
