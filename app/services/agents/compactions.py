"""Compacts conversations for clients of the Responses API, without calling a model.

The service stores a conversation as a session. The response has a *compaction item* in place of the
items of the conversation, with a signed handle of the session. If the client sends the item in a
later conversation, `compacted_beginnings.py` finds the session, and a rendering within a limit of
tokens evicts old steps.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from app.models.identity import new_id, utc_now
from app.models.limits import Limits
from app.services.access.callers import LinkSigner
from app.services.agents.compacted_beginnings import (
    CompactionGrant,
    find_beginning,
)
from app.services.agents.conversation_puts import ConversationPuts, ConversationQuery
from app.services.agents.conversation_units import make_message_units
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.requests.body_reader import BodyReader
from app.services.requests.validation import validate_model
from app.services.requests.whole_bodies import RequestBodies, chunks_of
from app.wire.responses import (
    Compaction,
    CompactionUsage,
    InputTokenCount,
    InputTokensDetails,
    OutputTokensDetails,
    ResponsesRequest,
)
from app.wire.shape import encode_raw
from pagefault_dialects.dialects.openai_responses import (
    find_compaction_handle,
    make_compaction_item,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes, json_text
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.streams.json_digests import SCHEME, json_digest
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.opening_turns import split_system_text
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import TARGETS

HANDLE_DAYS = 30
"""The time for which a compaction item is valid."""
_TARGET = "openai-responses"
_PROFILE = TARGETS[_TARGET]
DEFAULT_MAX_TOKENS = _PROFILE.window_tokens // 2
# Members that refer to responses or conversations that the provider has stored.
_UNSUPPORTED_MEMBERS = ("previous_response_id", "conversation")
_STORED_MEMBERS = ("input", "instructions", "model", "tools")


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of the Responses API."""

    members: JsonObject
    """The members that are stored."""
    items: list[JsonValue]
    """The items of `input`."""
    identity: str
    """A digest of the members, from which the ids of the session and of messages are derived."""

    def with_pointers(self) -> Iterator[tuple[str, JsonValue]]:
        """Yield the items, each with its JSON pointer."""
        for index, item in enumerate(self.items):
            yield f"/input/{index}", item


@dataclass(frozen=True, slots=True, eq=False)
class Compactions:
    """Compacts conversations, and counts their tokens."""

    puts: ConversationPuts
    """Stores conversations."""
    renders: SessionRenders
    """Fits stored conversations to a limit of tokens."""
    bodies: RequestBodies
    """Reads the bodies of requests."""
    signer: LinkSigner
    """Signs and verifies handles."""
    limits: Limits
    max_tokens: int
    """The limit of tokens of a compacted conversation, if a request names none."""

    async def compact(
        self, project_id: str, body: AsyncIterator[bytes], max_tokens: int | None
    ) -> Compaction:
        """Store a conversation, and return its user messages and a compaction item.

        If the conversation begins with a compaction item, its messages are appended to the session
        of that item.

        Args:
            project_id: The caller's project.
            body: A request of the Responses API as JSON.
            max_tokens: The limit of tokens of renderings of the conversation; `None` for the
                default.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The request is invalid, the
                session of a compaction item was deleted, or the limit of tokens is too small.
            StoreUnavailableError: A store did not answer.
        """
        budget = max_tokens or self.max_tokens
        async with self.bodies.read(body, self._parse) as request:
            session_id, last_seq = await self._put(project_id, request)
            user_messages = [*_find_user_messages(request)]
            trailing_items = await self.renders.resolver.run(
                partial(_find_trailing_items, request.items)
            )
        now = utc_now()
        stored = await self.puts.stored.load(project_id, session_id)
        expires_at = now + timedelta(days=HANDLE_DAYS)
        grant = CompactionGrant(
            project_id, session_id, stored.incarnation, last_seq, budget, expires_at
        )
        input_tokens = await self._count_session(grant, None)
        output_tokens = input_tokens
        if input_tokens > budget:
            output_tokens = await self._count_session(grant, budget)
        item = make_compaction_item(f"cmp_{new_id()}", grant.sign(self.signer))
        return Compaction(
            id=f"resp_{new_id()}",
            object="response.compaction",
            created_at=int(now.timestamp()),
            output=[*map(encode_raw, [*user_messages, item, *trailing_items])],
            usage=CompactionUsage(
                input_tokens=input_tokens,
                input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
                output_tokens=output_tokens,
                output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
                total_tokens=input_tokens + output_tokens,
            ),
        )

    async def count(self, project_id: str, body: AsyncIterator[bytes]) -> InputTokenCount:
        """Estimate the number of tokens of a request. Nothing is stored.

        A compaction item counts as the messages that it represents, within its limit of tokens.

        Raises:
            Exception: See `compact`.
        """
        async with self.bodies.read(body, self._parse) as request:
            # Called for its errors: the tokens of an unknown kind of item cannot be counted.
            await self.renders.resolver.run(partial(read_conversation, request.members))
            beginning = find_beginning(self.signer, project_id, request.with_pointers())
            tokens, items = 0, request.items
            if beginning is not None:
                await self.puts.load_beginning(project_id, beginning)
                tokens += await self._count_session(beginning.grant, beginning.grant.max_tokens)
                items = items[beginning.index + 1 :]
            tokens += await self._count_items(project_id, request.members, items)
            if tools := request.members.get("tools"):
                tokens += _PROFILE.tokens.count_text(json_text(tools))
        return InputTokenCount(object="response.input_tokens", input_tokens=tokens)

    def _parse(self, body: bytes) -> _Request:
        """Parse and validate the body of a request; see `compact` for the errors."""
        value = BodyReader(self.limits).read(body)
        validate_model(
            ResponsesRequest,
            value,
            "The body is no request of the Responses API without a model; `errors` says where.",
        )
        if refused := [name for name in _UNSUPPORTED_MEMBERS if value.get(name) is not None]:
            raise InvalidPayloadError(
                "Responses are not stored here: send the items of the conversation as `input`.",
                faults=[Fault(f"/{name}", "is not supported") for name in refused],
            )
        members = {name: value[name] for name in _STORED_MEMBERS if value.get(name) is not None}
        items = members["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        members["input"] = items
        return _Request(members, items, json_digest(members).removeprefix(SCHEME)[:32])

    async def _put(self, project_id: str, request: _Request) -> tuple[str, int]:
        """Store a conversation; return the id of its session and the `seq` of the last entry.

        If the session has gone on differently since the compaction item was made, the messages are
        stored in a fork of it.
        """
        beginning = find_beginning(self.signer, project_id, request.with_pointers())
        session_id = (
            f"compaction-{request.identity}" if beginning is None else beginning.grant.session_id
        )
        query = ConversationQuery(fork_id=f"compaction-{new_id()}")
        receipt = await self.puts.append(
            project_id, session_id, chunks_of(json_bytes(request.members)), query
        )
        return receipt.session_id or session_id, receipt.last_seq

    async def _count_session(self, grant: CompactionGrant, max_tokens: int | None) -> int:
        """Count the tokens of a stored conversation, after eviction down to `max_tokens`."""
        query = RenderQuery(_TARGET, RenderOptions(max_tokens=max_tokens))
        profile = self.renders.check(query)

        async def fit(loaded: LoadedSession) -> int:
            fitted = await self.renders.fit(grant.project_id, loaded, profile, query)
            return await self.renders.resolver.run(partial(_count_tokens, fitted.resolved, profile))

        async with self.renders.slots.slot(grant.project_id):
            return await self.renders.load_and_render(
                grant.project_id, grant.session_id, query, fit, up_to=grant.last_seq
            )

    async def _count_items(
        self, project_id: str, members: JsonObject, items: list[JsonValue]
    ) -> int:
        """Count the tokens of the items of a request, and of its instructions."""
        if not items and "instructions" not in members:
            return 0
        resolver = self.renders.resolver
        history = await resolver.run(partial(read_messages, {**members, "input": items}))
        resolved, _ = await resolver.fit(
            project_id, history.turns, _PROFILE, RenderOptions(), NOTHING_EVICTED, is_whole=True
        )
        return await resolver.run(partial(_count_tokens, resolved, _PROFILE))


def _count_tokens(resolved: ResolvedTurns, profile: Profile) -> int:
    system, turns = split_system_text(resolved.turns, profile)
    return profile.tokens.count_turns(turns, system)


def _find_trailing_items(items: Sequence[JsonValue]) -> Sequence[JsonObject]:
    """Return the items at the end that have no content, such as a reasoning item.

    They are not stored until a message follows, so they are returned to the client.
    """
    trailing: list[JsonObject] = []
    for item in reversed(items):
        if (
            not isinstance(item, dict)
            or find_compaction_handle(item)
            or make_message_units(item, {})
        ):
            break
        if item.get("role") != "user":
            trailing.append(item)
    return trailing[::-1]


def _find_user_messages(request: _Request) -> Iterator[JsonObject]:
    """Yield the messages of the user in a request, as items of a response."""
    for index, item in enumerate(request.items):
        if not isinstance(item, dict) or item.get("role") != "user":
            continue
        content = item.get("content")
        if isinstance(content, str):
            content = [{"type": "input_text", "text": content}]
        yield {
            "id": item.get("id") or f"msg_{request.identity}_{index}",
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": content,
        }
