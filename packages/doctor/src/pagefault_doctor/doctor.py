"""Diagnose and repair a history of any dialect.

A repair is a rendering: the history is read as turns, fitted to a target, and written. Nothing is
stored, and nothing is fetched.

Source: `context`, "Healing".
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import stored_message_turns, stored_reading
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.session_entries import MAX_TEXT_BYTES, load_session
from app.services.renders.turn_resolver import TurnResolver
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.surrogates import lone_surrogates
from pagefault_dialects.json.values import (
    JsonValue,
    parse_json,
    parse_stored_json,
    repair_surrogates,
)
from pagefault_dialects.messages.diagnosis import (
    diagnose,
    entry_pointer,
    is_home,
    without_originals,
)
from pagefault_dialects.messages.histories import (
    Dialect,
    ForeignMessage,
    body_dialect,
    foreign_message,
    main_dialect,
    sent_messages,
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
from pagefault_dialects.rendered_documents import document_of
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.rules import make_finding, shorten_quote
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.text_windows import without_lone_surrogates

_ESCAPE = b"\\u"
MAX_MESSAGES = 30_000
"""The longest foreign history. Each message may have findings and losses: freeing the objects of
60,000 messages alone blocks the event loop for a tenth of a second."""


@dataclass(frozen=True, slots=True)
class DoctorQuery:
    """Options of an examination."""

    target: str | None = None
    """The target of the history; by default, its own dialect."""
    dialect: Dialect | None = None
    """The intended dialect; by default, that of most messages."""
    max_tokens: int | None = None
    """The most tokens that the repaired history may have."""
    applies: bool = False
    """The answer includes the repaired history."""


@dataclass(frozen=True, slots=True)
class _ParsedBody:
    """The value of a body, and the faults of its JSON."""

    value: JsonValue
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class _Patient:
    """A history under examination: foreign messages, or the turns of a session."""

    history: ReadHistory
    dialect: Dialect | None
    sent: Sequence[JsonValue] = ()
    findings: Sequence[Finding] = ()
    is_session: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Doctor:
    """Examines histories."""

    records: Records
    """The sessions."""
    blobs: BlobStore
    """Their media."""
    resolver: TurnResolver
    """Fits a history to a target."""
    bodies: RequestBodies
    """Reads a history within the memory budget."""
    limits: Limits
    """The limits of its JSON."""

    async def examine(
        self, project_id: str, body: AsyncIterator[bytes], query: DoctorQuery
    ) -> RenderedBody:
        """Diagnose a history; return its findings, the loss of a repair, and the repaired history.

        Args:
            project_id: The caller's project.
            body: A request with messages in any dialect, or `{"sessionId": …}`.
            query: The target, and the options of the repair.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is not a history.
            NotFoundError: The project has no such session.
        """
        parse = partial(_parse, max_depth=self.limits.json_depth, max_nodes=self.limits.json_nodes)
        async with self.bodies.read(body, parse) as parsed:
            value = parsed.value
            session_id = value.get("sessionId") if isinstance(value, dict) else None
            if session_id is None:
                patient = await self.resolver.run(partial(_read_history, parsed))
            else:
                patient = await self._read_session(project_id, session_id)
            del parsed, value
            pieces = await self._diagnose(project_id, patient, query)
        answer = RenderedBody(self.blobs, project_id, replace(pieces, digest=None))
        await answer.check()
        return answer

    async def _read_session(self, project_id: str, session_id: JsonValue) -> _Patient:
        if not isinstance(session_id, str) or CLIENT_ID.fullmatch(session_id) is None:
            raise InvalidPayloadError(
                "This is no id of a session.", faults=[Fault("/sessionId", "is no id")]
            )
        loaded = await load_session(self.records, self.blobs, project_id, session_id)
        return await self.resolver.run(partial(_patient_of_session, loaded))

    async def _diagnose(self, project_id: str, patient: _Patient, query: DoctorQuery) -> Rendering:
        history, main = patient.history, query.dialect or patient.dialect
        profile = TARGETS[query.target or main or "openai-chat"]
        options = RenderOptions(max_tokens=query.max_tokens)
        is_session = patient.is_session
        fitted, _ = await self.resolver.fit(
            project_id, history.turns, profile, options, NOTHING_EVICTED, is_whole=True
        )
        examine = partial(diagnose, history, profile, fitted.loss, main)
        diagnosed = await self.resolver.run(
            partial(examine, sent=patient.sent, is_session=is_session)
        )
        findings = [*patient.findings, *diagnosed]
        if diagnosed:
            rewritten = await self.resolver.run(partial(without_originals, history.turns))
            fitted, _ = await self.resolver.fit(
                project_id, rewritten, profile, options, NOTHING_EVICTED, is_whole=True
            )

        def write_answer() -> Rendering:
            is_sound = not (findings or is_session) and is_home(history, profile.target, main)
            loss = fitted.loss
            if not is_session:
                loss = tuple(locate_loss(loss, history.messages))
            repaired_document = document_of(replace(fitted, loss=loss), profile, options)
            document: dict[str, Node] = {
                "target": repaired_document["target"],
                "profile": repaired_document["profile"],
                "dialect": main,
                "findings": [JsonLeaf(finding.wire()) for finding in findings],
                "loss": [] if is_sound else repaired_document["loss"],
                "tokensEst": repaired_document["tokensEst"],
            }
            if query.applies:
                names = ("system", "messages")
                document |= {
                    name: repaired_document[name] for name in names if name in repaired_document
                }
                if is_sound:
                    # A sound history in its own dialect is returned as it was sent.
                    document["messages"] = [JsonLeaf(item) for item in patient.sent]
            return json_pieces(document)

        return await self.resolver.run(write_answer)


def _patient_of_session(session: LoadedSession) -> _Patient:
    """Return the history of a session, one message for each entry."""
    messages = [ForeignMessage("", None)] * session.last_seq
    turns: list[ComposedTurn] = []
    recorded: list[ComposedTurn] = []
    sent: list[JsonValue] = []
    for entry in session.entries:
        read = session.turns_of(entry, "assistant")
        turns += read
        if isinstance(entry, StoredHistoryMessage):
            messages[entry.seq - 1] = _entry_message(entry)
            sent.append(parse_stored_json(entry.sent))
            # Short media stay in a text, and are found there as in a foreign history.
            read = stored_message_turns(
                entry,
                session.resources,
                audience="assistant",
                origin=read[0].origin if read else "",
                finds_media=True,
            )
        recorded += read
    history = replace(pair_turns(messages, turns, closes=True), recorded=recorded)
    return _Patient(history, main_dialect(messages), sent, is_session=True)


def _entry_message(entry: StoredHistoryMessage) -> ForeignMessage:
    """Return the first message of an entry, with its dialect."""
    pointer = entry_pointer(entry.seq)
    reading = stored_reading(entry)
    if reading is None:
        return foreign_message(parse_stored_json(entry.message), pointer)
    first = reading.messages[0]
    inside = "/message" if entry.is_wrapped else ""
    return replace(first, pointer=f"{pointer}{inside}{first.pointer}")


def _parse(body: bytes, *, max_depth: int, max_nodes: int) -> _ParsedBody:
    """Parse a body; see `parse_json`. Replace lone surrogates by U+FFFD."""
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
        for pointer, key in keys.places(value)
    ]
    halves = [*lone_surrogates(value)] if _ESCAPE in body else []
    findings += (
        make_finding("half-surrogate", pointer, actual=shorten_quote(without_lone_surrogates(text)))
        for pointer, text in halves
    )
    return _ParsedBody(repair_surrogates(value, keeps_spelling=True) if halves else value, findings)


def _read_history(parsed: _ParsedBody) -> _Patient:
    """Read a foreign history.

    Raises:
        InvalidPayloadError: The body has no history.
        PayloadTooLargeError: It has more messages or text than any model reads.
    """
    value = parsed.value
    listed = sent_messages(value)
    if isinstance(listed, list) and len(listed) > MAX_MESSAGES:
        raise PayloadTooLargeError(
            f"The history has {len(listed):,} messages; at most {MAX_MESSAGES:,} are examined, "
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
    dialect = body_dialect(value, history.messages)
    return _Patient(history, dialect, listed, parsed.findings)
