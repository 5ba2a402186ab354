"""Reasons of failures as text for people, without the data that was sent."""

import socket
import ssl
from collections.abc import Iterator

import httpx

from pagefault_dialects.errors import PagefaultError

_BY_KIND: tuple[tuple[type[Exception], str], ...] = (
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
_BY_CAUSE: tuple[tuple[type[Exception], str], ...] = (
    (socket.gaierror, "the name of its host is not known"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionResetError, _BROKE_OFF),
    (BrokenPipeError, _BROKE_OFF),
)


def one_line(text: str) -> str:
    """Return a text with control characters replaced by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def reason_of(error: BaseException) -> str:
    """Return the text of an error; of a group, that of the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PagefaultError):
        return error.detail
    # Errors without text are unexpected, so their type is named.
    return str(error) or f"an error of the kind {type(error).__name__}"


def unreachable_reason(error: Exception) -> str:
    """Return the reason why an exchange with an address failed."""
    for kind, words in _BY_KIND:
        if isinstance(error, kind):
            return words
    for cause in _causes(error):
        if (reason := _system_reason(cause)) is not None:
            return reason
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:] or _BROKE_OFF


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes in turn; of a group, those of the first."""
    following: BaseException | None = error
    while following is not None:
        yield following
        if isinstance(following, BaseExceptionGroup):
            following = following.exceptions[0]
        else:
            following = following.__cause__ or following.__context__


def _system_reason(error: BaseException) -> str | None:
    for kind, words in _BY_CAUSE:
        if isinstance(error, kind):
            return words
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "no reason is said").replace("_", " ").lower()
        return f"TLS failed ({reason})"
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else None
