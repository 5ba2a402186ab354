"""Addresses that are dialled; the connector is replaced, so that no packet leaves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

import httpx
import pytest

from app.errors import FetchBlockedError, UpstreamError
from app.models.limits import FetchPolicy
from app.services.fetching import Fetcher
from app.services.fetching.resolving import HostResolver
from app.services.fetching.targets import FetchRules, IPAddress
from tests.kit.hostile_origin import PNG

PUBLIC = "93.184.216.34"
OTHER_PUBLIC = "2606:4700:4700::1111"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Resolver:
    """Answers from a table, another answer each time if there are several; counts its questions."""

    answers: Mapping[str, Sequence[str]]
    asked: Counter[str] = field(default_factory=Counter)

    async def __call__(self, project_id: str, host: str, port: int) -> Sequence[IPAddress]:
        turns = self.answers[host]
        answer = turns[min(self.asked[host], len(turns) - 1)]
        self.asked[host] += 1
        return [ip_address(address) for address in answer.split()]


@dataclass
class Dialler:
    """Stands in for the network: records what is dialled and answers as it is told."""

    answers: Mapping[str, httpx.Response] = field(default_factory=dict)
    refusing: frozenset[str] = frozenset()
    dialled: list[tuple[str, str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self) -> httpx.AsyncBaseTransport:
        return httpx.MockTransport(self._answer)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        name = request.extensions["sni_hostname"]
        self.dialled.append((str(request.url), request.headers["host"], name))
        self.headers = request.headers.multi_items()
        if request.url.host in self.refusing:
            raise httpx.ConnectError("refused", request=request)
        return self.answers.get(
            request.headers["host"], httpx.Response(200, stream=httpx.ByteStream(PNG))
        )


async def fetched(
    url: str, resolver: Resolver, dialler: Dialler, allow: tuple[str, ...] = ()
) -> bytes:
    fetcher = Fetcher(FetchPolicy(allow=allow), resolve=resolver, open_transport=dialler)
    async with fetcher.fetch("p", url) as response:
        return b"".join([chunk async for chunk in response.chunks])


def redirecting(location: str, status: int = 302) -> httpx.Response:
    return httpx.Response(status, headers={"Location": location})


@pytest.mark.anyio
async def test_the_judged_address_is_dialled_under_the_name() -> None:
    resolver, dialler = Resolver({"a.test": [PUBLIC]}), Dialler()
    assert await fetched("https://A.test/x?y#z", resolver, dialler) == PNG
    assert dialler.dialled == [(f"https://{PUBLIC}/x?y", "a.test", "a.test")]
    assert resolver.asked == {"a.test": 1}


@pytest.mark.anyio
async def test_literal_address_is_dialled_without_asking() -> None:
    resolver, dialler = Resolver({}), Dialler()
    await fetched(f"http://[{OTHER_PUBLIC}]/x", resolver, dialler)
    assert dialler.dialled == [
        (f"http://[{OTHER_PUBLIC}]/x", f"[{OTHER_PUBLIC}]", OTHER_PUBLIC),
    ]


@pytest.mark.promise(
    "security.md#the-inner-network",
    "No header of the caller is forwarded",
    kept_by="app/services/fetching/fetcher.py",
    tried="0 headers",
)
@pytest.mark.anyio
async def test_only_our_own_headers_are_sent() -> None:
    dialler = Dialler()
    await fetched("http://a.test/", Resolver({"a.test": [PUBLIC]}), dialler)
    assert dialler.headers == [
        ("host", "a.test"),
        ("user-agent", "pagefault/0.1"),
        ("accept", "*/*"),
        ("accept-encoding", "identity"),
        ("connection", "close"),
    ]


@pytest.mark.promise(
    "security.md#the-inner-network",
    "A host name with one address that is not public is refused",
    kept_by="app/services/fetching/fetcher.py",
    tried="12 answers",
)
@pytest.mark.parametrize(
    "answer",
    [
        "127.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "0.1.2.3",
        "::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "fe80::1%lo",
        f"{PUBLIC} 10.0.0.1",
        f"10.0.0.1 {PUBLIC}",
        f"{OTHER_PUBLIC} ::1",
    ],
)
@pytest.mark.anyio
async def test_name_with_any_address_that_is_not_public_is_never_dialled(answer: str) -> None:
    dialler = Dialler()
    with pytest.raises(FetchBlockedError) as refused:
        await fetched("http://a.test/", Resolver({"a.test": [answer]}), dialler)
    assert (refused.value.problem_code, dialler.dialled) == ("fetch-blocked", [])


@pytest.mark.promise(
    "security.md#the-inner-network",
    "An unusual spelling of an address is judged by the address it means",
    kept_by="app/services/fetching/fetcher.py",
    tried="27 spellings",
)
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "017700000001",
        "0177.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "0",
        "0.0.0.0.",
        "localhost",
        "LOCALHOST.",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "168.63.129.16",
        "[::]",
        "[::1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1%25lo]",
        "[fec0::1]",
    ],
)
@pytest.mark.anyio
async def test_every_spelling_of_an_inner_address_is_refused_by_what_it_means(host: str) -> None:
    dialler = Dialler()
    fetcher = Fetcher(FetchPolicy(), resolve=HostResolver(wait_seconds=30), open_transport=dialler)
    with pytest.raises(FetchBlockedError):
        async with fetcher.fetch("p", f"http://{host}/"):
            pass
    assert dialler.dialled == []


@pytest.mark.promise(
    "security.md#the-inner-network",
    "The address that was checked is the one that is dialled, whatever the name resolves to next",
    kept_by="app/services/fetching/fetcher.py",
    tried="1 resolution",
)
@pytest.mark.anyio
async def test_name_that_changes_its_mind_is_dialled_where_it_was_judged() -> None:
    resolver, dialler = Resolver({"a.test": [PUBLIC, "127.0.0.1"]}), Dialler()
    assert await fetched("http://a.test/", resolver, dialler) == PNG
    assert [dialled[0] for dialled in dialler.dialled] == [f"http://{PUBLIC}/"]
    with pytest.raises(FetchBlockedError):
        await fetched("http://a.test/", resolver, dialler)
    assert len(dialler.dialled) == 1


@pytest.mark.anyio
async def test_redirect_back_to_a_name_that_changed_its_mind_is_refused() -> None:
    resolver = Resolver({"a.test": [PUBLIC, "169.254.169.254"]})
    dialler = Dialler({"a.test": redirecting("http://a.test/latest/meta-data/")})
    with pytest.raises(FetchBlockedError):
        await fetched("http://a.test/", resolver, dialler)
    assert [dialled[0] for dialled in dialler.dialled] == [f"http://{PUBLIC}/"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.anyio
async def test_redirect_is_judged_and_dialled_anew(status: int) -> None:
    resolver = Resolver({"a.test": [PUBLIC], "b.test": [OTHER_PUBLIC]})
    dialler = Dialler({"a.test": redirecting("//b.test/y", status)})
    assert await fetched("https://a.test/x", resolver, dialler) == PNG
    assert dialler.dialled == [
        (f"https://{PUBLIC}/x", "a.test", "a.test"),
        (f"https://[{OTHER_PUBLIC}]/y", "b.test", "b.test"),
    ]


@pytest.mark.promise(
    "security.md#the-inner-network",
    "Every redirect is checked like the first URL",
    kept_by="app/services/fetching/fetcher.py",
    tried="11 locations",
)
@pytest.mark.parametrize(
    "location",
    [
        "http://inner.test/",
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://a.test:22/",
        "http://a.test:6379/",
        "file:///etc/passwd",
        "gopher://a.test/",
        "data:text/plain,x",
        "http://user@a.test/",
        "http://a.test/a b",
    ],
)
@pytest.mark.anyio
async def test_redirect_into_the_inner_network_is_not_followed(location: str) -> None:
    resolver = Resolver({"a.test": [PUBLIC], "inner.test": ["10.0.0.1"]})
    dialler = Dialler({"a.test": redirecting(location)})
    with pytest.raises(FetchBlockedError):
        await fetched("http://a.test/", resolver, dialler)
    assert len(dialler.dialled) == 1


@pytest.mark.anyio
async def test_redirect_from_https_to_http_is_not_followed() -> None:
    dialler = Dialler({"a.test": redirecting("http://a.test/")})
    with pytest.raises(FetchBlockedError):
        await fetched("https://a.test/", Resolver({"a.test": [PUBLIC]}), dialler)
    assert len(dialler.dialled) == 1


@pytest.mark.promise(
    "security.md#the-inner-network",
    "Only the ports of http and https are dialled, and those that are listed",
    kept_by="app/services/fetching/targets.py",
    tried="4 ports",
)
@pytest.mark.parametrize(
    ("port", "is_fetched"), [(80, True), (443, True), (8080, False), (22, False)]
)
@pytest.mark.anyio
async def test_only_the_ports_of_the_web_are_dialled(port: int, is_fetched: bool) -> None:
    resolver, dialler = Resolver({"a.test": [PUBLIC]}), Dialler()
    try:
        await fetched(f"http://a.test:{port}/", resolver, dialler)
    except FetchBlockedError:
        # A port that is refused is not worth a question to the resolver.
        assert resolver.asked == {}
    assert bool(dialler.dialled) == is_fetched


@pytest.mark.parametrize(
    ("allow", "url", "is_fetched"),
    [
        ("inner.test", "http://inner.test/", True),
        ("inner.test", "https://inner.test/", True),
        ("inner.test", "http://inner.test:8080/", False),
        ("Inner.Test.", "http://inner.test/", True),
        ("inner.test:8080", "http://inner.test:8080/", True),
        ("inner.test:8080", "http://INNER.test.:8080/", True),
        ("inner.test:8080", "http://inner.test/", False),
        ("inner.test:8080", "http://inner.test:8081/", False),
        ("inner.test:8080", "http://sub.inner.test:8080/", False),
        ("inner.test:8080", "http://127.0.0.1:8080/", False),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
        ("127.0.0.1:8080", "http://inner.test:8080/", False),
        ("127.0.0.1:8080", "http://2130706433:8080/", False),
        ("[::1]:8080", "http://[0:0::1]:8080/", True),
        ("::1", "http://[::1]/", True),
        ("::1", "http://[::1]:8080/", False),
    ],
)
@pytest.mark.anyio
async def test_listed_host_and_port_may_have_any_address(
    allow: str, url: str, is_fetched: bool
) -> None:
    inner = ["127.0.0.1"]
    resolver = Resolver({"inner.test": inner, "sub.inner.test": inner, "2130706433": inner})
    dialler = Dialler()
    try:
        await fetched(url, resolver, dialler, (allow,))
    except FetchBlockedError:
        assert not is_fetched
    assert bool(dialler.dialled) == is_fetched


@pytest.mark.parametrize(
    "entry", ["", "a b", "http://a.test", "a.test/x", "u@a.test", "a.test:x", "*.test", "[::1"]
)
def test_list_with_something_else_than_hosts_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="host"):
        FetchRules([entry])


@pytest.mark.anyio
async def test_next_address_is_tried_where_one_is_dead() -> None:
    resolver = Resolver({"a.test": [f"{OTHER_PUBLIC} {PUBLIC}"]})
    dialler = Dialler(refusing=frozenset({OTHER_PUBLIC}))
    assert await fetched("http://a.test/", resolver, dialler) == PNG
    assert [dialled[0] for dialled in dialler.dialled] == [
        f"http://[{OTHER_PUBLIC}]/",
        f"http://{PUBLIC}/",
    ]


@pytest.mark.anyio
async def test_host_that_refuses_at_every_address_is_an_upstream_error() -> None:
    resolver = Resolver({"a.test": ["1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4"]})
    dialler = Dialler(refusing=frozenset({"1.1.1.1", "1.1.1.2", "1.1.1.3"}))
    with pytest.raises(UpstreamError):
        await fetched("http://a.test/", resolver, dialler)
    assert len(dialler.dialled) == 3


@pytest.mark.anyio
async def test_name_without_an_address_is_an_upstream_error() -> None:
    dialler = Dialler()
    with pytest.raises(UpstreamError):
        await fetched("http://a.test/", Resolver({"a.test": [""]}), dialler)
    assert dialler.dialled == []


@pytest.mark.anyio
async def test_refusals_repeat_nothing_of_the_url_or_the_answer() -> None:
    dialler = Dialler({"a.test": redirecting("http://secret.test/token")})
    resolver = Resolver({"a.test": [PUBLIC], "secret.test": ["10.9.8.7"]})
    with pytest.raises(FetchBlockedError) as refused:
        await fetched("http://a.test/?key=hidden", resolver, dialler)
    assert not any(word in refused.value.detail for word in ("secret", "token", "hidden", "10.9"))
