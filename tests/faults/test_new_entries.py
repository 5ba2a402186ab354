"""Renderings of what is new by a process that knows the beginning of a session, beside whole ones.

`TORTURE=long` runs many more histories:

    TORTURE=long python -m pytest tests/faults/test_new_entries.py
"""

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from app.config.settings import Settings
from app.errors import ConflictError, NotFoundError
from app.features import open_services
from app.services.agents.session_turns import SessionTurns
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.new_entries import NewEntries
from app.services.renders.prefix_cache import PrefixCache
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.renders.session_windows import SessionWindows
from app.services.renders.turn_cache import TurnCache
from app.services.sessions.sessions import Sessions
from app.stores.blobs.store import BlobStore
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.records import Records
from app.wiring.services import Services
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.call_results import PrefixChangedError
from tests.faults.lengths import times
from tests.kit.media import b64, png

PROJECT = "default"
_MAX_BYTES = 40_960
_MAX_LONG_BUDGET = 250
"""A quarter of those bytes has more tokens in every history."""
_numbers = itertools.count()
_ids = st.sampled_from(["a", "b", "c", "d"])
_names = st.sampled_from(["look", "find"])
_PICTURES = [b64(png(side, side)) for side in (2, 3, 4)]

Json = dict[str, Any]


def _said(role: str, text: str) -> Json:
    return {"message": {"role": role, "content": text}}


def _called(calls: list[tuple[str, str]], text: str = "") -> Json:
    arguments = json_text({"text": text} if text else {})
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name in calls
    ]
    return {"message": {"role": "assistant", "content": None, "tool_calls": made}}


def _answered(call_id: str, text: str) -> Json:
    return {"message": {"role": "tool", "tool_call_id": call_id, "content": text}}


def _result(call_id: str, name: str, picture: str | None, rows: int) -> Json:
    content: list[Json] = [{"type": "text", "text": f"{name} found it."}]
    if picture is not None:
        content.append({"type": "image", "data": picture, "mimeType": "image/png"})
    result: Json = {"content": content}
    if rows:
        result["structuredContent"] = {"rows": ["row"] * rows}
    return {"toolResult": {"toolName": name, "toolCallId": call_id, "result": result}}


_pictures = st.sampled_from([None, None, *_PICTURES])
_entries = st.one_of(
    st.builds(
        _said, st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["x", "y "])
    ),
    st.builds(_called, st.lists(st.tuples(_ids, _names), min_size=1, max_size=2)),
    st.builds(_called, st.lists(st.tuples(_ids, _names), min_size=1, max_size=1)),
    st.builds(_answered, _ids, st.sampled_from(["found", ""])),
    st.builds(_result, _ids, _names, _pictures, st.sampled_from([0, 0, 0, 20_000])),
)


@dataclass(frozen=True)
class _Step:
    """A call and its result are appended, so many times."""

    count: int
    picture: str | None
    rows: int
    chars: int = 0
    """The length of the arguments."""

    def entries(self) -> Iterator[Json]:
        """Yield the calls and the results."""
        for _ in range(self.count):
            call_id = f"call{next(_numbers)}"
            yield _called([(call_id, "look")], "word " * (self.chars // 5))
            yield _result(call_id, "look", self.picture, self.rows)


@dataclass(frozen=True)
class _Rendered:
    """The session is rendered, from so many entries before its end."""

    target: str
    back: int
    handles: bool


@dataclass(frozen=True)
class _Fitted:
    """The session is rendered within a budget from a frontier."""

    target: str
    budget: int
    back: int
    """From so many entries before its end; 0 for all of it."""
    moves: bool
    """The frontier moves."""


@dataclass(frozen=True)
class _Begun:
    """The session is deleted, and another one of its name begun."""


_renderings = st.builds(_Rendered, st.sampled_from([*TARGETS]), st.integers(0, 8), st.booleans())
_whole_steps = st.builds(_Step, st.just(1), _pictures, st.sampled_from([0, 0, 0, 0, 20_000]))
_fitted = st.builds(
    _Fitted,
    st.sampled_from([*TARGETS]),
    st.sampled_from([100, 150, 250, 500]),
    st.sampled_from([0, 0, 1, 3]),
    st.booleans(),
)
_steps = st.one_of(*[_entries] * 8, *[_whole_steps] * 10, *[_renderings] * 12, st.just(_Begun()))
_histories = st.lists(_steps, min_size=16, max_size=40)

_more_steps = st.builds(_Step, st.integers(2, 9), _pictures, st.sampled_from([0, 0, 0, 0, 20_000]))
_writes = st.builds(_Step, st.integers(5, 30), _pictures, st.just(0), st.sampled_from([300, 900]))
_tasks = st.one_of(*[_entries] * 2, *[_more_steps] * 8, *[_writes] * 2, *[_fitted] * 8)
_long_tasks = st.lists(_tasks, min_size=12, max_size=30).map(
    lambda steps: [_said("user", "x"), _Step(40, None, 0, 900), *steps]
)


async def _pieces(value: Json) -> AsyncIterator[bytes]:
    yield json_text(value).encode()


@dataclass(frozen=True)
class _Store:
    """An open store, and the renderer of what is new that is tried."""

    services: Services
    new_entries: NewEntries
    windows: SessionWindows

    async def append(self, session_id: str, *entries: Json) -> None:
        """Append entries; a second answer to a call is a conflict, and appends none of them."""
        try:
            await self.services[SessionTurns].append(
                PROJECT, session_id, _pieces({"entries": entries}), idempotency_key=None
            )
        except ConflictError:
            return

    async def compare(self, session_id: str, step: _Rendered) -> bool:
        """Render what is new, and the whole; return whether there was something to compare."""
        renders = self.services[SessionRenders]
        options = RenderOptions(handles=step.handles)
        query, profile = RenderQuery(step.target, options), TARGETS[step.target]
        try:
            loaded = await self.windows.load_whole(PROJECT, session_id)
        except NotFoundError:
            return False
        since = max(1, loaded.last_seq - step.back)
        new = await self.new_entries.render(PROJECT, session_id, profile, options, since)
        whole = await renders.render_loaded(
            PROJECT, loaded, profile, query, since=since, stores_frontier=False
        )
        if new is None:
            return False
        assert await self._text(new) == await self._text(whole)
        return True

    async def compare_windows(self, session_id: str, step: _Fitted) -> bool:
        """Render the session behind its fold, as a longer one, and whole; move the frontier."""
        renders = self.services[SessionRenders]
        options = RenderOptions(max_tokens=step.budget, frontier="main")
        query, profile = RenderQuery(step.target, options), TARGETS[step.target]
        found = await self.services[Records].read(
            PROJECT, lambda unit: unit[FrontierRecords].find(session_id, "main")
        )
        frontier = found.frontier if found else NOTHING_EVICTED
        try:
            loaded = await self.windows.load_whole(PROJECT, session_id)
        except NotFoundError:
            return False
        since = max(1, loaded.last_seq - step.back) if step.back else 0
        windows = [
            await self.windows.load(PROJECT, session_id, options, frontier, is_long=is_long)
            for is_long in ((False, True) if step.budget <= _MAX_LONG_BUDGET else (False,))
        ]

        async def text(session: LoadedSession) -> bytes:
            try:
                rendering = await renders.render_loaded(
                    PROJECT, session, profile, query, since=since, stores_frontier=False
                )
            except InvalidPayloadError as exc:
                return exc.detail.encode()
            return await self._text(rendering)

        compared = False
        for window in windows:
            try:
                if window is not None:
                    assert await text(window) == await text(loaded)
                    compared = True
            except PrefixChangedError:
                fallback = await self.windows.load(
                    PROJECT, session_id, options, frontier, is_long=True, freezes_turns=True
                )
                # It differs from the whole one, but has a rendering.
                assert fallback is None or await text(fallback)
        with suppress(InvalidPayloadError):
            if step.moves:
                await renders.render_session(
                    PROJECT, session_id, query, since=0, stores_frontier=True
                )
        return compared

    async def _text(self, rendering: Rendering) -> bytes:
        body = await self.services[SessionRenders].tool_results.build_body(PROJECT, rendering)
        return b"".join([chunk async for chunk in body.chunks()])

    async def run(self, steps: list[Any]) -> int:
        """Do what happens to a session; return how often something was compared."""
        session_id, compared = f"s{next(_numbers)}", 0
        for step in steps:
            if isinstance(step, _Rendered):
                compared += await self.compare(session_id, step)
            elif isinstance(step, _Fitted):
                compared += await self.compare_windows(session_id, step)
            elif isinstance(step, _Step):
                await self.append(session_id, *step.entries())
            elif isinstance(step, _Begun):
                try:
                    await self.services[Sessions].delete(PROJECT, session_id)
                except NotFoundError:
                    continue
            else:
                await self.append(session_id, step)
        return compared


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[_Store]:
    async with open_services(Settings(data_dir=folder, log_level="error")) as services:
        resolver, turns = services[SessionRenders].resolver, TurnCache()
        readers = services[Records], services[BlobStore], resolver, turns
        new_entries, windows = (
            NewEntries(*readers, stride=1),
            SessionWindows(*readers, stride=1, max_bytes=_MAX_BYTES),
        )
        yield _Store(services, new_entries, windows)


async def _session_without_room(store: _Store) -> None:
    """Render a session whose facts have no room in memory."""
    readers = store.new_entries
    given = readers.records, readers.blobs, readers.resolver, readers.turn_cache
    forgetful = replace(
        store,
        new_entries=NewEntries(*given, stride=1, prefixes=PrefixCache(max_bytes=0)),
        windows=SessionWindows(*given, stride=1, prefixes=PrefixCache(max_bytes=0)),
    )
    steps: list[Any] = [
        _said("user", "x"),
        _Step(40, None, 0),
        *[_Fitted("anthropic", 300, 0, moves=True)] * 3,
    ]
    with fail_after(60):
        assert await forgetful.run(steps) == await store.run(steps) > 0
        assert await forgetful.run([*steps[:2], _Rendered("anthropic", 1, handles=False)]) == 0


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def store(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Store]:
    with portal.wrap_async_context_manager(_opened(tmp_path_factory.mktemp("store"))) as store:
        yield store


@settings_of(
    max_examples=times(60, 10_000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=_histories)
def test_what_is_new_is_the_same_with_and_without_what_is_remembered(
    portal: BlockingPortal, store: _Store, steps: list[Any]
) -> None:
    portal.call(store.run, steps)


@settings_of(
    max_examples=times(60, 10_000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=_long_tasks)
def test_a_window_is_rendered_as_the_whole_session(
    portal: BlockingPortal, store: _Store, steps: list[Any]
) -> None:
    portal.call(store.run, steps)


def test_session_without_room_for_its_facts_is_rendered_all_the_same(
    portal: BlockingPortal, store: _Store
) -> None:
    portal.call(_session_without_room, store)
