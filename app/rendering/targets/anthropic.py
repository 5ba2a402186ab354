"""The messages of `anthropic`: all answers of a turn stand first in one message of the user.

An answer holds its media, except where the tool failed: beside `is_error` nothing but text is
taken, and some there has to be. Its media then stand behind all answers, each behind a line that
names the call it belongs to. Text of nothing but white space is refused everywhere, and left out.
Messages of one side that follow each other stay apart; the service reads them as one.

Source: `providers`, `anthropic`; types of anthropic 2.12.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from app.media.types import canonical_mime_type
from app.models.conversation import Attachment, Call, SettledItem, SettledTurn
from app.models.rendering import ImageDetail
from app.rendering.targets.leaves import JsonLeaf, Node, b64, text_of
from app.rendering.targets.lines import ERROR_LINE, attached_line, frame_line
from app.rendering.targets.profile import Profile

_WHERE = "attached after the tool results"
_MOST_TITLE_CHARS = 500


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as messages, a turn in which nothing is said left out.

    `detail` has no place in them.
    """
    messages: list[Node] = []
    for are_answers, group in groupby(turns, lambda turn: turn.role == "tool"):
        if are_answers:
            messages.append({"role": "user", "content": _answers(group, profile)})
            continue
        for turn in group:
            calls = [_call(call, profile) for call in turn.calls]
            if content := [*_blocks(turn.items), *calls]:
                messages.append({"role": turn.role, "content": content})
    return messages


def _answers(group: Iterable[SettledTurn], profile: Profile) -> list[Node]:
    results: list[Node] = []
    beside: list[Node] = []
    for turn in group:
        call_id = profile.call_id.fit(turn.call_id)
        result: dict[str, Node] = {"type": "tool_result", "tool_use_id": call_id}
        if turn.is_error:
            result |= {"content": _failure(turn.items), "is_error": True}
            for item in turn.items:
                if isinstance(item, Attachment):
                    beside += [*_text(frame_line(turn, item, call_id)), _medium(item)]
        elif content := _blocks(turn.items):
            result["content"] = content
        results.append(result)
    return [*results, *beside]


def _failure(items: Sequence[SettledItem]) -> list[Node]:
    blocks: list[Node] = []
    for item in items:
        if isinstance(item, Attachment):
            blocks += _text(attached_line(item, _WHERE))
        else:
            blocks += _text(text_of(item))
    return blocks or _text(ERROR_LINE)


def _blocks(items: Sequence[SettledItem]) -> list[Node]:
    blocks: list[Node] = []
    for item in items:
        if isinstance(item, Attachment):
            blocks.append(_medium(item))
        else:
            blocks += _text(text_of(item))
    return blocks


def _text(text: str | None) -> list[Node]:
    return [{"type": "text", "text": text}] if text and not text.isspace() else []


def _medium(attachment: Attachment) -> Node:
    mime_type = canonical_mime_type(attachment.mime_type) or attachment.mime_type
    source: Node
    if attachment.url is not None:
        source = {"type": "url", "url": attachment.url}
    else:
        source = {"type": "base64", "media_type": mime_type, "data": b64(attachment)}
    if mime_type.startswith("image/"):
        return {"type": "image", "source": source}
    document: dict[str, Node] = {"type": "document", "source": source}
    if title := (attachment.filename or "").strip()[:_MOST_TITLE_CHARS]:
        document["title"] = title
    return document


def _call(call: Call, profile: Profile) -> Node:
    return {
        "type": "tool_use",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "input": JsonLeaf(call.arguments),
    }
