"""Wrapped tools, which store their results."""

import dataclasses
import functools
import inspect
import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from clients.python.tests.servers import CuttingProxy
from pagefault_client import AsyncPagefault, NotFoundError, Pagefault, Session
from pagefault_client.rendered_content import WrapTarget


@dataclasses.dataclass
class Point:
    x: int
    y: float


def test_a_function_returns_what_the_model_should_see(
    pf: Pagefault, session: Session, png: bytes
) -> None:
    def shot(url: str, *, full: bool = False) -> dict[str, object]:
        """Take a picture."""
        return {"url": url, "full": full, "image": png}

    wrapped = pf.wrap(shot, session=session)
    content = wrapped("https://shop.example", full=True)
    (entry,) = session.messages()
    assert entry["entry"] == "tool_result"
    handle = entry["sanitized"]["resources"][0]["uri"]
    assert (entry["name"], content.splitlines()) == (
        "shot",
        [
            f'{{"url":"https://shop.example","full":true,"image":"@{handle}"}}',
            "",
            f"[Image: image/png ({len(png) / 1000:.1f} kB)]",
            "",
            f"[image @{handle} 300\u00d7200]",
        ],
    )
    assert (wrapped.__doc__, inspect.signature(wrapped)) == (shot.__doc__, inspect.signature(shot))


def test_another_target_has_images_in_it(pf: Pagefault, session: Session, png: bytes) -> None:
    for target, kinds in {
        "anthropic": ["image", "text"],
        "openai-responses": ["input_image", "input_text"],
        "langchain": ["image", "text"],
    }.items():
        content = pf.wrap(lambda: png, session=session, name="shot", target=target)()  # type: ignore[arg-type]
        assert [block["type"] for block in content] == kinds


def test_long_text_is_shown_in_part(pf: Pagefault, session: Session) -> None:
    content = pf.wrap(lambda: "line\n" * 10_000, session=session, name="log")()
    assert len(content) < 6_000
    assert "characters left out; the whole text is blob:" in content


def test_an_error_is_stored_and_raised(pf: Pagefault, session: Session) -> None:
    def fail() -> None:
        raise ValueError("no such page")

    with pytest.raises(ValueError, match="no such page"):
        pf.wrap(fail, session=session.id)()
    (entry,) = session.messages()
    assert entry["entry"] == "tool_result"
    assert (entry["sanitized"]["meta"]["success"], entry["sanitized"]["parts"]) == (
        False,
        [{"type": "text", "text": "ValueError: no such page"}],
    )


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "`wrap` returns the tool's own result if it cannot be stored",
    kept_by="clients/python/src/pagefault_client/_async/memory.py",
    tried="12 outages: down, silent, cut, 401, 413, 500, 503, other answers; 4 targets",
)
def test_a_result_that_cannot_be_stored_is_returned_untouched(
    outage: str, png: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    circle: list[object] = []
    circle.append(circle)
    away = Pagefault(outage, timeout=0.05, max_retries=0)
    targets: list[WrapTarget] = ["text", "anthropic", "openai-responses", "mcp"]
    for value in (None, "ten", {"image": png}, [png, Point(1, 2.0)], Point(1, 2.0), circle):
        for target in targets:
            wrapped = away.wrap(lambda: value, session="s", name="t", target=target)  # noqa: B023
            caplog.clear()
            assert wrapped() is value
            assert "the result of t (" in caplog.text


@pytest.mark.anyio
async def test_a_result_that_cannot_be_stored_is_returned_untouched_by_an_awaited_tool(
    outage: str, png: bytes
) -> None:
    value = {"image": png}

    async def shot() -> object:
        return value

    async def fail() -> object:
        raise LookupError("no such page")

    async with AsyncPagefault(outage, timeout=0.05, max_retries=0) as client:
        assert await client.wrap(shot, session="s")() is value
        with pytest.raises(LookupError, match="no such page"):
            await client.wrap(fail, session="s")()
    away = Pagefault(outage, timeout=0.05, max_retries=0)
    assert await away.wrap(shot, session="s")() is value


def test_a_service_that_dies_on_the_way_breaks_no_tool(
    proxy: CuttingProxy, session: Session, png: bytes
) -> None:
    client = Pagefault(proxy.url, timeout=5, max_retries=0)
    # It stores the second result, and its answer is cut.
    proxy.cuts = [None, -200]
    shot = client.wrap(lambda: png, session=session.id, name="shot")
    assert "@blob:" in shot()
    proxy.cut_all()
    assert shot() is png
    proxy.close()
    assert shot() is png
    assert len(session.messages().all()) == 2


@pytest.mark.anyio
async def test_what_awaits_is_awaited(url: str, pf: Pagefault, session: Session) -> None:
    async def clock() -> str:
        return "ten"

    assert await pf.wrap(clock, session=session)() == "ten"
    async with AsyncPagefault(url) as client:
        assert await client.wrap(clock, session=session.id)() == "ten"
        assert await client.wrap(lambda: "eleven", session=session.id, name="clock")() == "eleven"
    assert len(session.messages().all()) == 3


@pytest.mark.anyio
async def test_blocking_clients_await_what_is_an_async_def(session: Session, pf: Pagefault) -> None:
    class Clock:
        async def tell(self, city: str) -> str:
            return f"ten in {city}"

        async def __call__(self) -> str:
            return "eleven"

    async def call_tool(name: str) -> str:
        return name

    tell = functools.partial(Clock().tell, "Graz")
    assert await pf.wrap(tell, session=session)() == "ten in Graz"
    assert await pf.wrap(Clock(), session=session)() == "eleven"
    assert await pf.wrap(functools.partial(call_tool, "shop"), session=session)() == "shop"
    with pytest.raises(TypeError, match=r"coroutine, which has to be awaited.*AsyncPagefault"):
        pf.wrap(lambda: Clock().tell("Linz"), session=session)()
    names = [entry["name"] for entry in session.messages() if entry["entry"] == "tool_result"]
    assert names == ["tell", "Clock", "shop"]


def test_a_result_of_nothing_is_said_to_be_nothing(pf: Pagefault, session: Session) -> None:
    results: list[object] = [None, "", [], {}]
    content = [pf.wrap(lambda: results.pop(0), session=session, name="f")() for _ in range(4)]
    assert content == ["The tool returned nothing.", "The tool returned nothing.", "[]", "{}"]
    assert len(session.messages().all()) == 4


def test_a_name_that_takes_more_than_a_line_is_not_shown(pf: Pagefault, session: Session) -> None:
    assert pf.wrap(lambda: "ten", session=session, name="a \n" * 40)() == "ten"


@pytest.mark.parametrize(
    ("target", "message"),
    [("openapi", r"no target 'openapi'.*text, mcp, anthropic"), ("openai-chat", "use a turn")],
)
def test_an_unknown_target_is_refused_before_a_tool_runs(
    pf: Pagefault, target: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pf.wrap(lambda: "ten", session="s", target=target)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        AsyncPagefault().wrap(lambda: "ten", session="s", target=target)  # type: ignore[arg-type]


def test_items_of_a_generator_are_stored_and_its_errors_are_those_of_the_tool(
    pf: Pagefault, session: Session
) -> None:
    def count(last: int, error: Exception | None = None) -> Iterator[int]:
        yield from range(last)
        if error:
            raise error

    counting = pf.wrap(count, session=session)
    assert counting(3) == "[0,1,2]"
    with pytest.raises(LookupError, match="no more"):
        counting(2, LookupError("no more"))
    outcomes = [
        (entry["sanitized"]["meta"]["success"], entry["sanitized"]["parts"])
        for entry in session.messages()
        if entry["entry"] == "tool_result"
    ]
    assert outcomes == [
        (True, [{"type": "text", "text": "[0,1,2]"}]),
        (False, [{"type": "text", "text": "LookupError: no more"}]),
    ]


def test_generator_that_cannot_be_stored_yields_all_of_its_items(
    pf: Pagefault, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    endless = pf.wrap(itertools.count, session=session)()
    assert list(itertools.islice(endless, 1_100_000)) == list(range(1_100_000))
    assert "is an iterator of more than 64 MiB" in caplog.text
    away = Pagefault("http://127.0.0.1:9", max_retries=0)
    assert list(away.wrap(lambda: iter([1, 2]), session="s", name="f")()) == [1, 2]
    with pytest.raises(NotFoundError):
        session.get()


@pytest.mark.anyio
async def test_items_of_an_asynchronous_generator_are_stored_and_yielded(
    url: str, session: Session
) -> None:
    async def count(last: int) -> AsyncIterator[int]:
        for number in range(last):
            yield number

    async with AsyncPagefault(url) as client:
        assert await client.wrap(count, session=session.id)(3) == "[0,1,2]"
    async with AsyncPagefault("http://127.0.0.1:9", max_retries=0) as away:
        items = await away.wrap(count, session="s")(3)
        assert [item async for item in items] == [0, 1, 2]
