"""Why something failed, and why an address does not answer: words, and no names of classes."""

import asyncio
import socket
import ssl

import anyio
import httpx
import pytest

from app.errors import StoreUnavailableError
from pagefault_mcp.errors import describe_error, describe_transport_error

pytestmark = pytest.mark.engines("embedded")


def caused(error: Exception, *causes: BaseException) -> Exception:
    """An error that came of another, and that of a third."""
    first: BaseException = error
    for cause in causes:
        first.__cause__ = cause
        first = cause
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("it is wrong"), "it is wrong"),
        (ExceptionGroup("several", [ExceptionGroup("one", [OSError("broken")])]), "broken"),
        (StoreUnavailableError("memory"), StoreUnavailableError("memory").detail),
        (ExceptionGroup("one", [anyio.EndOfStream()]), "an error of the kind EndOfStream"),
    ],
)
def test_reason_is_that_of_the_innermost_error(error: Exception, text: str) -> None:
    assert describe_error(error) == text


REFUSED = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)")
UNREACHABLE = OSError(113, "No route to host")
ATTEMPTS = "All connection attempts failed"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            caused(httpx.ConnectError(ATTEMPTS), OSError(ATTEMPTS), REFUSED),
            "the connection was refused",
        ),
        (
            caused(httpx.ConnectError(ATTEMPTS), ExceptionGroup("several", [REFUSED, REFUSED])),
            "the connection was refused",
        ),
        (
            caused(httpx.ConnectError("[Errno -2] Unknown"), socket.gaierror(-2, "Unknown")),
            "the name of its host is not known",
        ),
        (caused(httpx.ConnectError(ATTEMPTS), UNREACHABLE), "no route to host"),
        (caused(httpx.ReadError(""), ConnectionResetError()), "the connection broke off"),
        (httpx.ReadError(""), "the connection broke off"),
        (httpx.ConnectTimeout(""), "it took too long to connect"),
        (httpx.ReadTimeout(""), "it took too long to answer"),
        (httpx.LocalProtocolError("Illegal b'secret'"), "a header cannot be sent"),
        (httpx.UnsupportedProtocol("ftp"), "its address is neither http nor https"),
        (httpx.InvalidURL("secret"), "its address is not valid"),
        (httpx.DecodingError("-3"), "its answer cannot be decompressed"),
        (
            UnicodeEncodeError("ascii", "secret", 0, 1, "x"),
            "a header or its address cannot be sent",
        ),
        (
            httpx.RemoteProtocolError("Server disconnected without sending a response."),
            "server disconnected without sending a response",
        ),
    ],
)
def test_reason_of_a_failed_exchange_is_a_text(error: Exception, text: str) -> None:
    assert describe_transport_error(error) == text


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a TLS handshake as a server without TLS does."""
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


@pytest.mark.anyio
async def test_server_without_tls_is_told_of_in_words() -> None:
    async with (
        await asyncio.start_server(refuse, "127.0.0.1", 0) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(httpx.ConnectError) as failed:
            await client.get(f"https://127.0.0.1:{port}")
    assert describe_transport_error(failed.value) == "TLS failed (wrong version number)"


def test_certificate_that_is_not_trusted_is_told_of_in_words() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    text = describe_transport_error(caused(httpx.ConnectError("[SSL]"), error))
    assert text == "its certificate is not trusted (self-signed certificate)"
