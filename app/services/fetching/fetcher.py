"""Fetching one file by its URL: judged, dialled where it was judged, read under a cap.

    URL ─► parts ─► port ─► addresses, once ─► all public? ─► dial one of them ─► 200? ─► chunks
            ▲                                                     │
            └──────────────── redirect, at most three ◄───────────┘

The address that was judged is the address that is dialled: the connection goes to an IP literal,
and the name travels in `Host` and in TLS, which verifies it. A name that changes its mind between
the two (DNS rebinding) changes nothing.

It refuses to: use proxies, cookies, credentials or certificates from the environment; send
anything of the caller's; decompress; keep connections; retry. Nothing the other side wrote appears
in an error; what its headers say of the file are claims, each bounded and none trusted.
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
    redirect_target,
)
from pagefault_dialects.media.file_names import disposition_filename, safe_file_name
from pagefault_dialects.media.types import canonical_mime_type

OpenTransport: TypeAlias = Callable[[], httpx.AsyncBaseTransport]
"""Makes the connector of one request; it has to dial the URL's host as it is."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

# A host with a dead address first is common (IPv6 without a route); one with many is not worth it.
_ADDRESSES_TRIED = 3

# A project whose servers are slow holds no more of the requests that are worked on at once.
_PER_PROJECT = 8
_IN_ALL = 64


def check_encoding(headers: httpx.Headers) -> None:
    """Refuse an answer that is compressed although nobody asked for it.

    A few hundred compressed bytes can stand for gigabytes, so nothing is ever decompressed.

    Raises:
        UpstreamError: There is a content coding other than identity.
    """
    codings = headers.get("content-encoding", "").split(",")
    if any(coding.strip().lower() not in ("", "identity") for coding in codings):
        raise UpstreamError("The server the URL leads to sent a compressed answer.")


def announced_size(headers: httpx.Headers, limit_bytes: int) -> int | None:
    """Return the announced size, `None` if it shows at the end only.

    Raises:
        FetchBlockedError: It is larger than the limit.
    """
    if "transfer-encoding" in headers:
        return None
    # The protocol's parser has made sure that there is one, of digits, and not many of them.
    announced = headers.get("content-length")
    if announced is None:
        return None
    size_bytes = int(announced)
    if size_bytes > limit_bytes:
        raise too_large(limit_bytes)
    return size_bytes


def too_large(limit_bytes: int) -> FetchBlockedError:
    """Return the error for a file beyond the limit."""
    return FetchBlockedError(
        f"The file is larger than the {limit_bytes} bytes that are fetched. Nothing was kept.",
        code="fetch-too-large",
    )


def declared_mime_type(headers: httpx.Headers) -> str | None:
    """Return the declared type, canonical and without parameters, if it is one."""
    return canonical_mime_type(headers.get("content-type", ""))


def claimed_filename(headers: httpx.Headers, url: httpx.URL) -> str | None:
    """Return a safe file name: from Content-Disposition, else the end of the URL's path.

    Source: RFC 6266, section 4.3: `filename*` before `filename`.
    """
    named = disposition_filename(headers.get("content-disposition", ""))
    last_segment = url.raw_path.partition(b"?")[0].rpartition(b"/")[2]
    return safe_file_name(named) or safe_file_name(unquote(last_segment.decode("ascii")))


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """A file on its way.

    `mime_type`, `filename` (a safe one) and `size_bytes` are what the server says of it; `chunks`
    yields its bytes once, and raises what `Fetcher.fetch` does if it does not come whole.
    """

    mime_type: str | None
    filename: str | None
    size_bytes: int | None
    chunks: AsyncIterator[bytes]


class Fetcher:
    """Fetches files from the public internet, and from hosts the policy lists.

    Args:
        policy: What is allowed, how much, how long.
        resolve: Gives the addresses of a host name; asked once for every request. The system's
            resolver by default.
        open_transport: Makes the connector of a request.

    Raises:
        ValueError: The policy lists something that is not a host or host:port.
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
            per_project=_PER_PROJECT, in_all=_IN_ALL, wait_seconds=policy.connect_seconds
        )

    @asynccontextmanager
    async def fetch(self, project_id: str, url: str) -> AsyncIterator[FetchedResponse]:
        """Open the file at a URL; leaving the context closes its connection.

        Raises:
            FetchesBusyError: The project, or all of them, fetch as many files as they may.
            FetchBlockedError: The service does not fetch this URL or one it redirects to; with
                code `fetch-too-large`, the file is larger than the policy takes.
            UpstreamTimeoutError: A time of the policy is over.
            UpstreamError: No address, no connection, no valid certificate, another status than
                200, too many redirects, a compressed answer, or one that broke off.
        """
        target = parse_target(url)
        async with self._slots.slot(project_id):
            deadline = anyio.current_time() + self._policy.total_seconds
            for _ in range(self._policy.redirects + 1):
                async with self._answer(project_id, target, deadline) as response:
                    location = response.headers.get("location")
                    if response.status_code not in _REDIRECTS or location is None:
                        yield self._fetched(target, response, deadline)
                        return
                    target = redirect_target(target, location)
            raise UpstreamError("The URL redirects too often.")

    @asynccontextmanager
    async def _answer(
        self, project_id: str, target: FetchTarget, deadline: float
    ) -> AsyncIterator[httpx.Response]:
        addresses = await self._judged_addresses(project_id, target, deadline)
        # Connections are never shared: one that TLS verified for a name must not serve another
        # name at the same address.
        async with self._open_transport() as transport:
            with _upstream_errors(deadline):
                response = await self._dial(transport, target, addresses)
            try:
                yield response
            finally:
                await response.aclose()

    async def _judged_addresses(
        self, project_id: str, target: FetchTarget, deadline: float
    ) -> Sequence[IPAddress]:
        self._rules.check_port(target)
        addresses: Sequence[IPAddress]
        if target.literal is not None:
            addresses = (target.literal,)
        else:
            with _upstream_errors(deadline):
                try:
                    addresses = await self._resolve(project_id, target.host, target.port)
                except TimeoutError:
                    raise
                except OSError as exc:
                    raise UpstreamError("The URL's host name does not resolve.") from exc
        self._rules.check_addresses(target, addresses)
        return addresses

    async def _dial(
        self,
        transport: httpx.AsyncBaseTransport,
        target: FetchTarget,
        addresses: Sequence[IPAddress],
    ) -> httpx.Response:
        *first, last = addresses[:_ADDRESSES_TRIED]
        for address in first:
            try:
                return await transport.handle_async_request(self._request(target, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await transport.handle_async_request(self._request(target, last))

    def _request(self, target: FetchTarget, address: IPAddress) -> httpx.Request:
        return httpx.Request(
            "GET",
            target.at(address),
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

    def _fetched(
        self, target: FetchTarget, response: httpx.Response, deadline: float
    ) -> FetchedResponse:
        if response.status_code != 200:
            raise UpstreamError(
                f"The server the URL leads to answered with status {response.status_code}."
            )
        check_encoding(response.headers)
        return FetchedResponse(
            mime_type=declared_mime_type(response.headers),
            filename=claimed_filename(response.headers, target.url),
            size_bytes=announced_size(response.headers, self._policy.max_bytes),
            chunks=self._chunks(response, deadline),
        )

    async def _chunks(self, response: httpx.Response, deadline: float) -> AsyncIterator[bytes]:
        received_bytes = 0
        # Raw: httpx would otherwise decompress whatever claims to be compressed.
        raw = response.aiter_raw()
        while True:
            with _upstream_errors(deadline):
                chunk = await anext(raw, None)
            if chunk is None:
                return
            received_bytes += len(chunk)
            if received_bytes > self._policy.max_bytes:
                raise too_large(self._policy.max_bytes)
            yield chunk


def direct_transport() -> httpx.AsyncBaseTransport:
    """Return a connector that takes nothing from the environment and keeps no connection.

    It is used without httpx's client, which would log URLs and keep cookies.
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
    # Reading the certificate authorities takes longer than a whole request.
    return httpx.create_ssl_context(trust_env=False)


@contextmanager
def _upstream_errors(deadline: float) -> Iterator[None]:
    """Turn what can go wrong on the way into the service's own errors, without their texts."""
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
