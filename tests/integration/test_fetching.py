"""Fetching from a server that means harm: over real connections, which never leave loopback."""

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from app.errors import FetchBlockedError, UpstreamError, UpstreamTimeoutError
from app.models.limits import FetchPolicy
from app.services.fetching import Fetcher
from app.services.fetching.fetcher import OpenTransport
from app.services.fetching.targets import IPAddress
from pagefault_dialects.errors import PagefaultError
from tests.kit.hostile_origin import BOMB, PNG, SLOW, HostileOrigin, redirect

HOST = "files.test"
CAP_BYTES = 256 * 1024
WAIT_SECONDS = 60.0
IMPATIENT = FetchPolicy(
    max_bytes=CAP_BYTES, connect_seconds=0.3, read_seconds=0.3, total_seconds=0.6
)
PATIENT = FetchPolicy(
    max_bytes=CAP_BYTES,
    connect_seconds=WAIT_SECONDS,
    read_seconds=WAIT_SECONDS,
    total_seconds=WAIT_SECONDS,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def origin() -> Iterator[HostileOrigin]:
    with HostileOrigin() as origin:
        yield origin


@pytest.fixture
def canary() -> Iterator[HostileOrigin]:
    """A server of the inner network: whoever connects to it has got in."""
    with HostileOrigin() as canary:
        yield canary
        assert canary.connections == 0


@dataclass(frozen=True)
class Fetched:
    mime_type: str | None
    filename: str | None
    size_bytes: int | None
    content: bytes


async def on_loopback(project_id: str, host: str, port: int) -> Sequence[IPAddress]:
    return [ip_address("127.0.0.1")]


def fetcher_for(
    origin: HostileOrigin, policy: FetchPolicy, open_transport: OpenTransport | None = None
) -> Fetcher:
    listed = policy.model_copy(update={"allow": (f"{HOST}:{origin.port}",)})
    return Fetcher(listed, resolve=on_loopback, open_transport=open_transport)


def url_of(origin: HostileOrigin, path: str, scheme: str = "http") -> str:
    return f"{scheme}://{HOST}:{origin.port}{path}"


async def fetched(fetcher: Fetcher, url: str, received: list[bytes] | None = None) -> Fetched:
    """The file; what came of one that fails is in `received`."""
    pieces = [] if received is None else received
    async with fetcher.fetch("p", url) as response:
        async for chunk in response.chunks:
            pieces.append(chunk)
        return Fetched(response.mime_type, response.filename, response.size_bytes, b"".join(pieces))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/ok.png", Fetched("image/png", "ok.png", len(PNG), PNG)),
        ("/ok.png?a=b#c", Fetched("image/png", "ok.png", len(PNG), PNG)),
        ("/named", Fetched("image/png", "a.png", len(PNG), PNG)),
        ("/chunked", Fetched("text/plain", "chunked", None, b"onetwo")),
        ("/until-close", Fetched("text/plain", "until-close", None, b"until the end")),
        ("/empty", Fetched(None, "empty", 0, b"")),
        # The length is where the answer ends; what follows is no part of it.
        ("/longer-than-said", Fetched(None, "longer-than-said", 5, b"short")),
    ],
)
@pytest.mark.anyio
async def test_file_is_fetched_whole(origin: HostileOrigin, path: str, expected: Fetched) -> None:
    assert await fetched(fetcher_for(origin, PATIENT), url_of(origin, path)) == expected


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A fetch uses nothing of the environment: no proxy, no netrc",
    kept_by="app/services/fetching/fetcher.py",
    tried="0 headers",
)
@pytest.mark.anyio
async def test_request_carries_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, canary: HostileOrigin
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    (tmp_path / "netrc").write_text(f"machine {HOST} login user password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    cookie = b"HTTP/1.1 302 F\r\nSet-Cookie: a=b\r\nLocation: /ok.png\r\nContent-Length: 0\r\n\r\n"
    with HostileOrigin({"/cookie": cookie}) as origin:
        await fetched(fetcher_for(origin, PATIENT), url_of(origin, "/cookie"))
        assert origin.requests == [
            f"GET {path} HTTP/1.1\r\nHost: {HOST}:{origin.port}\r\nUser-Agent: pagefault/0.1\r\n"
            "Accept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n"
            for path in ("/cookie", "/ok.png")
        ]
        assert origin.connections == 2


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A slow server is given up",
    kept_by="app/services/fetching/fetcher.py",
    tried="7 ways to be slow, with limits of less than a second",
)
@pytest.mark.parametrize("path", SLOW)
@pytest.mark.anyio
async def test_slow_server_is_given_up(origin: HostileOrigin, path: str) -> None:
    with anyio.fail_after(WAIT_SECONDS), pytest.raises(UpstreamTimeoutError):
        await fetched(fetcher_for(origin, IMPATIENT), url_of(origin, path))


@pytest.mark.parametrize(
    "path",
    [
        "/absurd-length",
        "/two-lengths",
        "/negative-length",
        "/shorter-than-said",
        "/torn-chunk",
        "/torn-chunks",
        "/bad-chunk-size",
        "/endless-chunk-size",
        "/endless-trailers",
        "/reset-head",
        "/reset-body",
        "/hang-up",
        "/garbage",
        "/old",
        "/ssh",
        "/bad-header",
        "/huge-headers",
        "/endless-header",
        "/switching",
        "/gzip",
        "/bomb",
        "/hidden-bomb",
        "/brotli",
        "/transfer-gzip",
        "/loop",
        "/nowhere",
    ],
)
@pytest.mark.anyio
async def test_answer_that_is_not_a_whole_file_is_an_upstream_error(
    origin: HostileOrigin, path: str
) -> None:
    with pytest.raises(UpstreamError) as failed:
        await fetched(fetcher_for(origin, PATIENT), url_of(origin, path))
    assert failed.value.problem_code == "upstream-error"


@pytest.mark.parametrize(
    "status", [201, 203, 204, 206, 300, 304, 400, 401, 403, 404, 407, 429, 500, 503, 599, 999]
)
@pytest.mark.anyio
async def test_any_other_status_than_200_is_named(status: int) -> None:
    answer = f"HTTP/1.1 {status} <script>\r\nContent-Length: 0\r\n\r\n".encode()
    with HostileOrigin({"/x": answer}) as origin, pytest.raises(UpstreamError) as failed:
        await fetched(fetcher_for(origin, PATIENT), url_of(origin, "/x"))
    assert failed.value.detail == f"The server the URL leads to answered with status {status}."


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A file without an end, or with a false length, is refused at the size limit",
    kept_by="app/services/fetching/fetcher.py",
    tried="3 ways",
)
@pytest.mark.parametrize("path", ["/endless", "/endless-chunks", "/announced-too-large"])
@pytest.mark.anyio
async def test_file_beyond_the_cap_is_refused(origin: HostileOrigin, path: str) -> None:
    received: list[bytes] = []
    with pytest.raises(FetchBlockedError) as refused:
        await fetched(fetcher_for(origin, PATIENT), url_of(origin, path), received)
    assert refused.value.problem_code == "fetch-too-large"
    assert sum(map(len, received)) <= CAP_BYTES


@pytest.mark.parametrize(("spare", "is_fetched"), [(0, True), (-1, False)])
@pytest.mark.anyio
async def test_the_cap_is_exact(origin: HostileOrigin, spare: int, is_fetched: bool) -> None:
    fetcher = fetcher_for(origin, PATIENT.model_copy(update={"max_bytes": len(b"onetwo") + spare}))
    try:
        assert (await fetched(fetcher, url_of(origin, "/chunked"))).content == b"onetwo"
    except FetchBlockedError:
        assert not is_fetched
    else:
        assert is_fetched


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A compressed answer is never unpacked",
    kept_by="app/services/fetching/fetcher.py",
    tried="0 bytes",
)
@pytest.mark.anyio
async def test_bomb_is_never_unpacked(origin: HostileOrigin) -> None:
    answer = await fetched(fetcher_for(origin, PATIENT), url_of(origin, "/undeclared-bomb"))
    assert answer.content == BOMB


@pytest.mark.promise(
    "security.md#the-inner-network",
    "Three redirects are followed and the fourth is not",
    kept_by="app/services/fetching/targets.py",
    tried="3",
)
@pytest.mark.anyio
async def test_third_redirect_is_followed_and_the_fourth_is_not() -> None:
    hops = {f"/{left}": redirect(f"/{left - 1}") for left in (4, 3, 2)}
    with HostileOrigin(hops | {"/1": redirect("ok.png")}) as origin:
        fetcher = fetcher_for(origin, PATIENT)
        assert (await fetched(fetcher, url_of(origin, "/3"))).content == PNG
        assert origin.paths == ["/3", "/2", "/1", "/ok.png"]
        origin.requests.clear()
        with pytest.raises(UpstreamError):
            await fetched(fetcher, url_of(origin, "/4"))
        assert origin.paths == ["/4", "/3", "/2", "/1"]


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A redirect to the inner network reaches no server",
    kept_by="app/services/fetching/targets.py",
    tried="10 locations, 0 hits on the canary",
)
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://2130706433:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://" + HOST + ":{port}/",
        "//" + HOST + ":{port}/",
        "http://" + HOST + "@127.0.0.1:{port}/",
        "http://" + HOST + "/",
        "file:///etc/passwd",
        "ftp://127.0.0.1:{port}/",
    ],
)
@pytest.mark.anyio
async def test_redirect_never_reaches_another_server(location: str, canary: HostileOrigin) -> None:
    answer = redirect(location.format(port=canary.port))
    with HostileOrigin({"/x": answer}) as origin:
        with pytest.raises(FetchBlockedError):
            await fetched(fetcher_for(origin, PATIENT), url_of(origin, "/x"))
        assert origin.paths == ["/x"]


@pytest.mark.anyio
async def test_inner_server_is_reached_by_no_url(canary: HostileOrigin) -> None:
    fetcher = Fetcher(PATIENT, resolve=on_loopback)
    for host in (HOST, "127.0.0.1", "[::ffff:127.0.0.1]", "2130706433"):
        with pytest.raises(FetchBlockedError):
            await fetched(fetcher, f"http://{host}:{canary.port}/")


@pytest.mark.anyio
async def test_closed_port_is_an_upstream_error() -> None:
    with HostileOrigin() as origin:
        fetcher, url = fetcher_for(origin, PATIENT), url_of(origin, "/ok.png")
    with pytest.raises(UpstreamError):
        await fetched(fetcher, url)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(OSError("no such name"), UpstreamError), (TimeoutError(), UpstreamTimeoutError)],
)
@pytest.mark.anyio
async def test_name_that_does_not_resolve_is_an_upstream_fault(
    fault: OSError, expected: type[PagefaultError]
) -> None:
    async def failing(project_id: str, host: str, port: int) -> Sequence[IPAddress]:
        raise fault

    with pytest.raises(PagefaultError) as failed:
        await fetched(Fetcher(PATIENT, resolve=failing), "http://a.test/")
    assert type(failed.value) is expected


@pytest.mark.anyio
async def test_slow_resolver_is_given_up() -> None:
    async def silent(project_id: str, host: str, port: int) -> Sequence[IPAddress]:
        await anyio.Event().wait()
        return []

    with anyio.fail_after(WAIT_SECONDS), pytest.raises(UpstreamTimeoutError):
        await fetched(Fetcher(IMPATIENT, resolve=silent), "http://a.test/")


@pytest.mark.anyio
async def test_leaving_early_closes_the_connection() -> None:
    with HostileOrigin() as origin:
        async with fetcher_for(origin, PATIENT).fetch("p", url_of(origin, "/endless")) as response:
            assert await anext(response.chunks)
        assert origin.paths == ["/endless"]
    # The server floods until its client has gone, and its own end waits for that.


@pytest.mark.anyio
async def test_file_arrives_piece_by_piece(origin: HostileOrigin) -> None:
    async with fetcher_for(origin, PATIENT).fetch(
        "p", url_of(origin, "/dripping-chunks")
    ) as response:
        pieces = [await anext(response.chunks) for _ in range(3)]
    assert b"".join(pieces).strip(b"a") == b""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> "Authority":
    return Authority(tmp_path_factory.mktemp("tls") / "server.pem")


class Authority:
    """A certificate for the test host, and what a client needs to believe it."""

    def __init__(self, path: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self._public = certificate.public_bytes(serialization.Encoding.PEM).decode()
        path.write_bytes(secret + self._public.encode())
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(path)

    def transport(self) -> httpx.AsyncBaseTransport:
        """The connector of a client that believes this certificate."""
        trusting = ssl.create_default_context(cadata=self._public)
        return httpx.AsyncHTTPTransport(verify=trusting, trust_env=False)


@pytest.mark.anyio
async def test_certificate_is_checked_for_the_name_and_not_the_address(
    authority: Authority,
) -> None:
    with HostileOrigin(tls=authority.server) as origin:
        fetcher = fetcher_for(origin, PATIENT, authority.transport)
        assert (await fetched(fetcher, url_of(origin, "/ok.png", "https"))).content == PNG


@pytest.mark.anyio
async def test_certificate_for_another_name_is_refused(authority: Authority) -> None:
    with HostileOrigin(tls=authority.server) as origin:
        policy = PATIENT.model_copy(update={"allow": (f"other.test:{origin.port}",)})
        fetcher = Fetcher(policy, resolve=on_loopback, open_transport=authority.transport)
        with pytest.raises(UpstreamError):
            await fetched(fetcher, f"https://other.test:{origin.port}/ok.png")
        assert origin.paths == []


@pytest.mark.anyio
async def test_certificate_nobody_vouches_for_is_refused(authority: Authority) -> None:
    with HostileOrigin(tls=authority.server) as origin:
        with pytest.raises(UpstreamError):
            await fetched(fetcher_for(origin, PATIENT), url_of(origin, "/ok.png", "https"))
        assert origin.paths == []


@pytest.mark.anyio
async def test_server_without_tls_is_an_upstream_error_for_https(origin: HostileOrigin) -> None:
    with pytest.raises(UpstreamError):
        await fetched(fetcher_for(origin, IMPATIENT), url_of(origin, "/ok.png", "https"))
