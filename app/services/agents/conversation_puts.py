"""Appends the new messages of a client's conversation to a session.

The sent messages are compared with the stored messages, and new messages are appended in one
transaction. The media of messages that are stored already are not decoded again. If a sent message
differs from a stored one, nothing is appended. With a fork id, the new messages are appended to a
fork instead, which has the common beginning.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from app.errors import ConflictError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.access.callers import LinkSigner
from app.services.agents.compacted_beginnings import CompactedBeginning, find_beginning
from app.services.agents.conversation_units import (
    SentConversation,
    SentUnits,
    StoredConversation,
    StoredConversations,
    is_same_prompt,
    make_message_units,
    read_sent,
)
from app.services.agents.receipts import check_expected_seq, write_receipt
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.requests.body_reader import BodyReader
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.streamed_requests import StreamedRequest, StreamedRequests
from app.services.sessions.fork_copies import write_fork
from app.services.sessions.messages import PreparedMessage, SessionMessages
from app.stores.records.records import MAX_TOGETHER_BYTES, Records
from app.stores.records.session_prompts import SessionPrompt, SessionPromptRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.agents import HistoryReceipt
from pagefault_dialects.errors import Fault, PayloadTooLargeError
from pagefault_dialects.json.values import json_text, parse_stored_json
from pagefault_dialects.messages.comparison import (
    Comparison,
    Difference,
    Unit,
    compare,
    keep_new_blocks,
)
from pagefault_dialects.messages.entry_reading import read_entry
from pagefault_dialects.streams.json_digests import json_digest

MAX_NEW_MESSAGES = 10_000
"""The maximum number of new messages in one transaction, which blocks other writers for seconds."""
# The number of attempts to append, if other requests write to the session at the same time.
_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class ConversationQuery:
    """The options of a request that puts a conversation."""

    expected_seq: int | None = None
    """The `seq` that the last entry of the session must have."""
    fork_id: str | None = None
    """The id of the fork that is created if the conversations differ."""
    render: RenderQuery | None = None
    """The rendering to return."""
    since: int = 0
    """See `SessionRenders.render_session`."""


@dataclass(frozen=True, slots=True)
class _Receipt:
    """The result of a request. It is stored, so that a repeated request returns it again."""

    digest: str
    """The digest of the request."""
    appended: int
    """The number of appended messages."""
    last_seq: int
    """The `seq` of the last entry after the request."""
    expected_seq: int
    """The `seq` of the last entry before the request."""
    system_changed: bool = False
    """True if the request has replaced the system messages of the session."""


@dataclass(frozen=True, slots=True)
class _Put:
    """A request in progress."""

    project_id: str
    request: StreamedRequest[SentConversation]
    units: Sequence[Unit]
    """The units of the sent messages."""
    query: ConversationQuery
    beginning: CompactedBeginning | None = None
    """The beginning that a compaction item in the messages replaces."""
    prepared: dict[tuple[str, int, bool], PreparedMessage] = field(default_factory=dict)
    """The messages that are prepared so far, for the next attempt; see `_prepare` for the key."""

    @property
    def sent(self) -> SentConversation:
        """The sent conversation."""
        return self.request.value


@dataclass(frozen=True, slots=True)
class _Target:
    """The session to which a request appends."""

    session_id: str
    stored: StoredConversation
    """The stored conversation. For a new fork, it is the beginning that will be copied."""
    origin: str | None = None
    """The id of the session to fork; `None` if the session is no new fork."""


class _MovedOnError(Exception):
    """The session has changed since it was read. Ends the transaction; nothing is written."""


@dataclass(frozen=True, slots=True, eq=False)
class ConversationPuts:
    """Appends conversations to the sessions of a project."""

    records: Records
    messages: SessionMessages
    """Prepares messages."""
    stored: StoredConversations
    """Reads stored conversations."""
    renders: SessionRenders
    """Renders the session for the receipt."""
    bodies: StreamedRequests
    """Reads the bodies of requests."""
    signer: LinkSigner
    """Verifies the handles of compaction items."""
    limits: Limits
    _sent_units: SentUnits = field(init=False, default_factory=SentUnits)

    async def put(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        query: ConversationQuery,
    ) -> RenderedBody:
        """Append the new messages of a conversation; return a `HistoryReceipt` as JSON.

        Raises:
            Exception: See `append`.
        """
        if query.render is not None:
            self.renders.check(query.render, since=query.since)
        receipt = await self.append(project_id, session_id, body, query)
        target_id = receipt.session_id or session_id
        return await write_receipt(
            self.renders, project_id, target_id, receipt, query.render, since=query.since
        )

    async def append(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        query: ConversationQuery,
    ) -> HistoryReceipt:
        """Append the new messages of a conversation; return the receipt without a rendering.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
            ConflictError: The history differs (`history-diverged`), its last `seq` is not the
                expected one, or the id of the fork belongs to another session.
            StoreUnavailableError: A store did not answer; nothing was stored.
        """
        reader = BodyReader(self.limits)
        reading = self.bodies.read(
            project_id,
            body,
            reader.read,
            read_sent,
            media_of=lambda sent: [
                medium.uri
                for medium in self._sent_units.find_media_strings(sent)
                if medium.uri is not None
            ],
            identity_prefix=session_id.encode() + b"\0",
        )
        async with reading as request:
            units = await run_in_loop_if(
                request.is_quick, self._sent_units.make, request.value, request.media
            )
            sent = ((message.pointer, message.value) for message in request.value.messages)
            beginning = find_beginning(self.signer, project_id, sent)
            put = _Put(project_id, request, units, query, beginning)
            target_id, receipt = await self._put(put, session_id)
        return HistoryReceipt(
            appended=receipt.appended,
            last_seq=receipt.last_seq,
            session_id=target_id if target_id != session_id else None,
            system_changed=receipt.system_changed,
            passed_over=put.sent.passed_over,
            warnings=tuple(reader.warnings),
        )

    async def _put(self, put: _Put, session_id: str) -> tuple[str, _Receipt]:
        """Append new messages; return the id of the session that has them, and the receipt."""
        for _ in range(_ATTEMPTS):
            target = await self._find_target(put, session_id)
            if (receipt := _find_repeated(put, target)) is not None:
                return session_id, receipt
            check_expected_seq(put.query.expected_seq, target.stored.last_seq, sent="history")
            comparison = await self._compare(put, target)
            if comparison.difference is not None:
                target = await self._find_fork(put, session_id, comparison.difference)
                if (receipt := _find_repeated(put, target)) is not None:
                    return target.session_id, receipt
                comparison = await self._compare(put, target)
                if comparison.difference is not None:
                    raise _diverged_error(put, comparison.difference)
            try:
                return target.session_id, await self._append(put, target, comparison)
            except _MovedOnError:
                continue
        raise ConflictError(
            f"The session was changed by other requests {_ATTEMPTS} times in a row. Nothing was "
            "appended: send the request again.",
            code="session-moved-on",
        )

    async def load_beginning(
        self, project_id: str, beginning: CompactedBeginning
    ) -> StoredConversation:
        """Return the conversation of the session that a compaction item replaces.

        Raises:
            InvalidPayloadError: The session was deleted. Or the session of an earlier item was
                deleted, or is another conversation.
        """
        grant = beginning.grant
        origin = await self.stored.load(project_id, grant.session_id)
        beginning.check(origin)
        replaced = origin.up_to(grant.last_seq)
        for item in beginning.earlier:
            item_session_id, up_to = item.grant.session_id, item.grant.last_seq
            if item_session_id != grant.session_id or up_to > grant.last_seq:
                item.check_in(replaced, await self.stored.load(project_id, item_session_id))
        return origin

    async def _find_target(self, put: _Put, session_id: str) -> _Target:
        """Return the session, or a new fork of the session that a compaction item replaces."""
        stored = await self.stored.load(put.project_id, session_id)
        beginning = put.beginning
        if beginning is None:
            return _Target(session_id, stored)
        grant = beginning.grant
        origin = await self.load_beginning(put.project_id, beginning)
        beginning.check_before(
            origin, put.units, [message.pointer for message in put.sent.messages]
        )
        if not stored.exists:
            return _Target(session_id, origin.up_to(grant.last_seq), origin=grant.session_id)
        if not beginning.has_same_beginning(stored, origin):
            if put.query.fork_id in (None, session_id):
                raise _diverged_error(put, Difference(beginning.index, "", 1))
            return await self._find_target(put, put.query.fork_id)
        return _Target(session_id, stored)

    async def _compare(self, put: _Put, target: _Target) -> Comparison:
        stored, count = target.stored.units, len(put.sent.messages)
        if put.beginning is not None:
            compare_units = partial(put.beginning.compare, stored, put.units, count)
        else:
            compare_units = partial(compare, stored, put.units, count, continues=put.sent.continues)
        return await run_in_loop_if(put.request.is_quick, compare_units)

    async def _find_fork(self, put: _Put, session_id: str, difference: Difference) -> _Target:
        """Return the fork for the new messages: an existing one, or a new one."""
        fork_id = put.query.fork_id
        if fork_id is None:
            raise _diverged_error(put, difference)
        up_to = difference.seq - 1

        def find(unit: UnitOfWork) -> bool:
            fork = unit[SessionRecords].find(fork_id)
            if fork is None:
                return False
            origin = fork.forked_from
            if origin is None or (origin.session_id, origin.up_to) != (session_id, up_to):
                raise ConflictError(
                    f"A session with the id {fork_id} exists already in this project, and is not "
                    "this fork. Use another id. Nothing was appended.",
                    code="session-exists",
                )
            return True

        if await self.records.read(put.project_id, find):
            return _Target(fork_id, await self.stored.load(put.project_id, fork_id))
        stored = await self.stored.load(put.project_id, session_id)
        return _Target(fork_id, stored.up_to(up_to), origin=session_id)

    async def _append(self, put: _Put, target: _Target, comparison: Comparison) -> _Receipt:
        """Append the new messages of a comparison to a session, and store the receipt."""
        if len(comparison.new) > MAX_NEW_MESSAGES:
            raise PayloadTooLargeError(
                f"The session lacks {len(comparison.new):,} of these messages, and "
                f"{MAX_NEW_MESSAGES:,} are appended at once. Nothing was appended: send the "
                "beginning of the list first."
            )
        prepared = [await self._prepare(put, target, index, comparison) for index in comparison.new]
        stored = target.stored
        prompt = _choose_prompt(put.sent, stored.prompt)
        previous = stored.prompt
        is_changed = previous is not None and prompt is not previous and previous.prompt != b"{}"
        if target.origin is None and stored.exists and not prepared and prompt is previous:
            return _Receipt(put.request.identity.digest, 0, stored.last_seq, stored.last_seq)

        def append(unit: UnitOfWork) -> _Receipt:
            now = utc_now()
            if target.origin is not None:
                write_fork(unit, target.origin, stored.last_seq, target.session_id)
            session = unit[SessionRecords].ensure(target.session_id, now)
            if session.last_seq != stored.last_seq:
                raise _MovedOnError
            last_seq, appended = session.last_seq, 0
            for item in prepared:
                message, is_new = item.append(unit)
                last_seq, appended = max(last_seq, message.seq), appended + is_new
            receipt = _Receipt(
                put.request.identity.digest, appended, last_seq, stored.last_seq, is_changed
            )
            receipt_json = json_text(asdict(receipt))
            unit[SessionPromptRecords].put(
                target.session_id, replace(prompt, receipt=receipt_json), now
            )
            return receipt

        size_bytes = sum(len(entry.message.message) for entry in prepared)
        is_alone = target.origin is not None or size_bytes > MAX_TOGETHER_BYTES
        return await self.records.write(put.project_id, append, is_alone=is_alone)

    async def _prepare(
        self, put: _Put, target: _Target, index: int, comparison: Comparison
    ) -> PreparedMessage:
        """Prepare the message at an index, unless an earlier attempt has done it.

        If the message is the last stored one with more blocks, only its new blocks are appended.
        """
        has_new_blocks = index == comparison.partly_stored
        key = (target.session_id, index, has_new_blocks)
        if key in put.prepared:
            return put.prepared[key]
        message = put.sent.messages[index]
        if has_new_blocks:
            make = partial(make_message_units, media=put.request.media)
            blocks = await run_in_loop_if(
                put.request.is_quick, keep_new_blocks, message.value, make, target.stored.units
            )
            if blocks is None:
                raise _diverged_error(put, Difference(index, "", target.stored.last_seq))
            message = replace(message, value=blocks, reading=read_entry(blocks))
        digest = json_digest(message.value, prefix=target.session_id.encode() + b"\0")
        request = StreamedRequest(
            message.parsed, RequestIdentity(digest), put.request.is_quick, put.request.media
        )
        prepared = await self.messages.prepare_parsed(put.project_id, target.session_id, request)
        put.prepared[key] = prepared.mark_as_list_item()
        return put.prepared[key]


def _find_repeated(put: _Put, target: _Target) -> _Receipt | None:
    """Return the receipt of an equal request, if that request was the last write to the session."""
    prompt = target.stored.prompt
    if target.origin is not None or prompt is None or prompt.receipt is None:
        return None
    receipt = _Receipt(**parse_stored_json(prompt.receipt.encode()))
    is_same = receipt.digest == put.request.identity.digest
    if not is_same or receipt.last_seq != target.stored.last_seq:
        return None
    expected = (None, receipt.expected_seq, receipt.last_seq)
    return receipt if put.query.expected_seq in expected else None


def _choose_prompt(sent: SentConversation, stored: SessionPrompt | None) -> SessionPrompt:
    """Return the sent prompt; or the stored one, if they are equal or no prompt was sent."""
    current = stored or SessionPrompt(sent.dialect, b"{}")
    if not sent.prompt or is_same_prompt(sent.prompt, parse_stored_json(current.prompt)):
        return current
    return SessionPrompt(sent.dialect, json_text(sent.prompt).encode())


def _diverged_error(put: _Put, difference: Difference) -> ConflictError:
    messages = put.sent.messages
    is_end = difference.position >= len(messages)
    pointer = put.sent.end if is_end else messages[difference.position].pointer + difference.pointer
    fault = "is missing" if is_end else "differs"
    return ConflictError(
        f"The stored history differs from seq {difference.seq} on. Nothing was appended. Send the "
        "history as it is stored, delete the session, or create a fork of the common beginning: "
        "`onDivergence=fork&as=NEWID`.",
        faults=[Fault(pointer, f"{fault} from the entry with seq {difference.seq}")],
        code="history-diverged",
        members={"seq": difference.seq},
    )
