"""The document of a rendering: messages, the loss account, hashes of prefixes, cache marks.

The render routes of the service respond with this document. Its messages are written by the target;
see `Profile.write`.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress, repeat
from operator import not_
from typing import NamedTuple

from pagefault_dialects.model.conversation import ResolvedTurn
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, node_digest
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.opening_turns import split_system_text
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.turns.pairing import find_position_seqs

_HASH_BYTES = 8
# The members that may have the blocks of a message.
_BLOCK_MEMBERS = ("content", "parts")
# The members that mark a message or a block for the cache of the provider.
_CACHE_MARK_MEMBERS = ("cache_control", "cachePoint")
# The limit of Anthropic and Bedrock for one request.
_MAX_CACHE_MARKS = 4
# The values of `type` with blocks in `content`; messages have no `type`.
_TYPES_WITH_BLOCKS = (None, "tool_result")


def build_document(
    resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> dict[str, Node]:
    """Return `{target, profile, messages, system?, loss, openCalls?, tokensEst?}`.

    Args:
        resolved: The conversation.
        profile: The target.
        options: The options of the rendering.
    """
    system, turns = split_system_text(resolved.turns, profile)
    document = _assemble(_write_messages(turns, profile, options), system, resolved.loss, profile)
    document |= _find_open_calls(turns, profile)
    if options.count_tokens:
        document["tokensEst"] = profile.tokens.count_turns(turns, system)
    return document


class SessionDocument(NamedTuple):
    """The document of a session's rendering."""

    document: dict[str, Node]
    hashes: Sequence[bytes]
    """The prefix hashes of all messages, also of those that `document` leaves out with `since`."""


@dataclass(frozen=True, slots=True)
class WrittenPrefix:
    """The state after the first messages of a session, which do not change any more."""

    system: str
    """The system text, if the target has it outside of the messages."""
    digest: bytes
    """The digest of the target, the system text and these messages."""
    role: Node
    """The role of the last message."""


def write_prefix(
    resolved: ResolvedTurns,
    profile: Profile,
    options: RenderOptions,
    prefix: WrittenPrefix | None = None,
) -> WrittenPrefix:
    """Return the state after the messages of some turns that do not change any more.

    Args:
        resolved: The turns, which follow `prefix`.
        profile: The target.
        options: The options of the rendering.
        prefix: The state after the messages before these turns; `None` at the beginning.
    """
    system, turns = split_system_text(resolved.turns, profile)
    hasher = _make_hasher(prefix, profile, system)
    hasher.add(_write_messages(turns, profile, options))
    return WrittenPrefix(prefix.system if prefix else system, hasher.digest, hasher.role)


def build_session_document(
    resolved: ResolvedTurns,
    profile: Profile,
    options: RenderOptions,
    *,
    last_seq: int,
    since: int,
    prefix: WrittenPrefix | None = None,
) -> SessionDocument:
    """Return the document of a session with prefix hashes; with `since`, of its new part.

    The document has the members of `build_document`, `prefixHash`, `lastSeq`, and with `since` also
    `sinceHash`. If `sinceHash` does not equal the last prefix hash of the caller, the caller cannot
    append the new messages.

    Args:
        resolved: The whole conversation, or the turns after `prefix`.
        profile: The target.
        options: The options of the rendering.
        last_seq: The `seq` of the last entry of the session.
        since: The last `seq` that the caller has; 0 for none.
        prefix: The state after the messages that are not in `resolved`. Hashes begin after them.
    """
    system, turns = split_system_text(resolved.turns, profile)
    is_new = [not since or seq > since for seq in find_position_seqs(resolved.turns)]
    # System turns at the beginning that `split_system_text` has removed.
    removed = len(resolved.turns) - len(turns)
    new_turns = list(compress(turns, is_new[removed:]))
    old_turns = list(compress(turns, map(not_, is_new[removed:])))
    old_messages = _write_messages(old_turns, profile, options)
    new_messages = _write_messages(new_turns, profile, options)
    hasher = _make_hasher(prefix, profile, system)
    hasher.add(old_messages)
    since_hash, hashes = hasher.hash, hasher.add(new_messages)
    # For each entry of the loss account, whether its turn is new.
    is_loss_new = chain.from_iterable(map(repeat, is_new, resolved.loss_counts))
    loss = compress(resolved.loss, is_loss_new)
    # The text about the session's memory is new each time.
    new_system = system if options.memory or any(is_new[:removed]) else ""
    document = _assemble(new_messages, new_system, loss, profile)
    document |= _find_open_calls(turns, profile)
    if options.count_tokens:
        document["tokensEst"] = profile.tokens.count_turns(new_turns, new_system)
    document |= {"prefixHash": [digest.hex() for digest in hashes], "lastSeq": last_seq}
    if since:
        begins_with_answer = bool(new_turns) and new_turns[0].role == "tool"
        if begins_with_answer or options.frontier is not None:
            all_messages = _write_messages(turns, profile, options)
            whole_hasher = _make_hasher(prefix, profile, system)
            hashes = whole_hasher.add(all_messages)
            is_merged = len(all_messages) != len(old_messages) + len(new_messages)
            if (begins_with_answer and is_merged) or whole_hasher.hash != hasher.hash:
                # The new answers belong before or into a message that the caller has already. A
                # hash that equals no other makes the caller render the whole session.
                since_hash = hashlib.sha256(since_hash).digest()[:_HASH_BYTES]
        document["sinceHash"] = since_hash.hex()
    return SessionDocument(document, hashes)


class _PrefixHasher:
    """Hashes the target, the system text, and the messages that are added.

    Messages are hashed block by block, so that blocks of one role have the same hash in one message
    as in two consecutive messages. Targets that merge such messages append new blocks to the last
    message, which the caller may have already.

    Args:
        digest: The digest to continue from.
        role: The role of the last message in `digest`; `None` without one.
    """

    def __init__(self, digest: bytes, role: Node) -> None:
        self.digest = digest
        self.role = role

    @property
    def hash(self) -> bytes:
        """The beginning of the digest, which callers get."""
        return self.digest[:_HASH_BYTES]

    def add(self, messages: Iterable[Node]) -> Sequence[bytes]:
        """Add messages; return the hash after each of them."""
        return [self._add_message(message) for message in messages]

    def _add_message(self, message: Node) -> bytes:
        role, blocks = _split_message(message)
        digests = [*map(node_digest, blocks)]
        if role is None or role != self.role:
            digests.insert(0, _role_digest(role) if isinstance(role, str) else node_digest(role))
        for digest in digests:
            self.digest = hashlib.sha256(self.digest + digest).digest()
        self.role = role
        return self.hash


@lru_cache
def _role_digest(role: str) -> bytes:
    return node_digest(role)


def _make_hasher(prefix: WrittenPrefix | None, profile: Profile, system: str) -> _PrefixHasher:
    if prefix is not None:
        return _PrefixHasher(prefix.digest, prefix.role)
    head: list[Node] = [f"{profile.target}/{profile.version}", system or None]
    return _PrefixHasher(hashlib.sha256(node_digest(head)).digest(), None)


def _split_message(message: Node) -> tuple[Node, Sequence[Node]]:
    """Return the role of a message, and its blocks.

    If a message has more members than these two, no role and the message itself are returned.
    """
    if isinstance(message, dict) and len(message) == 2:
        for name in _BLOCK_MEMBERS:
            if isinstance(blocks := message.get(name), list):
                return message.get("role"), blocks
    return None, [message]


def _write_messages(
    turns: Sequence[ResolvedTurn], profile: Profile, options: RenderOptions
) -> Sequence[Node]:
    detail = profile.fit_detail(options.detail) or profile.default_detail
    return profile.write(turns, profile, detail)


def _assemble(
    messages: Sequence[Node],
    system: str,
    loss: Iterable[LossEntry],
    profile: Profile,
) -> dict[str, Node]:
    """Return the members that every document has, in their order, and `system` if it has a text."""
    document: dict[str, Node] = {
        "target": profile.target,
        "profile": f"{profile.target}/{profile.version}",
        "messages": [*messages],
    }
    if system:
        document["system"] = system
    document["loss"] = [JsonLeaf(entry.wire()) for entry in loss]
    return document


def _find_open_calls(turns: Sequence[ResolvedTurn], profile: Profile) -> dict[str, Node]:
    """Return the member with the ids of calls that have no answer yet, if there are any."""
    answered = {turn.call_id for turn in turns if turn.role == "tool"}
    calls = (call.call_id for turn in turns for call in turn.calls)
    ids: list[Node] = [profile.call_id.fit(call) for call in calls if call not in answered]
    return {"openCalls": ids} if ids else {}


def add_cache_marks(
    document: dict[str, Node], profile: Profile, options: RenderOptions, *, sent_messages: int = 0
) -> None:
    """Mark messages for the cache of a provider, if marks are requested and the target has them.

    The last message is marked, so that the next request finds this whole request in the cache. The
    last message of the previous request is marked as well, since a provider looks back from a mark
    over a few blocks only. If the conversation has marks of its own, the oldest marks beyond the
    limit of the provider are removed.

    Args:
        document: The document; its messages are replaced.
        profile: The target.
        options: The options, with `cache_markers`.
        sent_messages: The number of unchanged messages that the previous request has sent.
    """
    messages = document["messages"]
    if profile.mark_cached is None or not isinstance(messages, list):
        return
    counts = (sent_messages, len(messages)) if options.cache_markers else ()
    marked = {count - 1 for count in counts if count > 0}
    messages = [
        profile.mark_cached(message) if index in marked else message
        for index, message in enumerate(messages)
    ]
    excess = _count_marks(messages) - _MAX_CACHE_MARKS
    document["messages"] = messages if excess <= 0 else _remove_marks(messages, excess)[0]


def _count_marks(blocks: Iterable[Node]) -> int:
    """Return the number of marked messages and blocks, including nested blocks."""
    count = 0
    for block in blocks:
        members = _members_of(block)
        count += _is_marked(members)
        if nested_blocks := _nested_blocks(members):
            count += _count_marks(nested_blocks)
    return count


def _remove_marks(blocks: Iterable[Node], excess: int) -> tuple[list[Node], int]:
    """Remove the first `excess` marks from blocks.

    Returns:
        The blocks, and the number of marks that remain to be removed. Blocks that consist of a mark
        alone are left out.
    """
    remaining: list[Node] = []
    for block in blocks:
        members = _members_of(block)
        nested_blocks = _nested_blocks(members)
        if excess <= 0 or not (_is_marked(members) or _count_marks(nested_blocks)):
            remaining.append(block)
            continue
        members = {**members}
        if nested_blocks:
            members["content"], excess = _remove_marks(nested_blocks, excess)
        if excess > 0 and _is_marked(members):
            excess -= 1
            for name in _CACHE_MARK_MEMBERS:
                members.pop(name, None)
        remaining += [members] if members else []
    return remaining, excess


def _members_of(block: Node) -> Mapping[str, Node]:
    """Return the members of a message or a block; the members of a `JsonLeaf` are leaves too."""
    if isinstance(block, JsonLeaf) and isinstance(block.value, dict):
        return {
            name: JsonLeaf(value) if isinstance(value, dict | list) else value
            for name, value in block.value.items()
        }
    return block if isinstance(block, dict) else {}


def _nested_blocks(members: Mapping[str, Node]) -> list[Node]:
    """Return the blocks in the content of a message or of a tool result."""
    content = members.get("content") if members.get("type") in _TYPES_WITH_BLOCKS else None
    if isinstance(content, JsonLeaf) and isinstance(content.value, list):
        return [JsonLeaf(item) for item in content.value]
    return content if isinstance(content, list) else []


def _is_marked(members: Mapping[str, Node]) -> bool:
    marks = (members.get(name) for name in _CACHE_MARK_MEMBERS)
    return any(mark.value if isinstance(mark, JsonLeaf) else mark for mark in marks)


def count_unchanged_messages(sent_hashes: bytes, hashes: Sequence[bytes]) -> int:
    """Return the number of messages at the beginning that equal the messages sent last.

    Args:
        sent_hashes: The prefix hashes of the messages sent last, joined.
        hashes: The prefix hashes of the messages at present.
    """
    sent = (
        sent_hashes[start : start + _HASH_BYTES]
        for start in range(0, len(sent_hashes), _HASH_BYTES)
    )
    # A hash covers all messages before it, so no hash is equal after the first difference.
    return sum(old == new for old, new in zip(sent, hashes, strict=False))
