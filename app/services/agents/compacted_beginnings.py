"""Beginnings of conversations that a compaction item replaces, and their handles.

A compaction item has a signed handle, which names a stored session and the last entry that the item
replaces. If a conversation contains the item, only its messages after the item are compared with
the session, or with a fork of it. So nothing is lost, and each rendering evicts old steps within
its own budget.
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
    """The claims in a handle."""

    project_id: str
    session_id: str
    incarnation: str | None
    """Distinguishes the session from a later one with the same id."""
    last_seq: int
    """The `seq` of the last entry that the compaction item replaces."""
    max_tokens: int
    """The budget of renderings of the conversation."""
    expires_at: datetime

    def sign(self, signer: LinkSigner) -> str:
        """Return the handle with these claims."""
        *claims, expires_at = astuple(self)
        return signer.sign_claims(_PURPOSE, claims, expires_at)

    @classmethod
    def verify(cls, signer: LinkSigner, handle: str) -> "CompactionGrant | None":
        """Return the claims in a handle; `None` if this service has not signed it.

        An expired handle is not an error.
        """
        try:
            *claims, expires = signer.read_claims(_PURPOSE, handle, None)
            project_id, session_id, incarnation, last_seq, max_tokens = claims
            expires_at = datetime.fromtimestamp(expires, tz=UTC)
            return cls(project_id, session_id, incarnation, last_seq, max_tokens, expires_at)
        except _INVALID_TOKEN:
            return None


@dataclass(frozen=True, slots=True)
class CompactedBeginning:
    """The beginning of a conversation that a compaction item replaces."""

    grant: CompactionGrant
    """The claims in the handle of the item."""
    index: int
    """The index of the item in the list of messages."""
    pointer: str
    """The JSON pointer of the item."""
    earlier: tuple["CompactedBeginning", ...] = ()
    """The beginnings of the compaction items before this item, one for each part of a session."""

    def check(self, origin: StoredConversation) -> None:
        """Check that the session of the handle still exists.

        Raises:
            InvalidPayloadError: The session was deleted.
        """
        is_same = origin.exists and origin.incarnation == self.grant.incarnation
        if not is_same or origin.last_seq < self.grant.last_seq:
            raise InvalidPayloadError(
                f"The session of this compaction item was deleted. {_NOT_EXPANDED}",
                faults=[_make_fault(self.pointer, "leads to a deleted session")],
                code="expired-compaction",
            )

    def check_before(
        self, origin: StoredConversation, sent: Sequence[Unit], pointers: Sequence[str]
    ) -> None:
        """Check that all messages before the item are part of the session.

        Raises:
            InvalidPayloadError: A message is not, so it would be lost.
        """
        stored_keys = {_get_key(unit) for unit in origin.up_to(self.grant.last_seq).units}
        for unit in sent:
            if unit.position < self.index and _get_key(unit) not in stored_keys:
                raise InvalidPayloadError(
                    "A message before the compaction item is not part of the conversation that the "
                    "item replaces. Put new messages after the item. Nothing was appended.",
                    faults=[Fault(pointers[unit.position], "is not in the compacted conversation")],
                )

    def check_in(self, stored: StoredConversation, origin: StoredConversation) -> None:
        """Check that a session begins as the session of the handle.

        Raises:
            InvalidPayloadError: The beginnings differ, or the session of the handle was deleted.
        """
        self.check(origin)
        if not self.has_same_beginning(stored, origin):
            raise InvalidPayloadError(
                "The conversation that this compaction item replaces is not part of that of the "
                "last item, and would be lost. Nothing was stored: send each conversation by "
                "itself, or the messages that this item replaces after the last item.",
                faults=[_make_fault(self.pointer, "leads to another conversation")],
            )

    def has_same_beginning(self, stored: StoredConversation, origin: StoredConversation) -> bool:
        """Return True if a session has the same beginning as the session of the handle."""
        end = self.grant.last_seq
        return [*map(_get_key, stored.up_to(end).units)] == [
            *map(_get_key, origin.up_to(end).units)
        ]

    def compare(self, stored: Sequence[Unit], sent: Sequence[Unit], messages: int) -> Comparison:
        """Compare the messages after the item with the stored messages after the beginning."""
        later = [unit for unit in stored if unit.position > self.grant.last_seq]
        comparison = compare(later, [unit for unit in sent if unit.position > self.index], messages)
        # Messages without content are always new. Those before the item are left out.
        new = tuple(index for index in comparison.new if index > self.index)
        return replace(comparison, new=new)


def find_beginning(
    signer: LinkSigner, project_id: str, items: Iterable[tuple[str, JsonValue]]
) -> CompactedBeginning | None:
    """Return the beginning that the last compaction item in a list of messages replaces, if any.

    Args:
        signer: Verifies the handle.
        project_id: The caller's project.
        items: The messages, each with its JSON pointer.

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
                faults=[_make_fault(pointer, "is no handle of this project")],
                code="invalid-compaction",
            )
        if grant.expires_at <= utc_now():
            raise InvalidPayloadError(
                f"This compaction item has expired. {_NOT_EXPANDED}",
                faults=[_make_fault(pointer, "has expired")],
                code="expired-compaction",
            )
        found = CompactedBeginning(grant, index, pointer)
        parts.setdefault((grant.session_id, grant.last_seq), found)
    if found is None or len(parts) == 1:
        return found
    return replace(found, earlier=(*parts.values(),))


def _make_fault(pointer: str, detail: str) -> Fault:
    return Fault(f"{pointer}/encrypted_content", detail)


def _get_key(unit: Unit) -> tuple[str, str | bytes]:
    # A stored answer matches any answer to the same call.
    return unit.kind, unit.call_id if unit.kind == "answer" else unit.digest
