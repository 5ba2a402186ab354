"""The doctor: what is wrong with a history of any dialect, and the same history healed.

What heals is a rendering: a history is read as turns, settled for a target, and written. Nothing of
it is stored, and nothing is fetched.

Source: `context`, "Healing".
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.models.limits import Limits
from app.models.message import StoredHistoryMessage
from app.services.calls.stored_message_turns import stored_message_turns, stored_reading
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import MOST_TEXT_BYTES, LoadedSession, load_session
from app.services.renders.settling import Settling
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.surrogates import lone_surrogates
from pagefault_dialects.json.values import JsonValue, parse_json, parse_stored_json, repaired
from pagefault_dialects.messages.diagnosis import (
    diagnose,
    entry_pointer,
    is_home,
    written_anew,
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
from pagefault_dialects.targets.rules import found, quoted
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.text_windows import without_lone_surrogates

_ESCAPE = b"\\u"
MOST_MESSAGES = 30_000
"""The longest foreign history. Of each message there may be findings and losses: to free the
objects of 60,000 messages alone keeps everybody waiting for a tenth of a second."""


@dataclass(frozen=True, slots=True)
class DoctorQuery:
    """What is asked of the doctor."""

    target: str | None = None
    """For whom the history is; `None` for its own dialect."""
    dialect: Dialect | None = None
    """What it is meant to be written in; `None` for what most of it is."""
    max_tokens: int | None = None
    """The most tokens that it may have."""
    applies: bool = False
    """Whether the healed history is wanted as well."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A body, with what is wrong with its JSON."""

    value: JsonValue
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class _Patient:
    """A history that is looked at: foreign messages, or the turns of a session."""

    history: ReadHistory
    dialect: Dialect | None
    sent: Sequence[JsonValue] = ()
    findings: Sequence[Finding] = ()
    is_session: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Doctor:
    """Examines histories."""

    records: Records
    """Where sessions are."""
    blobs: BlobStore
    """Where their media are."""
    settling: Settling
    """Makes a history fit a target."""
    bodies: RequestBodies
    """Reads a history, and holds the memory that it takes."""
    limits: Limits
    """For the JSON of one."""

    async def examine(
        self, project_id: str, body: AsyncIterator[bytes], query: DoctorQuery
    ) -> RenderedBody:
        """Return what is wrong with a history, what healing it loses, and the healed one if asked.

        Args:
            project_id: The caller's project.
            body: A request with messages in any dialect, or `{"sessionId": …}`.
            query: For whom, and whether to heal.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is no history.
            NotFoundError: The project has no such session.
        """
        parse = partial(_parse, max_depth=self.limits.json_depth, max_nodes=self.limits.json_nodes)
        async with self.bodies.read(body, parse) as sent:
            value = sent.value
            session_id = value.get("sessionId") if isinstance(value, dict) else None
            if session_id is None:
                patient = await self.settling.worked(partial(_read, sent))
            else:
                patient = await self._of_session(project_id, session_id)
            del sent, value
            pieces = await self._diagnosis(project_id, patient, query)
        answer = RenderedBody(self.blobs, project_id, replace(pieces, digest=None))
        await answer.check()
        return answer

    async def _of_session(self, project_id: str, session_id: JsonValue) -> _Patient:
        if not isinstance(session_id, str) or CLIENT_ID.fullmatch(session_id) is None:
            raise InvalidPayloadError(
                "This is no id of a session.", faults=[Fault("/sessionId", "is no id")]
            )
        loaded = await load_session(self.records, self.blobs, project_id, session_id)
        return await self.settling.worked(partial(_of_entries, loaded))

    async def _diagnosis(self, project_id: str, patient: _Patient, query: DoctorQuery) -> Rendering:
        history, main = patient.history, query.dialect or patient.dialect
        profile = TARGETS[query.target or main or "openai-chat"]
        options = RenderOptions(max_tokens=query.max_tokens)
        is_session = patient.is_session
        settled, _ = await self.settling.fitted(
            project_id, history.turns, profile, options, NOTHING_EVICTED, is_whole=True
        )
        examine = partial(diagnose, history, profile, settled.loss, main)
        diagnosed = await self.settling.worked(
            partial(examine, sent=patient.sent, is_session=is_session)
        )
        findings = [*patient.findings, *diagnosed]
        if diagnosed:
            anew = await self.settling.worked(partial(written_anew, history.turns))
            settled, _ = await self.settling.fitted(
                project_id, anew, profile, options, NOTHING_EVICTED, is_whole=True
            )

        def written() -> Rendering:
            is_well = not (findings or is_session) and is_home(history, profile.target, main)
            loss = settled.loss
            if not is_session:
                loss = tuple(locate_loss(loss, history.messages))
            healed = document_of(replace(settled, loss=loss), profile, options)
            document: dict[str, Node] = {
                "target": healed["target"],
                "profile": healed["profile"],
                "dialect": main,
                "findings": [JsonLeaf(each.wire()) for each in findings],
                "loss": [] if is_well else healed["loss"],
                "tokensEst": healed["tokensEst"],
            }
            if query.applies:
                shown = ("system", "messages")
                document |= {name: healed[name] for name in shown if name in healed}
                if is_well:
                    # What is of its own dialect, and right, is sent as it was.
                    document["messages"] = [JsonLeaf(each) for each in patient.sent]
            return json_pieces(document)

        return await self.settling.worked(written)


def _of_entries(session: LoadedSession) -> _Patient:
    """Return the history of a session, with the messages that its entries are."""
    messages = [ForeignMessage("", None)] * session.last_seq
    turns: list[ComposedTurn] = []
    recorded: list[ComposedTurn] = []
    sent: list[JsonValue] = []
    for entry in session.entries:
        read = session.turns_of(entry, "assistant")
        turns += read
        if isinstance(entry, StoredHistoryMessage):
            messages[entry.seq - 1] = _foreign(entry)
            sent.append(parse_stored_json(entry.sent))
            # What is short stays in a text, and is found there as in a history that is sent.
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


def _foreign(entry: StoredHistoryMessage) -> ForeignMessage:
    """Return the message of an entry, with its dialect; of several in one, the first."""
    pointer = entry_pointer(entry.seq)
    reading = stored_reading(entry)
    if reading is None:
        return foreign_message(parse_stored_json(entry.message), pointer)
    first = reading.messages[0]
    inside = "/message" if entry.is_wrapped else ""
    return replace(first, pointer=f"{pointer}{inside}{first.pointer}")


def _parse(body: bytes, *, max_depth: int, max_nodes: int) -> _Sent:
    """Parse a body; see `parse_json`. U+FFFD stands for halves of surrogate pairs."""
    keys = RepeatedKeys()
    value = parse_json(
        body, max_depth=max_depth, max_nodes=max_nodes, spelled=True, make_object=keys.make_object
    )
    findings = [
        found("repeated-key", pointer, actual=quoted(key)) for pointer, key in keys.places(value)
    ]
    halves = [*lone_surrogates(value)] if _ESCAPE in body else []
    findings += (
        found("half-surrogate", pointer, actual=quoted(without_lone_surrogates(text)))
        for pointer, text in halves
    )
    return _Sent(repaired(value, spelled=True) if halves else value, findings)


def _read(sent: _Sent) -> _Patient:
    """Read a foreign history.

    Raises:
        InvalidPayloadError: There is none.
        PayloadTooLargeError: It has more messages or text than any model reads.
    """
    value = sent.value
    listed = sent_messages(value)
    if isinstance(listed, list) and len(listed) > MOST_MESSAGES:
        raise PayloadTooLargeError(
            f"The history has {len(listed):,} messages; at most {MOST_MESSAGES:,} are examined, "
            "which is more than any model reads. Send its last part.",
            faults=[Fault("/messages", "has too many messages")],
        )
    history = read_messages(value, closes=True)
    items = (item for turn in history.recorded for item in turn.items)
    if sum(len(item.text) for item in items if isinstance(item, TextItem)) > MOST_TEXT_BYTES:
        raise PayloadTooLargeError(
            f"The history has more than {MOST_TEXT_BYTES} characters beside its media, which is "
            "more than any model reads."
        )
    dialect = body_dialect(value, history.messages)
    return _Patient(history, dialect, listed, sent.findings)
