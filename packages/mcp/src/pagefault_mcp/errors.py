"""Texts of errors for people; they never contain data that was sent, such as keys."""

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
_BROKE_OFF = "the connection broke off"
_REASONS_BY_CAUSE: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "the name of its host is not known"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionResetError, _BROKE_OFF),
    (BrokenPipeError, _BROKE_OFF),
)


def one_line(text: str) -> str:
    """Return a text with control characters replaced by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def reason_of(error: BaseException) -> str:
    """Return the text of an error; for a group, that of its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PagefaultError):
        return error.detail
    # Errors without text are unexpected, so their type is named.
    return str(error) or f"an error of the kind {type(error).__name__}"


def unreachable_reason(error: Exception) -> str:
    """Return the reason why an HTTP request got no response, without details that may be secret."""
    for error_type, reason in _REASONS_BY_TYPE:
        if isinstance(error, error_type):
            return reason
    for cause in _causes(error):
        if (cause_reason := _system_reason(cause)) is not None:
            return cause_reason
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:] or _BROKE_OFF


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its chain of causes; a group continues with its first error."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__


def _system_reason(error: BaseException) -> str | None:
    for error_type, reason in _REASONS_BY_CAUSE:
        if isinstance(error, error_type):
            return reason
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        tls_reason = (error.reason or "no reason is said").replace("_", " ").lower()
        return f"TLS failed ({tls_reason})"
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else None
