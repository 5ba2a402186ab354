"""Diagnosis and repair of a history of any dialect.

A repair is a rendering: the history is read as turns, fitted to the limits and rules of a target,
and written as messages of the target. Nothing is stored, and nothing is fetched.

Source: design document `context.md`, "Healing".
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import load_reading, read_message_turns
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.session_entries import MAX_TEXT_BYTES, load_session
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.dialects.message_registry import read_message
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.surrogates import find_lone_surrogates
from pagefault_dialects.json.values import (
    JsonValue,
    parse_json,
    parse_stored_json,
    repair_surrogates,
)
from pagefault_dialects.messages.diagnosis import (
    diagnose,
    has_target_form,
    make_entry_pointer,
    remove_sent_messages,
)
from pagefault_dialects.messages.histories import (
    find_body_dialect,
    find_main_dialect,
    list_sent_messages,
)
from pagefault_dialects.messages.reading import (
    ReadHistory,
    locate_loss,
    pair_turns,
    read_messages,
)
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.rendered_documents import build_document
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.rules import make_finding, shorten_quote
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.text_windows import without_lone_surrogates

_UNICODE_ESCAPE = b"\\u"
MAX_MESSAGES = 30_000
"""The maximum number of messages in a sent history. Each message may have findings and losses, and
freeing their objects blocks the event loop: a tenth of a second for 60,000 messages."""


@dataclass(frozen=True, slots=True)
class DoctorQuery:
    """Options of an examination."""

    target: str | None = None
    """The target of the history; `None` for the dialect of the history."""
    dialect: Dialect | None = None
    """The intended dialect of the history; `None` for the dialect of most messages."""
    max_tokens: int | None = None
    """The maximum number of tokens of the repaired history; `None` for no limit."""
    applies: bool = False
    """True if the diagnosis includes the repaired history."""


@dataclass(frozen=True, slots=True)
class _ParsedBody:
    """The value of a body, and the findings about its JSON."""

    value: JsonValue
    """The value, with U+FFFD for lone surrogates."""
    findings: Sequence[Finding]
    """The repeated keys and the lone surrogates."""


@dataclass(frozen=True, slots=True)
class _ExaminedHistory:
    """A history that is to be diagnosed: sent messages, or the entries of a session."""

    history: ReadHistory
    dialect: Dialect | None
    """The dialect of most messages, if it can be detected."""
    sent: Sequence[JsonValue] = ()
    """The messages as they were sent."""
    findings: Sequence[Finding] = ()
    """The findings about the JSON of the body."""
    is_session: bool = False
    """True if the history is a session of the store."""


@dataclass(frozen=True, slots=True, eq=False)
class Doctor:
    """Diagnoses and repairs histories."""

    records: Records
    """The store of sessions."""
    blobs: BlobStore
    """The store of the media of sessions."""
    resolver: TurnResolver
    """Fits a history to a target."""
    bodies: RequestBodies
    """Reads a history within the memory budget."""
    limits: Limits
    """The limits of the JSON of a history."""

    async def examine(
        self, project_id: str, body: AsyncIterator[bytes], query: DoctorQuery
    ) -> RenderedBody:
        """Diagnose a history.

        Args:
            project_id: The caller's project.
            body: A request with messages in any dialect, or `{"sessionId": …}`.
            query: The target, and the options of the repair.

        Returns:
            A JSON object: the target, the dialect, the findings, the losses of a repair and, with
            `query.applies`, the repaired history.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is not a history.
            NotFoundError: The project has no such session.
        """
        parse = partial(_parse, max_depth=self.limits.json_depth, max_nodes=self.limits.json_nodes)
        async with self.bodies.read(body, parse) as parsed:
            value = parsed.value
            session_id = value.get("sessionId") if isinstance(value, dict) else None
            if session_id is None:
                examined = await self.resolver.run(partial(_read_history, parsed))
            else:
                examined = await self._read_session(project_id, session_id)
            del parsed, value
            pieces = await self._diagnose(project_id, examined, query)
        diagnosis = RenderedBody(self.blobs, project_id, replace(pieces, digest=None))
        await diagnosis.check()
        return diagnosis

    async def _read_session(self, project_id: str, session_id: JsonValue) -> _ExaminedHistory:
        if not isinstance(session_id, str) or CLIENT_ID.fullmatch(session_id) is None:
            raise InvalidPayloadError(
                "This is no id of a session.", faults=[Fault("/sessionId", "is no id")]
            )
        loaded = await load_session(self.records, self.blobs, project_id, session_id)
        return await self.resolver.run(partial(_read_session_history, loaded))

    async def _diagnose(
        self, project_id: str, examined: _ExaminedHistory, query: DoctorQuery
    ) -> Rendering:
        history, dialect = examined.history, query.dialect or examined.dialect
        profile = TARGETS[query.target or dialect or "openai-chat"]
        options = RenderOptions(max_tokens=query.max_tokens)
        is_session = examined.is_session
        fitted, _ = await self.resolver.fit(
            project_id, history.turns, profile, options, NOTHING_EVICTED, is_whole=True
        )
        examine = partial(diagnose, history, profile, fitted.loss, dialect)
        diagnosed = await self.resolver.run(
            partial(examine, sent=examined.sent, is_session=is_session)
        )
        findings = [*examined.findings, *diagnosed]
        if diagnosed:
            rewritten = await self.resolver.run(partial(remove_sent_messages, history.turns))
            fitted, _ = await self.resolver.fit(
                project_id, rewritten, profile, options, NOTHING_EVICTED, is_whole=True
            )

        def write_diagnosis() -> Rendering:
            is_valid = not (findings or is_session) and has_target_form(
                history, profile.target, dialect
            )
            loss = fitted.loss
            if not is_session:
                loss = tuple(locate_loss(loss, history.messages))
            repaired_document = build_document(replace(fitted, loss=loss), profile, options)
            document: dict[str, Node] = {
                "target": repaired_document["target"],
                "profile": repaired_document["profile"],
                "dialect": dialect,
                "findings": [JsonLeaf(finding.wire()) for finding in findings],
                "loss": [] if is_valid else repaired_document["loss"],
                "tokensEst": repaired_document["tokensEst"],
            }
            if query.applies:
                names = ("system", "messages")
                document |= {
                    name: repaired_document[name] for name in names if name in repaired_document
                }
                if is_valid:
                    # A history without faults, in the form of its target, is returned as sent.
                    document["messages"] = [JsonLeaf(item) for item in examined.sent]
            return json_pieces(document)

        return await self.resolver.run(write_diagnosis)


def _read_session_history(session: LoadedSession) -> _ExaminedHistory:
    """Return the history of a session, one message for each entry."""
    messages = [ForeignMessage("", None)] * session.last_seq
    turns: list[ComposedTurn] = []
    recorded: list[ComposedTurn] = []
    sent: list[JsonValue] = []
    for entry in session.entries:
        entry_turns = session.read_entry_turns(entry, "assistant")
        turns += entry_turns
        if isinstance(entry, StoredHistoryMessage):
            messages[entry.seq - 1] = _read_entry_message(entry)
            sent.append(parse_stored_json(entry.sent))
            # Short media are stored inside texts, and are found there as in a sent history.
            entry_turns = read_message_turns(
                entry,
                session.resources,
                audience="assistant",
                origin=entry_turns[0].origin if entry_turns else "",
                finds_media=True,
            )
        recorded += entry_turns
    history = replace(pair_turns(messages, turns, closes_calls=True), recorded=recorded)
    return _ExaminedHistory(history, find_main_dialect(messages), sent, is_session=True)


def _read_entry_message(entry: StoredHistoryMessage) -> ForeignMessage:
    """Return the first message of an entry in common form, with its dialect and its pointer."""
    pointer = make_entry_pointer(entry.seq)
    reading = load_reading(entry)
    if reading is None:
        return read_message(parse_stored_json(entry.message), pointer)[0]
    first = reading.messages[0]
    message_pointer = "/message" if entry.is_wrapped else ""
    return replace(first, pointer=f"{pointer}{message_pointer}{first.pointer}")


def _parse(body: bytes, *, max_depth: int, max_nodes: int) -> _ParsedBody:
    """Return the value of a body, and the findings about its JSON. For errors see `parse_json`."""
    keys = RepeatedKeys()
    value = parse_json(
        body,
        max_depth=max_depth,
        max_nodes=max_nodes,
        keeps_spelling=True,
        make_object=keys.make_object,
    )
    findings = [
        make_finding("repeated-key", pointer, actual=shorten_quote(key))
        for pointer, key in keys.find_pointers(value)
    ]
    lone = [*find_lone_surrogates(value)] if _UNICODE_ESCAPE in body else []
    findings += (
        make_finding("half-surrogate", pointer, actual=shorten_quote(without_lone_surrogates(text)))
        for pointer, text in lone
    )
    return _ParsedBody(repair_surrogates(value, keeps_spelling=True) if lone else value, findings)


def _read_history(parsed: _ParsedBody) -> _ExaminedHistory:
    """Return the history in a body.

    Raises:
        InvalidPayloadError: The body has no history.
        PayloadTooLargeError: It has more messages or text than any model reads.
    """
    value = parsed.value
    messages = list_sent_messages(value)
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES:
        raise PayloadTooLargeError(
            f"The history has {len(messages):,} messages; at most {MAX_MESSAGES:,} are examined, "
            "which is more than any model reads. Send its last part.",
            faults=[Fault("/messages", "has too many messages")],
        )
    history = read_messages(value, closes=True)
    items = (item for turn in history.recorded for item in turn.items)
    if sum(len(item.text) for item in items if isinstance(item, TextItem)) > MAX_TEXT_BYTES:
        raise PayloadTooLargeError(
            f"The history has more than {MAX_TEXT_BYTES} characters beside its media, which is "
            "more than any model reads."
        )
    dialect = find_body_dialect(value, history.messages)
    return _ExaminedHistory(history, dialect, messages, parsed.findings)
