"""Appends the new messages of a client's conversation to a session.

The client sends its whole list of messages with each request. The messages are compared with the
stored ones, and the new messages at the end are appended in one transaction. The media of messages
that are stored already are not decoded again.

If a sent message differs from the stored one, nothing is appended. But if the request has a fork
id, a *fork* is created: a session with the messages before the difference, to which the others are
appended.
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
    drop_stored_results,
    keep_new_blocks,
)
from pagefault_dialects.messages.entry_reading import read_entry
from pagefault_dialects.streams.json_digests import json_digest

MAX_NEW_MESSAGES = 10_000
"""The maximum number of new messages in one transaction, which blocks other writers for seconds."""
# The number of times that a request is tried if other requests write to the same session.
_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class ConversationQuery:
    """The options of a request that puts a conversation."""

    expected_seq: int | None = None
    """The `seq` that the last entry of the session must have; `None` to accept any."""
    fork_id: str | None = None
    """The id of the fork that is created if the conversations differ; `None` to create none."""
    render: RenderQuery | None = None
    """The target and the options of the rendering in the receipt; `None` for no rendering."""
    since: int = 0
    """See `SessionRenders.render_session`."""


@dataclass(frozen=True, slots=True)
class _StoredReceipt:
    """The facts of a receipt that are stored, so that a repeated request gets the same receipt."""

    digest: str
    """The digest of the body of the request."""
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
    """The conversation, with the media in it."""
    units: Sequence[Unit]
    """The parts of the sent messages that are compared with stored messages."""
    query: ConversationQuery
    beginning: CompactedBeginning | None = None
    """The stored messages that a compaction item among the sent messages represents."""
    prepared: dict[tuple[str, int, bool, tuple[str, ...]], PreparedMessage] = field(
        default_factory=dict
    )
    """The messages whose media were stored by an earlier attempt; see `_prepare` for the key."""

    @property
    def sent(self) -> SentConversation:
        """The sent conversation."""
        return self.request.value


@dataclass(frozen=True, slots=True)
class _Target:
    """The session to which a request appends."""

    session_id: str
    stored: StoredConversation
    """The stored conversation. For a new fork, the messages that will be copied into it."""
    origin: str | None = None
    """The id of the session of which a new fork is created; `None` if no fork is created."""


class _MovedOnError(Exception):
    """Another request has written to the session since it was read. Nothing is written."""


@dataclass(frozen=True, slots=True, eq=False)
class ConversationPuts:
    """Appends conversations to the sessions of a project."""

    records: Records
    messages: SessionMessages
    """Stores the media of messages, and appends messages."""
    stored: StoredConversations
    """Reads stored conversations."""
    renders: SessionRenders
    """Renders the session for the receipt."""
    bodies: StreamedRequests
    """Reads the bodies of requests."""
    signer: LinkSigner
    """Verifies the signatures of compaction items."""
    limits: Limits
    _sent_units: SentUnits = field(init=False, default_factory=SentUnits)
    """Splits sent messages into units, with a cache."""

    async def put(
        self,
        project_id: str,
        session_id: str,
        body: AsyncIterator[bytes],
        query: ConversationQuery,
    ) -> RenderedBody:
        """Append the new messages of a conversation, and return a `HistoryReceipt` as JSON.

        The receipt has a rendering of the session, if the query has a target.

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
        """Append the new messages of a conversation, and return a receipt without a rendering.

        Args:
            project_id: The caller's project.
            session_id: The session. If it does not exist, it is created.
            body: The bytes of a list of messages, or of a model request, as JSON.
            query: The options of the request.

        Raises:
            InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: The body is invalid.
            ConflictError: A sent message differs from the stored one (`history-diverged`), the
                session does not have the expected last `seq`, or another session has the id of the
                fork.
            StoreUnavailableError: A store did not answer. Nothing was stored.
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
            passed_over=put.sent.skipped_count,
            warnings=tuple(reader.warnings),
        )

    async def _put(self, put: _Put, session_id: str) -> tuple[str, _StoredReceipt]:
        """Append new messages to the session or to a fork; return its id and the receipt."""
        for _ in range(_ATTEMPTS):
            target = await self._find_target(put, session_id)
            if (receipt := _find_stored_receipt(put, target)) is not None:
                return session_id, receipt
            check_expected_seq(put.query.expected_seq, target.stored.last_seq, sent="history")
            comparison = await self._compare(put, target)
            if comparison.difference is not None:
                target = await self._find_fork(put, session_id, comparison.difference)
                if (receipt := _find_stored_receipt(put, target)) is not None:
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
        """Return the whole conversation of the session that a compaction item represents.

        If the item was made from messages with earlier compaction items, these are checked too.

        Raises:
            InvalidPayloadError: The session was deleted. Or the session of an earlier item was
                deleted, or does not have the same messages.
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
        """Return the session to append to, before it is compared with the sent messages.

        If the messages have a compaction item and the session does not exist, the target is a new
        fork of the session that the item represents. If the session exists and does not begin like
        that session, the target is the session with the fork id.
        """
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
        """Find the sent messages that are new, or the first difference from the stored ones."""
        stored_units, message_count = target.stored.units, len(put.sent.messages)
        if put.beginning is not None:
            compare_units = partial(put.beginning.compare, stored_units, put.units, message_count)
        else:
            compare_units = partial(
                compare, stored_units, put.units, message_count, continues=put.sent.continues
            )
        return await run_in_loop_if(put.request.is_quick, compare_units)

    async def _find_fork(self, put: _Put, session_id: str, difference: Difference) -> _Target:
        """Return the fork to append to. An earlier request may have created it.

        Raises:
            ConflictError: The request has no fork id, or another session has this id.
        """
        fork_id = put.query.fork_id
        if fork_id is None:
            raise _diverged_error(put, difference)
        up_to = difference.seq - 1

        def is_created(unit: UnitOfWork) -> bool:
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

        if await self.records.read(put.project_id, is_created):
            return _Target(fork_id, await self.stored.load(put.project_id, fork_id))
        stored = await self.stored.load(put.project_id, session_id)
        return _Target(fork_id, stored.up_to(up_to), origin=session_id)

    async def _append(self, put: _Put, target: _Target, comparison: Comparison) -> _StoredReceipt:
        """Append the new messages of a comparison to a session, and store the receipt.

        Nothing is written if there are no new messages and no new prompt.

        Raises:
            PayloadTooLargeError: There are more than `MAX_NEW_MESSAGES` new messages.
            _MovedOnError: Another request has written to the session.
        """
        if len(comparison.new) > MAX_NEW_MESSAGES:
            raise PayloadTooLargeError(
                f"The session lacks {len(comparison.new):,} of these messages, and "
                f"{MAX_NEW_MESSAGES:,} are appended at once. Nothing was appended: send the "
                "beginning of the list first."
            )
        prepared = [await self._prepare(put, target, index, comparison) for index in comparison.new]
        stored = target.stored
        old_prompt = stored.prompt
        prompt = _choose_prompt(put.sent, old_prompt)
        is_unchanged = prompt is old_prompt
        system_changed = not is_unchanged and old_prompt is not None and old_prompt.prompt != b"{}"
        if target.origin is None and stored.exists and not prepared and is_unchanged:
            return _StoredReceipt(put.request.identity.digest, 0, stored.last_seq, stored.last_seq)

        def append(unit: UnitOfWork) -> _StoredReceipt:
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
            receipt = _StoredReceipt(
                put.request.identity.digest, appended, last_seq, stored.last_seq, system_changed
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
        """Store the media of the message at an index, unless an earlier attempt has done so.

        The message may be the last stored message with more blocks, because the client has sent it
        before it was complete. Then only the new blocks are returned. Results that are stored are
        left out of a message with new content, wherever they are in it.
        """
        has_new_blocks = index == comparison.partly_stored
        stored_results = comparison.stored_results.get(index, ())
        key = (target.session_id, index, has_new_blocks, stored_results)
        if key in put.prepared:
            return put.prepared[key]
        message = put.sent.messages[index]
        if has_new_blocks or stored_results:
            keep_blocks = (
                partial(keep_new_blocks, stored=target.stored.units)
                if has_new_blocks
                else partial(drop_stored_results, call_ids=stored_results)
            )
            make_units = partial(make_message_units, media=put.request.media)
            new_part = await run_in_loop_if(
                put.request.is_quick, keep_blocks, message.value, make_units
            )
            if new_part is None:
                raise _diverged_error(put, Difference(index, "", target.stored.last_seq))
            if new_part is not message.value:
                message = replace(message, value=new_part, reading=read_entry(new_part))
        digest = json_digest(message.value, prefix=target.session_id.encode() + b"\0")
        request = StreamedRequest(
            message.parsed, RequestIdentity(digest), put.request.is_quick, put.request.media
        )
        prepared = await self.messages.prepare_parsed(put.project_id, target.session_id, request)
        put.prepared[key] = prepared.mark_as_list_item()
        return put.prepared[key]


def _find_stored_receipt(put: _Put, target: _Target) -> _StoredReceipt | None:
    """Return the receipt of the last write to a session, if that was an equal request.

    A client repeats a request if it did not get the response.
    """
    prompt = target.stored.prompt
    if target.origin is not None or prompt is None or prompt.receipt is None:
        return None
    receipt = _StoredReceipt(**parse_stored_json(prompt.receipt.encode()))
    is_same = receipt.digest == put.request.identity.digest
    if not is_same or receipt.last_seq != target.stored.last_seq:
        return None
    accepted_seqs = (None, receipt.expected_seq, receipt.last_seq)
    return receipt if put.query.expected_seq in accepted_seqs else None


def _choose_prompt(sent: SentConversation, stored: SessionPrompt | None) -> SessionPrompt:
    """Return the sent prompt, or the stored prompt if both are equal or no prompt was sent."""
    current = stored or SessionPrompt(sent.dialect, b"{}")
    if not sent.prompt or is_same_prompt(sent.prompt, parse_stored_json(current.prompt)):
        return current
    return SessionPrompt(sent.dialect, json_text(sent.prompt).encode())


def _diverged_error(put: _Put, difference: Difference) -> ConflictError:
    """Return the error for a sent message that differs from the stored one, or that is missing."""
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
