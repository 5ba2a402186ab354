"""Finds and checks the stored messages that a compaction item in a conversation represents.

A compaction item (`compactions.py`) has a signed handle, which names a stored session and the last
entry that the item represents. If a client sends a conversation with the item, only the messages
after the item are compared with the stored ones. The stored messages are complete, so a rendering
can evict old steps within any limit of tokens.
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
# The purpose is signed too, so that signatures of other links are not valid here.
_PURPOSE = b"COMPACTION"
_INVALID_HANDLE_ERRORS = (ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class CompactionGrant:
    """The claims that the handle of a compaction item contains."""

    project_id: str
    session_id: str
    incarnation: str | None
    """An id that distinguishes the session from a later session with the same id."""
    last_seq: int
    """The `seq` of the last entry that the compaction item represents."""
    max_tokens: int
    """The limit of tokens of renderings of the conversation."""
    expires_at: datetime

    def sign(self, signer: LinkSigner) -> str:
        """Return a handle with these claims and their signature."""
        *claims, expires_at = astuple(self)
        return signer.sign_claims(_PURPOSE, claims, expires_at)

    @classmethod
    def verify(cls, signer: LinkSigner, handle: str) -> "CompactionGrant | None":
        """Return the claims of a handle; `None` if this service has not signed the handle.

        The caller has to check `expires_at`.
        """
        try:
            *claims, expires = signer.read_claims(_PURPOSE, handle, None)
            project_id, session_id, incarnation, last_seq, max_tokens = claims
            expires_at = datetime.fromtimestamp(expires, tz=UTC)
            return cls(project_id, session_id, incarnation, last_seq, max_tokens, expires_at)
        except _INVALID_HANDLE_ERRORS:
            return None


@dataclass(frozen=True, slots=True)
class CompactedBeginning:
    """The beginning of a conversation that a compaction item represents.

    In the methods, the *origin* is the conversation of the session that the handle names.
    """

    grant: CompactionGrant
    """The claims of the handle of the item."""
    index: int
    """The index of the item in the list of messages."""
    pointer: str
    """The JSON pointer to the item."""
    earlier: tuple["CompactedBeginning", ...] = ()
    """If the list has items with different handles: the beginning of each handle, in order."""

    def check(self, origin: StoredConversation) -> None:
        """Raise an error if the session of the handle was deleted.

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
        """Raise an error if a message before the item is not among the stored messages.

        Such a message would be lost.

        Args:
            origin: The conversation of the session that the handle names.
            sent: The units of the sent messages.
            pointers: The JSON pointers to the sent messages.

        Raises:
            InvalidPayloadError: A message is not stored.
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
        """Raise an error if a conversation does not begin like the session of the handle.

        Args:
            stored: The conversation.
            origin: The conversation of the session that the handle names.

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
        """Return True if a conversation begins with the messages that the item represents."""
        end = self.grant.last_seq
        return [*map(_get_key, stored.up_to(end).units)] == [
            *map(_get_key, origin.up_to(end).units)
        ]

    def compare(
        self, stored: Sequence[Unit], sent: Sequence[Unit], message_count: int
    ) -> Comparison:
        """Compare the messages after the item with the stored messages after the beginning.

        Args:
            stored: The units of all stored messages.
            sent: The units of all sent messages.
            message_count: The number of sent messages.
        """
        stored_later = [unit for unit in stored if unit.position > self.grant.last_seq]
        sent_later = [unit for unit in sent if unit.position > self.index]
        comparison = compare(stored_later, sent_later, message_count)
        # `compare` takes all messages without content for new, even those before the item.
        new = tuple(index for index in comparison.new if index > self.index)
        return replace(comparison, new=new)


def find_beginning(
    signer: LinkSigner, project_id: str, items: Iterable[tuple[str, JsonValue]]
) -> CompactedBeginning | None:
    """Return the beginning that the last compaction item in a list of messages represents.

    Args:
        signer: Verifies the handle.
        project_id: The caller's project.
        items: The messages, each with its JSON pointer.

    Returns:
        The beginning; `None` if there is no compaction item.

    Raises:
        InvalidPayloadError: A handle was changed, belongs to another project, or has expired.
    """
    last: CompactedBeginning | None = None
    by_handle: dict[tuple[str, int], CompactedBeginning] = {}
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
        last = CompactedBeginning(grant, index, pointer)
        by_handle.setdefault((grant.session_id, grant.last_seq), last)
    if last is None or len(by_handle) == 1:
        return last
    return replace(last, earlier=(*by_handle.values(),))


def _make_fault(pointer: str, detail: str) -> Fault:
    return Fault(f"{pointer}/encrypted_content", detail)


def _get_key(unit: Unit) -> tuple[str, str | bytes]:
    """Return the key by which a sent unit is found among the stored units."""
    # A result matches any other result of the same call.
    return unit.kind, unit.call_id if unit.kind == "result" else unit.digest
