"""Descriptions of errors for warnings and tool results.

They contain nothing that was sent to a server, such as API keys.
"""

import socket
import ssl
from collections.abc import Iterator

import httpx

from pagefault_dialects.errors import PagefaultError

_REASONS_BY_TYPE: tuple[tuple[type[Exception], str], ...] = (
    # The text of this error has the value of the header, which may be a key.
    (httpx.LocalProtocolError, "a header cannot be sent"),
    (httpx.UnsupportedProtocol, "its address is neither http nor https"),
    (httpx.InvalidURL, "its address is not valid"),
    (httpx.ConnectTimeout, "it took too long to connect"),
    (httpx.TimeoutException, "it took too long to answer"),
    (httpx.DecodingError, "its answer cannot be decompressed"),
    (ValueError, "a header or its address cannot be sent"),
)
_CONNECTION_LOST = "the connection broke off"
_REASONS_BY_CAUSE: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "the name of its host is not known"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionResetError, _CONNECTION_LOST),
    (BrokenPipeError, _CONNECTION_LOST),
)


def replace_unprintable(text: str) -> str:
    """Return a text on one line: a space replaces each character that cannot be printed."""
    return "".join(character if character.isprintable() else " " for character in text)


def describe_error(error: BaseException) -> str:
    """Return the text of an error. For an exception group, return the text of its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PagefaultError):
        return error.detail
    # An error without a text is unexpected, so its type is all that there is to report.
    return str(error) or f"an error of the kind {type(error).__name__}"


def describe_transport_error(error: Exception) -> str:
    """Return why an HTTP request got no response, without details that may be secret."""
    for error_type, reason in _REASONS_BY_TYPE:
        if isinstance(error, error_type):
            return reason
    for cause in _iterate_causes(error):
        if (reason_of_cause := _describe_system_error(cause)) is not None:
            return reason_of_cause
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:] or _CONNECTION_LOST


def _iterate_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its chain of causes; a group continues with its first error."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__


def _describe_system_error(error: BaseException) -> str | None:
    """Return the description of an error of a socket, of DNS or of TLS; `None` for other errors."""
    for error_type, reason in _REASONS_BY_CAUSE:
        if isinstance(error, error_type):
            return reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        tls_reason = (error.reason or "no reason is said").replace("_", " ").lower()
        return f"TLS failed ({tls_reason})"
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else None
