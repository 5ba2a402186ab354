"""Fetches a file from a URL that a client or a tool has named, without reaching private servers.

    URL ─► parts ─► port ─► addresses, once ─► all public? ─► connect to one ─► 200? ─► chunks
            ▲                                                     │
            └──────────────── redirect, at most three ◄───────────┘

The host name is resolved once, and the connection goes to one of the addresses that were checked.
So a name that gets other addresses after the check (DNS rebinding) has no effect. The host name is
sent in the header `Host` and in TLS, which verifies it.

The fetcher uses no proxies, cookies, credentials or certificates of the environment, and sends no
data of the caller. It does not decompress, keep connections open, or retry. Its errors contain no
text of the server. The headers of a response are limited in size, and are not trusted.
"""

import functools
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

import anyio
import httpx

from app.errors import FetchBlockedError, UpstreamError, UpstreamTimeoutError
from app.models.limits import FetchPolicy
from app.services.fetching.resolving import FetchSlots, HostResolver, Resolve
from app.services.fetching.targets import (
    FetchRules,
    FetchTarget,
    IPAddress,
    parse_target,
    resolve_redirect,
)
from pagefault_dialects.media.file_names import disposition_filename, safe_file_name
from pagefault_dialects.media.types import canonical_mime_type

OpenTransport: TypeAlias = Callable[[], httpx.AsyncBaseTransport]
"""Creates the transport of one request. The host in the URL of the request is an IP address."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

# The number of addresses of a host that are tried. The first one often cannot be reached (IPv6
# without a route).
_MAX_ADDRESSES = 3

# The limits of concurrent fetches. Slow servers must not occupy all requests of the service.
_FETCHES_PER_PROJECT = 8
_MAX_FETCHES = 64


def check_encoding(headers: httpx.Headers) -> None:
    """Raise an error if a response is compressed.

    A few hundred compressed bytes can expand to gigabytes. So the fetcher does not decompress, and
    requests the coding `identity`.

    Raises:
        UpstreamError: The response has a content coding other than `identity`.
    """
    codings = headers.get("content-encoding", "").split(",")
    if any(coding.strip().lower() not in ("", "identity") for coding in codings):
        raise UpstreamError("The server the URL leads to sent a compressed answer.")


def read_declared_size(headers: httpx.Headers, limit_bytes: int) -> int | None:
    """Return the size that a response declares; `None` if it declares none.

    Raises:
        FetchBlockedError: The size is larger than the limit.
    """
    if "transfer-encoding" in headers:
        return None
    # The HTTP parser accepts only one `Content-Length`, with a limited number of digits.
    content_length = headers.get("content-length")
    if content_length is None:
        return None
    size_bytes = int(content_length)
    if size_bytes > limit_bytes:
        raise too_large_error(limit_bytes)
    return size_bytes


def too_large_error(limit_bytes: int) -> FetchBlockedError:
    """Return the error for a file above the limit."""
    return FetchBlockedError(
        f"The file is larger than the {limit_bytes} bytes that are fetched. Nothing was kept.",
        code="fetch-too-large",
    )


def read_declared_type(headers: httpx.Headers) -> str | None:
    """Return the MIME type that a response declares, in canonical form, if it is valid."""
    return canonical_mime_type(headers.get("content-type", ""))


def read_filename(headers: httpx.Headers, url: httpx.URL) -> str | None:
    """Return a safe file name from Content-Disposition, or from the last segment of the URL.

    Source: RFC 6266, section 4.3: `filename*` before `filename`.
    """
    header_name = disposition_filename(headers.get("content-disposition", ""))
    last_segment = url.raw_path.partition(b"?")[0].rpartition(b"/")[2]
    return safe_file_name(header_name) or safe_file_name(unquote(last_segment.decode("ascii")))


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """A response with a file. Its type, name and size are those that the server declares."""

    mime_type: str | None
    filename: str | None
    """The file name without dangerous characters."""
    size_bytes: int | None
    chunks: AsyncIterator[bytes]
    """The bytes of the file. The iterator raises the errors of `Fetcher.fetch`."""


class Fetcher:
    """Fetches files from the public internet, and from other hosts that the policy allows.

    Args:
        policy: The listed servers, and the limits of size and time.
        resolve: Returns the addresses of a host name. It is called once for each request. `None`
            for the resolver of the system.
        open_transport: Creates the transport of a request; `None` for `direct_transport`.

    Raises:
        ValueError: A listed server of the policy is not `host` or `host:port`.
    """

    def __init__(
        self,
        policy: FetchPolicy,
        *,
        resolve: Resolve | None = None,
        open_transport: OpenTransport | None = None,
    ) -> None:
        self._policy = policy
        self._rules = FetchRules(policy.allow)
        self._resolve = resolve or HostResolver(wait_seconds=policy.connect_seconds)
        self._open_transport = open_transport or direct_transport
        self._slots = FetchSlots(
            per_project=_FETCHES_PER_PROJECT,
            in_all=_MAX_FETCHES,
            wait_seconds=policy.connect_seconds,
        )

    @asynccontextmanager
    async def fetch(self, project_id: str, url: str) -> AsyncIterator[FetchedResponse]:
        """Open the file at a URL. The connection is closed at the end of the block.

        Args:
            project_id: The caller's project, whose concurrent fetches are limited.
            url: The URL.

        Raises:
            FetchesBusyError: The project, or all projects together, have too many fetches now.
            FetchBlockedError: The URL or a redirect is not allowed. Or, with the code
                `fetch-too-large`, the file is larger than the limit.
            UpstreamTimeoutError: A timeout of the policy has passed.
            UpstreamError: The host cannot be resolved or reached, or has no valid certificate. Or
                the status is not 200, there are too many redirects, or the response is compressed
                or incomplete.
        """
        target = parse_target(url)
        async with self._slots.slot(project_id):
            deadline = anyio.current_time() + self._policy.total_seconds
            for _ in range(self._policy.redirects + 1):
                async with self._request_file(project_id, target, deadline) as response:
                    location = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or location is None:
                        yield self._describe_response(target, response, deadline)
                        return
                    target = resolve_redirect(target, location)
            raise UpstreamError("The URL redirects too often.")

    @asynccontextmanager
    async def _request_file(
        self, project_id: str, target: FetchTarget, deadline: float
    ) -> AsyncIterator[httpx.Response]:
        """Send one request during the block, after the addresses of the target were checked."""
        addresses = await self._resolve_and_check(project_id, target, deadline)
        # Each request has its own connection. If TLS has verified a connection for a name, it must
        # not be used for another name at the same address.
        async with self._open_transport() as transport:
            with _translate_errors(deadline):
                response = await self._send_request(transport, target, addresses)
            try:
                yield response
            finally:
                await response.aclose()

    async def _resolve_and_check(
        self, project_id: str, target: FetchTarget, deadline: float
    ) -> Sequence[IPAddress]:
        """Return the addresses of a target; see `FetchRules` for the errors."""
        self._rules.check_port(target)
        addresses: Sequence[IPAddress]
        if target.host_address is not None:
            addresses = (target.host_address,)
        else:
            with _translate_errors(deadline):
                try:
                    addresses = await self._resolve(project_id, target.host, target.port)
                except TimeoutError:
                    raise
                except OSError as exc:
                    raise UpstreamError("The URL's host name does not resolve.") from exc
        self._rules.check_addresses(target, addresses)
        return addresses

    async def _send_request(
        self,
        transport: httpx.AsyncBaseTransport,
        target: FetchTarget,
        addresses: Sequence[IPAddress],
    ) -> httpx.Response:
        """Send a request to the first address that can be reached."""
        *earlier, last = addresses[:_MAX_ADDRESSES]
        for address in earlier:
            try:
                return await transport.handle_async_request(self._build_request(target, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await transport.handle_async_request(self._build_request(target, last))

    def _build_request(self, target: FetchTarget, address: IPAddress) -> httpx.Request:
        return httpx.Request(
            "GET",
            target.replace_host(address),
            headers={
                "Host": target.authority,
                "User-Agent": "pagefault/0.1",
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
            extensions={
                "sni_hostname": target.host,
                "timeout": {
                    "connect": self._policy.connect_seconds,
                    "read": self._policy.read_seconds,
                    "write": self._policy.read_seconds,
                    "pool": self._policy.connect_seconds,
                },
            },
        )

    def _describe_response(
        self, target: FetchTarget, response: httpx.Response, deadline: float
    ) -> FetchedResponse:
        """Check the status and the headers of a response; see `fetch` for the errors."""
        if response.status_code != 200:
            raise UpstreamError(
                f"The server the URL leads to answered with status {response.status_code}."
            )
        check_encoding(response.headers)
        return FetchedResponse(
            mime_type=read_declared_type(response.headers),
            filename=read_filename(response.headers, target.url),
            size_bytes=read_declared_size(response.headers, self._policy.max_bytes),
            chunks=self._read_chunks(response, deadline),
        )

    async def _read_chunks(self, response: httpx.Response, deadline: float) -> AsyncIterator[bytes]:
        """Yield the bytes of a response up to the limit of size; see `fetch` for the errors."""
        received_bytes = 0
        # `aiter_raw` does not decompress.
        raw = response.aiter_raw()
        while True:
            with _translate_errors(deadline):
                chunk = await anext(raw, None)
            if chunk is None:
                return
            received_bytes += len(chunk)
            if received_bytes > self._policy.max_bytes:
                raise too_large_error(self._policy.max_bytes)
            yield chunk


def direct_transport() -> httpx.AsyncBaseTransport:
    """Return a transport that ignores the environment, and keeps no connection open.

    The fetcher uses the transport without `httpx.AsyncClient`, which would log URLs and keep
    cookies.
    """
    return httpx.AsyncHTTPTransport(
        verify=_verified_tls(),
        trust_env=False,
        http1=True,
        http2=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        retries=0,
    )


@functools.cache
def _verified_tls() -> ssl.SSLContext:
    # Cached, because loading the certificate authorities takes longer than a request.
    return httpx.create_ssl_context(trust_env=False)


@contextmanager
def _translate_errors(deadline: float) -> Iterator[None]:
    """Raise errors of the service in place of network errors, and end the block at a deadline.

    The texts of network errors could tell a client about the network, so they are not used.

    Args:
        deadline: A time of `anyio.current_time`.
    """
    try:
        with anyio.fail_after(deadline - anyio.current_time()):
            yield
    except (TimeoutError, httpx.TimeoutException) as exc:
        raise UpstreamTimeoutError from exc
    except httpx.ConnectError as exc:
        raise UpstreamError(
            "The server the URL leads to cannot be reached, or has no valid certificate for its "
            "name."
        ) from exc
    except (httpx.HTTPError, OSError) as exc:
        raise UpstreamError(
            "The server the URL leads to broke off, or did not answer in HTTP. Nothing was kept."
        ) from exc
