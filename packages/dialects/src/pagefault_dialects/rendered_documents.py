"""The answer of a rendering: messages, the loss account, and hashes of prefixes."""

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
# The members with the blocks of a message, by target.
_BLOCKS = ("content", "parts")
_MARKS = ("cache_control", "cachePoint")
_MAX_MARKS = 4
_HOLDERS = (None, "tool_result")


def document_of(
    resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> dict[str, Node]:
    """Return the answer: `{target, profile, messages, system?, loss, openCalls?, tokensEst?}`.

    Args:
        resolved: The conversation.
        profile: The target.
        options: The options of the rendering.
    """
    system, turns = split_system_text(resolved.turns, profile)
    messages = _written(turns, profile, options)
    answer = _answer(messages, system, resolved.loss, profile) | _open_calls(turns, profile)
    if options.count_tokens:
        answer["tokensEst"] = profile.tokens.turns(turns, system)
    return answer


class SessionDocument(NamedTuple):
    """The answer of a session's rendering.

    `hashes` are the prefix hashes of all messages of the session, for those that remember them:
    with `since`, `answer` has only some.
    """

    answer: dict[str, Node]
    hashes: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class WrittenPrefix:
    """The state of final messages of a session, from which later ones are rendered."""

    system: str
    """The system text, if the target has it apart."""
    digest: bytes
    """The digest of all of them."""
    role: Node
    """The role of the last one."""


def written_prefix(
    resolved: ResolvedTurns,
    profile: Profile,
    options: RenderOptions,
    prefix: WrittenPrefix | None = None,
) -> WrittenPrefix:
    """Return the state after a final beginning.

    Args:
        resolved: The beginning, or the turns after a prefix.
        profile: The target.
        options: The options of the rendering.
        prefix: The state of the messages before it.
    """
    system, turns = split_system_text(resolved.turns, profile)
    hashes = _hashes_behind(prefix, profile, system)
    hashes.through(_written(turns, profile, options))
    return hashes.kept(prefix.system if prefix else system)


def session_document(
    resolved: ResolvedTurns,
    profile: Profile,
    options: RenderOptions,
    *,
    last_seq: int,
    since: int,
    behind: WrittenPrefix | None = None,
) -> SessionDocument:
    """Return a whole session, or its new part, as the answer, with prefix hashes.

    Args:
        resolved: The whole conversation, or the turns after a prefix of it.
        profile: The target.
        options: The options of the rendering.
        last_seq: The last entry of the session.
        since: The last `seq` that the caller has, 0 for none.
        behind: The prefix, if the caller has it; the hashes begin after it.
    """
    system, turns = split_system_text(resolved.turns, profile)
    are_new = [not since or seq > since for seq in find_position_seqs(resolved.turns)]
    leading = len(resolved.turns) - len(turns)
    new = list(compress(turns, are_new[leading:]))
    kept = _written(list(compress(turns, map(not_, are_new[leading:]))), profile, options)
    messages = _written(new, profile, options)
    prefix = _hashes_behind(behind, profile, system)
    prefix.through(kept)
    prior, hashes = prefix.hash, prefix.through(messages)
    # For each entry of the loss, whether its turn is new.
    is_loss_new = chain.from_iterable(map(repeat, are_new, resolved.loss_of_turns))
    loss = compress(resolved.loss, is_loss_new)
    # The text about the session's memory is new each time.
    new_system = system if options.memory or any(are_new[:leading]) else ""
    answer = _answer(messages, new_system, loss, profile) | _open_calls(turns, profile)
    if options.count_tokens:
        answer["tokensEst"] = profile.tokens.turns(new, new_system)
    answer |= {"prefixHash": [digest.hex() for digest in hashes], "lastSeq": last_seq}
    if since:
        is_open = bool(new) and new[0].role == "tool"
        if is_open or options.frontier is not None:
            whole = _written(turns, profile, options)
            of_whole = _hashes_behind(behind, profile, system)
            hashes = of_whole.through(whole)
            is_between = is_open and len(whole) != len(kept) + len(messages)
            if is_between or of_whole.hash != prefix.hash:
                # Answers are inserted before or into a message that the caller has.
                prior = hashlib.sha256(prior).digest()[:_HASH_BYTES]
        answer["sinceHash"] = prior.hex()
    return SessionDocument(answer, hashes)


class _PrefixHashes:
    """The hash so far: of target and system, and of the messages that were added.

    It is updated block by block, so that content of one role has the same hash in one message as in
    two consecutive ones. If a target merges them, new blocks of a session are appended to its last
    message, and callers may have that message already.
    """

    def __init__(self, digest: bytes, role: Node) -> None:
        self._digest = digest
        self._role = role

    def kept(self, system: str) -> WrittenPrefix:
        """Return the state after the added messages."""
        return WrittenPrefix(system, self._digest, self._role)

    @property
    def hash(self) -> bytes:
        """The hash of all added messages."""
        return self._digest[:_HASH_BYTES]

    def through(self, messages: Iterable[Node]) -> Sequence[bytes]:
        """Add messages; return the hash after each of them."""
        return [self._after(message) for message in messages]

    def _after(self, message: Node) -> bytes:
        role, blocks = _side(message)
        digests = [*map(node_digest, blocks)]
        if role is None or role != self._role:
            digests.insert(0, _role_digest(role) if isinstance(role, str) else node_digest(role))
        for digest in digests:
            self._digest = hashlib.sha256(self._digest + digest).digest()
        self._role = role
        return self.hash


@lru_cache
def _role_digest(role: str) -> bytes:
    return node_digest(role)


def _hashes_behind(prefix: WrittenPrefix | None, profile: Profile, system: str) -> _PrefixHashes:
    if prefix is not None:
        return _PrefixHashes(prefix.digest, prefix.role)
    head: list[Node] = [f"{profile.target}/{profile.version}", system or None]
    return _PrefixHashes(hashlib.sha256(node_digest(head)).digest(), None)


def _side(message: Node) -> tuple[Node, Sequence[Node]]:
    """Return the role of a message and its blocks; no role, and the message, if it has more."""
    if isinstance(message, dict) and len(message) == 2:
        for name in _BLOCKS:
            if isinstance(blocks := message.get(name), list):
                return message.get("role"), blocks
    return None, [message]


def _written(
    turns: Sequence[ResolvedTurn], profile: Profile, options: RenderOptions
) -> Sequence[Node]:
    detail = profile.detail(options.detail) or profile.default_detail
    return profile.write(turns, profile, detail)


def _answer(
    messages: Sequence[Node],
    system: str,
    loss: Iterable[LossEntry],
    profile: Profile,
) -> dict[str, Node]:
    answer: dict[str, Node] = {
        "target": profile.target,
        "profile": f"{profile.target}/{profile.version}",
        "messages": [*messages],
    }
    if system:
        answer["system"] = system
    answer["loss"] = [JsonLeaf(entry.wire()) for entry in loss]
    return answer


def _open_calls(turns: Sequence[ResolvedTurn], profile: Profile) -> dict[str, Node]:
    """Return the member with the ids of calls that have no answer yet, if there are any."""
    answered = {turn.call_id for turn in turns if turn.role == "tool"}
    calls = (call.call_id for turn in turns for call in turn.calls)
    ids: list[Node] = [profile.call_id.fit(call) for call in calls if call not in answered]
    return {"openCalls": ids} if ids else {}


def mark(
    document: dict[str, Node], profile: Profile, options: RenderOptions, *, stable: int = 0
) -> None:
    """Write marks for a provider's cache, if they are requested and the target accepts them.

    The last message gets one, so that the next request finds all of this one. So does the last of
    those sent before, since a provider looks back from a mark over a few blocks only.

    Args:
        document: The answer; its messages are replaced.
        profile: The target.
        options: The options, with `cache_markers`.
        stable: The number of messages sent before.
    """
    messages = document["messages"]
    if profile.mark_cached is None or not isinstance(messages, list):
        return
    places = {item - 1 for item in (stable, len(messages)) if item > 0 and options.cache_markers}
    document["messages"] = _with_few_marks(
        [
            profile.mark_cached(message) if index in places else message
            for index, message in enumerate(messages)
        ]
    )


def _with_few_marks(messages: list[Node]) -> list[Node]:
    """Return messages without the oldest marks beyond the provider's limit."""
    too_many = _count_marks(messages) - _MAX_MARKS
    return messages if too_many <= 0 else _without_marks(messages, too_many)[0]


def _count_marks(blocks: Iterable[Node]) -> int:
    """Return the number of marked blocks, including nested ones."""
    count = 0
    for block in blocks:
        members = _members(block)
        count += _is_marked(members)
        if inside := _blocks(members):
            count += _count_marks(inside)
    return count


def _without_marks(blocks: Iterable[Node], too_many: int) -> tuple[list[Node], int]:
    """Return blocks without their first marks, and the number of marks still to remove."""
    kept: list[Node] = []
    for block in blocks:
        members = _members(block)
        inside = _blocks(members)
        if too_many <= 0 or not (_is_marked(members) or _count_marks(inside)):
            kept.append(block)
            continue
        members = {**members}
        if inside:
            members["content"], too_many = _without_marks(inside, too_many)
        if too_many > 0 and _is_marked(members):
            too_many -= 1
            members = {key: member for key, member in members.items() if key not in _MARKS}
        kept += [members] if members else []
    return kept, too_many


def _members(block: Node) -> Mapping[str, Node]:
    """Return the members of a block, those of a record's JSON as leaves."""
    if isinstance(block, JsonLeaf) and isinstance(block.value, dict):
        return {
            name: JsonLeaf(value) if isinstance(value, dict | list) else value
            for name, value in block.value.items()
        }
    return block if isinstance(block, dict) else {}


def _blocks(members: Mapping[str, Node]) -> list[Node]:
    """Return the blocks in the content of a message or of a result."""
    content = members.get("content") if members.get("type") in _HOLDERS else None
    if isinstance(content, JsonLeaf) and isinstance(content.value, list):
        return [JsonLeaf(item) for item in content.value]
    return content if isinstance(content, list) else []


def _is_marked(members: Mapping[str, Node]) -> bool:
    for name in _MARKS:
        mark = members.get(name)
        if mark.value if isinstance(mark, JsonLeaf) else mark:
            return True
    return False


def equal_hashes(sent: bytes, hashes: Sequence[bytes]) -> int:
    """Return how many leading messages equal those sent last."""
    before = [sent[at : at + _HASH_BYTES] for at in range(0, len(sent), _HASH_BYTES)]
    # A hash covers all messages before it, so equal hashes are a leading run.
    return sum(old == new for old, new in zip(before, hashes, strict=False))
