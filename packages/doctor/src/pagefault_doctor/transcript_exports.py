"""Sessions as transcripts that Claude Code or Codex resumes.

A transcript is the rendering of a session for the provider of the host, each message in a line. So
a host gets no history that its provider refuses. Messages that came from such a transcript keep the
members that only answers have. System prompts are left out, since each host has its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.loaded_sessions import LoadedSession
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import NativeMessage
from pagefault_dialects.model.moments import rfc3339
from pagefault_dialects.model.render_options import (
    JsonPiece,
    Rendering,
    RenderOptions,
    joined_pieces,
    rendering_of,
)
from pagefault_dialects.rendered_documents import document_of
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import Profile
from pagefault_doctor.transcript_files import TARGETS, Host

_VERSION = "2.1.12"
"""The version of Claude Code whose form the lines have; an older one ignores new members."""
_UNKNOWN_MODEL = "unknown"
_NO_TIME = datetime.fromtimestamp(0, UTC)
"""The time of lines about a session without entries, the same in each transcript."""
_TYPES_OF_TEXT = {"assistant": "output_text"}
_EVENTS = {"user": "user_message", "assistant": "agent_message"}
_PROMPTS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class TranscriptQuery:
    """The host of a transcript, and the folder that it is resumed in."""

    host: Host
    folder: str = "/"
    max_tokens: int | None = None


def transcript_id(project_id: str, session_id: str) -> UUID:
    """Return the id of a session in its transcripts, which is always the same."""
    return uuid5(NAMESPACE_URL, f"pagefault:{project_id}/{session_id}")


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptExports:
    """Writes sessions as transcripts."""

    renders: SessionRenders
    """Fits sessions to the provider of a host."""

    async def export(
        self, project_id: str, session_id: str, query: TranscriptQuery
    ) -> RenderedBody:
        """Return a session as JSON lines, the same for the same session.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidPayloadError: The session does not fit `max_tokens`.
            StoreUnavailableError: A store did not answer.
        """
        render = RenderQuery(TARGETS[query.host], RenderOptions(max_tokens=query.max_tokens))
        profile = _keep_answers(self.renders.check(render))

        async def write(loaded: LoadedSession) -> Rendering:
            _, _, resolved, _ = await self.renders.fit(project_id, loaded, profile, render)
            name = transcript_id(project_id, session_id)
            model = loaded.with_model(render.options).model or _UNKNOWN_MODEL
            began = loaded.entries[0].created_at if loaded.entries else _NO_TIME
            lines = _Lines(query.host, name, query.folder, model, began)
            return await self.renders.resolver.run(
                partial(_write, lines, resolved, profile, render.options)
            )

        async with self.renders.slots.slot(project_id):
            rendering = await self.renders.load_and_render(project_id, session_id, render, write)
        return await self.renders.answers.body(project_id, rendering)


def _keep_answers(profile: Profile) -> Profile:
    """Return a profile that writes messages of its own dialect with the members of answers."""
    as_request = profile.as_request

    def as_sent(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
        is_own = as_request is not None and as_request(native, options) is not None
        return native.message if is_own else None

    return replace(profile, as_request=as_sent)


def _write(
    lines: "_Lines", resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> Rendering:
    written = document_of(resolved, profile, options)["messages"]
    messages = [*map(_members, written)] if isinstance(written, list) else []
    pieces: list[JsonPiece] = []
    for line in lines.write(_without_prompts(messages)):
        pieces += [*json_pieces(line).pieces, b"\n"]
    return rendering_of(joined_pieces(pieces))


def _members(message: Node) -> dict[str, Any]:
    """Return the members of a message; those of one that is written as it was sent as leaves."""
    if isinstance(message, JsonLeaf):
        return {name: JsonLeaf(value) for name, value in message.value.items()}
    return message if isinstance(message, dict) else {}


def _plain(member: Node) -> Any:  # noqa: ANN401 - a value of JSON
    return member.value if isinstance(member, JsonLeaf) else member


def _without_prompts(messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    start = 0
    while start < len(messages) and _plain(messages[start].get("role")) in _PROMPTS:
        start += 1
    return messages[start:]


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one transcript."""

    host: Host
    name: UUID
    folder: str
    model: str
    began: datetime

    def write(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        """Yield the lines, each around a message or about it."""
        hosts: Mapping[Host, Callable[[Sequence[dict[str, Any]]], Iterator[Node]]] = {
            "claude-code": self._claude_code,
            "codex": self._codex,
        }
        return hosts[self.host](messages)

    def _time(self, index: int) -> str:
        # Hosts order messages by their time.
        return rfc3339(self.began + timedelta(milliseconds=index))

    def _claude_code(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        parent: str | None = None
        for index, message in enumerate(messages):
            name = str(uuid5(self.name, str(index)))
            role = _plain(message["role"])
            if role == "assistant":
                message = self._answer(message, name)  # noqa: PLW2901
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.folder,
                "sessionId": str(self.name),
                "version": _VERSION,
                "gitBranch": "",
                "type": role,
                "message": message,
                "uuid": name,
                "timestamp": self._time(index),
            }
            parent = name

    def _answer(self, message: dict[str, Any], name: str) -> dict[str, Any]:
        """Return a message of the assistant with the members that the host reads."""
        return {
            "id": f"msg_{name}",
            "type": "message",
            "model": self.model,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
            **message,
        }

    def _codex(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        meta: dict[str, Node] = {
            "id": str(self.name),
            "timestamp": self._time(0),
            "cwd": self.folder,
            "originator": "pagefault",
            "cli_version": "0.0.0",
            "instructions": None,
        }
        yield self._line(0, "session_meta", meta)
        for index, message in enumerate(messages, 1):
            role, content = _plain(message.get("role")), _plain(message.get("content"))
            if isinstance(content, str):
                # Codex reads the content of a message as a list only.
                kind = _TYPES_OF_TEXT.get(role, "input_text")
                content = [{"type": kind, "text": content}]
                message = {**message, "content": content}  # noqa: PLW2901
            item = {"type": "message", **message} if "role" in message else message
            yield self._line(index, "response_item", item)
            # The host shows events, and sends items.
            if role in _EVENTS and (text := _text_of(content)):
                yield self._line(index, "event_msg", {"type": _EVENTS[role], "message": text})

    def _line(self, index: int, kind: str, payload: dict[str, Node]) -> Node:
        return {"timestamp": self._time(index), "type": kind, "payload": payload}


def _text_of(content: Any) -> str:  # noqa: ANN401 - a value of JSON
    blocks = [_plain(block) for block in content] if isinstance(content, list) else []
    texts = [_plain(block.get("text")) for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
