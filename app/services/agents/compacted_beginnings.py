"""Beginnings of conversations that a compaction item replaces, and their handles.

The item has a signed handle of a stored session up to an entry. A conversation that contains it is
compared from that entry on, and may continue the session or a fork of it. So nothing is lost, and
each rendering evicts old steps within its own budget.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime

from app.models.identity import utc_now
from app.services.access.callers import LinkSigner
from app.services.agents.conversation_units import StoredConversation
from pagefault_dialects.dialects.openai_responses import find_compaction_handle
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.comparison import Comparison, Unit, compare

_NOT_EXPANDED = "Nothing was stored: send the messages that it replaces."
_PURPOSE = b"COMPACTION"
_INVALID_TOKEN = (ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class CompactionGrant:
    """The handle of a stored conversation, up to an entry, within a number of tokens."""

    project_id: str
    session_id: str
    incarnation: str | None
    """Distinguishes the session from a later one with the same id."""
    last_seq: int
    max_tokens: int
    expires_at: datetime

    def sign(self, signer: LinkSigner) -> str:
        """Return the handle."""
        *claims, expires_at = astuple(self)
        return signer.sign_claims(_PURPOSE, claims, expires_at)

    @classmethod
    def verify(cls, signer: LinkSigner, handle: str) -> "CompactionGrant | None":
        """Return the grant in a handle, expired or not; `None` if it was not signed here."""
        try:
            *claims, expires = signer.read_claims(_PURPOSE, handle, None)
            project_id, session_id, incarnation, last_seq, max_tokens = claims
            expires_at = datetime.fromtimestamp(expires, tz=UTC)
            return cls(project_id, session_id, incarnation, last_seq, max_tokens, expires_at)
        except _INVALID_TOKEN:
            return None


@dataclass(frozen=True, slots=True)
class CompactedBeginning:
    """The grant of a compaction item, and the index of the item in a list of messages."""

    grant: CompactionGrant
    index: int
    pointer: str
    earlier: tuple["CompactedBeginning", ...] = ()
    """The items before it, one for each part of a session."""

    def check(self, origin: StoredConversation) -> None:
        """Raise InvalidPayloadError if the session of the handle no longer exists."""
        is_same = origin.exists and origin.incarnation == self.grant.incarnation
        if not is_same or origin.last_seq < self.grant.last_seq:
            raise InvalidPayloadError(
                f"The session of this compaction item was deleted. {_NOT_EXPANDED}",
                faults=[_fault(self.pointer, "leads to a deleted session")],
                code="expired-compaction",
            )

    def check_before(
        self, origin: StoredConversation, sent: Sequence[Unit], pointers: Sequence[str]
    ) -> None:
        """Check that all messages before the item are part of the session.

        Raises:
            InvalidPayloadError: One is not, and would be lost.
        """
        stored_keys = {_key(unit) for unit in origin.up_to(self.grant.last_seq).units}
        for unit in sent:
            if unit.position < self.index and _key(unit) not in stored_keys:
                raise InvalidPayloadError(
                    "A message before the compaction item is not part of the conversation that the "
                    "item replaces. Put new messages after the item. Nothing was appended.",
                    faults=[Fault(pointers[unit.position], "is not in the compacted conversation")],
                )

    def check_in(self, stored: StoredConversation, origin: StoredConversation) -> None:
        """Raise InvalidPayloadError if a session does not begin as that of the handle."""
        self.check(origin)
        if not self.has_same_beginning(stored, origin):
            raise InvalidPayloadError(
                "The conversation that this compaction item replaces is not part of that of the "
                "last item, and would be lost. Nothing was stored: send each conversation by "
                "itself, or the messages that this item replaces after the last item.",
                faults=[_fault(self.pointer, "leads to another conversation")],
            )

    def has_same_beginning(self, stored: StoredConversation, origin: StoredConversation) -> bool:
        """Return whether a session has the same beginning as that of the handle."""
        end = self.grant.last_seq
        return [*map(_key, stored.up_to(end).units)] == [*map(_key, origin.up_to(end).units)]

    def compare(self, stored: Sequence[Unit], sent: Sequence[Unit], messages: int) -> Comparison:
        """Compare the messages after the item with the stored ones after the beginning."""
        later = [unit for unit in stored if unit.position > self.grant.last_seq]
        comparison = compare(later, [unit for unit in sent if unit.position > self.index], messages)
        # Messages without content are new in any case, also those before the item.
        new = tuple(index for index in comparison.new if index > self.index)
        return replace(comparison, new=new)


def find_beginning(
    signer: LinkSigner, project_id: str, items: Iterable[tuple[str, JsonValue]]
) -> CompactedBeginning | None:
    """Return the beginning that the last compaction item of this service replaces, if any.

    Args:
        signer: Verifies the handle.
        project_id: The caller's project.
        items: The messages, each with its pointer.

    Raises:
        InvalidPayloadError: A handle was changed, belongs to another project, or has expired.
    """
    found: CompactedBeginning | None = None
    parts: dict[tuple[str, int], CompactedBeginning] = {}
    for index, (pointer, item) in enumerate(items):
        if (handle := find_compaction_handle(item)) is None:
            continue
        grant = CompactionGrant.verify(signer, handle)
        if grant is None or grant.project_id != project_id:
            raise InvalidPayloadError(
                "The content of this compaction item was not created for this project, or was "
                f"changed. {_NOT_EXPANDED}",
                faults=[_fault(pointer, "is no handle of this project")],
                code="invalid-compaction",
            )
        if grant.expires_at <= utc_now():
            raise InvalidPayloadError(
                f"This compaction item has expired. {_NOT_EXPANDED}",
                faults=[_fault(pointer, "has expired")],
                code="expired-compaction",
            )
        found = CompactedBeginning(grant, index, pointer)
        parts.setdefault((grant.session_id, grant.last_seq), found)
    if found is None or len(parts) == 1:
        return found
    return replace(found, earlier=(*parts.values(),))


def _fault(pointer: str, detail: str) -> Fault:
    return Fault(f"{pointer}/encrypted_content", detail)


def _key(unit: Unit) -> tuple[str, str | bytes]:
    # The record of a result matches any answer to its call.
    return unit.kind, unit.call_id if unit.kind == "answer" else unit.digest
