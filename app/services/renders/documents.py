"""The answer of a rendering: messages, the account of the loss, and what stands for the prefix."""

import hashlib
from collections.abc import Sequence

from app.models.rendering import RenderOptions
from app.rendering.targets.ladder import Settled
from app.rendering.targets.leaves import JsonLeaf, Node, json_pieces
from app.rendering.targets.opening import opened
from app.rendering.targets.profile import Profile

_HASH_BYTES = 8


def document_of(settled: Settled, profile: Profile, options: RenderOptions) -> dict[str, Node]:
    """Return the answer: `{target, profile, messages, system?, loss, tokensEst}`."""
    system, turns = opened(settled.turns, profile)
    messages = profile.write(turns, profile, options.detail or profile.default_detail)
    document: dict[str, Node] = {
        "target": profile.target,
        "profile": f"{profile.target}/{profile.version}",
        "messages": messages,
    }
    if system:
        document["system"] = system
    document["loss"] = [JsonLeaf(entry.wire()) for entry in settled.loss]
    document["tokensEst"] = profile.tokens.turns(turns, system)
    return document


def prefix_hashes(document: dict[str, Node]) -> list[bytes]:
    """Return a hash for each message: of itself and of all that stands before it."""
    head: list[Node] = [document["profile"], document.get("system")]
    hashed = hashlib.sha256(_digest_of(head)).digest()
    hashes = []
    messages = document["messages"]
    for message in messages if isinstance(messages, list) else []:
        hashed = hashlib.sha256(hashed + _digest_of(message)).digest()
        hashes.append(hashed[:_HASH_BYTES])
    return hashes


def hashed_document(
    settled: Settled, profile: Profile, options: RenderOptions
) -> tuple[dict[str, Node], list[bytes]]:
    """Return the answer, and the hashes of its messages."""
    document = document_of(settled, profile, options)
    return document, prefix_hashes(document)


def mark(
    document: dict[str, Node], profile: Profile, options: RenderOptions, *, stable: int = 0
) -> None:
    """Write marks for a provider's cache, if they are asked for and the target takes them.

    At the last message, so that the next request finds all of this one; and at the last of those
    that were sent before, since a provider looks back from a mark over a few blocks only.

    Args:
        document: The answer; its messages are replaced.
        profile: The target.
        options: Whether marks are asked for.
        stable: How many messages were sent before.
    """
    messages = document["messages"]
    if not options.cache_markers or profile.mark_cached is None or not isinstance(messages, list):
        return
    places = {each - 1 for each in (stable, len(messages)) if each > 0}
    document["messages"] = [
        profile.mark_cached(message) if index in places else message
        for index, message in enumerate(messages)
    ]


def _digest_of(node: Node) -> bytes:
    return str(json_pieces(node).digest).encode()


def equal_hashes(sent: bytes, hashes: Sequence[bytes]) -> int:
    """Return how many messages are the same as those that were sent last."""
    before = [sent[at : at + _HASH_BYTES] for at in range(0, len(sent), _HASH_BYTES)]
    # A hash stands for all before it, so that what is equal is a stretch from the beginning.
    return sum(old == new for old, new in zip(before, hashes, strict=False))
