"""The doctor: what is wrong with a history of any dialect, and the same history healed.

What heals is a rendering: a history is read as turns, settled for a target, and written. Nothing of
it is stored, and nothing is fetched.

Source: `context`, "Healing".
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.models.limits import Limits
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loading import MOST_TEXT_BYTES, load_session
from app.services.renders.settling import Settling
from app.services.requests.whole_bodies import RequestBodies
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from pagefault_dialects.errors import Fault, InvalidPayloadError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json
from pagefault_dialects.messages.histories import (
    Dialect,
    ForeignMessage,
    foreign_messages,
    main_dialect,
)
from pagefault_dialects.messages.reading import history_turns, locate_loss
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import Rendering, RenderOptions
from pagefault_dialects.rendered_documents import document_of
from pagefault_dialects.targets.leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import paired
from pagefault_doctor.diagnoses import Finding
from pagefault_doctor.findings import found, of_loss, of_messages, of_turns

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
class _Patient:
    """A history that is looked at: foreign messages, or the turns of a session."""

    messages: Sequence[ForeignMessage]
    turns: Sequence[ComposedTurn]
    conversation: Sequence[ComposedTurn]


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
        parse = partial(
            parse_repaired_json,
            max_depth=self.limits.json_depth,
            max_nodes=self.limits.json_nodes,
            spelled=True,
        )
        async with self.bodies.read(body, parse) as value:
            session_id = value.get("sessionId") if isinstance(value, dict) else None
            if session_id is None:
                patient = await self.settling.worked(partial(_read, value))
            else:
                patient = await self._of_session(project_id, session_id)
            del value
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
        turns = await self.settling.worked(lambda: [*loaded.unpaired("assistant")])
        return _Patient((), turns, await self.settling.worked(partial(paired, turns)))

    async def _diagnosis(self, project_id: str, patient: _Patient, query: DoctorQuery) -> Rendering:
        main = query.dialect or main_dialect(patient.messages)
        profile = TARGETS[query.target or main or "openai-chat"]
        options = RenderOptions(max_tokens=query.max_tokens)
        settled, _ = await self.settling.fitted(
            project_id, patient.conversation, profile, options, NOTHING_EVICTED, is_whole=True
        )

        def written() -> Rendering:
            findings = _findings(patient, profile, settled.loss, main)
            loss = settled.loss
            if patient.messages:
                loss = tuple(locate_loss(loss, patient.messages))
            healed = document_of(replace(settled, loss=loss), profile, options)
            document: dict[str, Node] = {
                "target": healed["target"],
                "profile": healed["profile"],
                "dialect": main,
                "findings": [JsonLeaf(each.wire()) for each in findings],
                "loss": healed["loss"],
                "tokensEst": healed["tokensEst"],
            }
            if query.applies:
                shown = ("system", "messages")
                document |= {name: healed[name] for name in shown if name in healed}
            return json_pieces(document)

        return await self.settling.worked(written)


def _read(value: JsonValue) -> _Patient:
    """Read a foreign history.

    Raises:
        InvalidPayloadError: There is none.
        PayloadTooLargeError: It has more messages or text than any model reads.
    """
    messages = foreign_messages(value)
    if messages is None:
        raise InvalidPayloadError(
            'There is no history in this: send a list of messages, `{"messages": […]}`, the '
            'request that a provider refused, or `{"sessionId": …}`.',
            faults=[Fault("/messages", "must be a list of messages")],
        )
    if len(messages) > MOST_MESSAGES:
        raise PayloadTooLargeError(
            f"The history has {len(messages):,} messages; at most {MOST_MESSAGES:,} are examined, "
            "which is more than any model reads. Send its last part.",
            faults=[Fault("/messages", "has too many messages")],
        )
    turns = history_turns(messages)
    texts = (item.text for turn in turns for item in turn.items if isinstance(item, TextItem))
    if sum(map(len, texts)) > MOST_TEXT_BYTES:
        raise PayloadTooLargeError(
            f"The history has more than {MOST_TEXT_BYTES} characters beside its media, which is "
            "more than any model reads."
        )
    return _Patient(messages, turns, paired(turns))


def _findings(
    patient: _Patient, profile: Profile, loss: Sequence[LossEntry], main: Dialect | None
) -> list[Finding]:
    of_media = list(of_loss(loss, patient.conversation, profile))
    findings = [*of_turns(patient.turns, profile), *of_media]
    if not patient.messages:
        # An entry as a whole is known by its number alone.
        findings = [
            each.model_copy(update={"pointer": ""}) if each.pointer.startswith("/api/") else each
            for each in findings
        ]
        return sorted(findings, key=lambda each: each.seq or 0)
    order = {each.pointer: index for index, each in enumerate(patient.messages)}
    findings += of_messages(patient.messages, main)
    findings += _split_calls(patient)
    named = [_with_pointer(each, patient.messages) for each in findings]
    return sorted(named, key=lambda each: _order(each, order))


def _split_calls(patient: _Patient) -> Iterator[Finding]:
    """Yield the messages whose calls were joined to those before."""
    kept = {turn.seq for turn in patient.turns}
    for index, foreign in enumerate(patient.messages):
        message = foreign.message
        if message is None or foreign.joins or index + 1 in kept or not patient.turns:
            continue
        if message["role"] in ("assistant", "model"):
            yield found("split-calls", foreign.pointer, seq=index + 1)


def _with_pointer(finding: Finding, messages: Sequence[ForeignMessage]) -> Finding:
    """Return a finding of a foreign history, which has no entries but pointers."""
    if finding.seq is None:
        return finding
    pointer = finding.pointer or messages[finding.seq - 1].pointer
    return finding.model_copy(update={"seq": None, "pointer": pointer})


def _order(finding: Finding, order: dict[str, int]) -> int:
    pointer = finding.pointer
    while pointer and pointer not in order:
        pointer = pointer.rpartition("/")[0]
    return order.get(pointer, -1)
