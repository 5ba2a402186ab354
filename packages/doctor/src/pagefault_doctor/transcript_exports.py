"""Export of a session as a transcript that Claude Code or Codex resumes.

A transcript has the messages of a rendering for the provider of the host, each on a line, so the
provider accepts the history. Messages that were read from such a transcript keep the members that
only responses of the provider have. System prompts are omitted, because each host adds its own.
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
from pagefault_dialects.model.render_options import (
    JsonPiece,
    Rendering,
    RenderOptions,
    joined_pieces,
    rendering_of,
)
from pagefault_dialects.model.timestamps import rfc3339
from pagefault_dialects.rendered_documents import build_document
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, json_pieces
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import Profile
from pagefault_doctor.transcript_files import TARGETS, Host

_VERSION = "2.1.12"
"""The version of Claude Code in whose form lines are written. Older versions ignore new members."""
_UNKNOWN_MODEL = "unknown"
_NO_TIME = datetime.fromtimestamp(0, UTC)
"""The time of the lines if a session has no entries."""
_TEXT_TYPES = {"assistant": "output_text"}
_EVENT_TYPES = {"user": "user_message", "assistant": "agent_message"}
_PROMPT_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class TranscriptQuery:
    """The host of a transcript, and the folder in which the host resumes it."""

    host: Host
    folder: str = "/"
    max_tokens: int | None = None


def make_transcript_id(project_id: str, session_id: str) -> UUID:
    """Return the id of a session in its transcripts. It depends only on the arguments."""
    return uuid5(NAMESPACE_URL, f"pagefault:{project_id}/{session_id}")


@dataclass(frozen=True, slots=True, eq=False)
class TranscriptExports:
    """Writes sessions as transcripts."""

    renders: SessionRenders
    """Fits sessions to the provider of a host."""

    async def export(
        self, project_id: str, session_id: str, query: TranscriptQuery
    ) -> RenderedBody:
        """Return a session as JSON lines. While the session is unchanged, so are the bytes.

        Raises:
            NotFoundError: The project has no such session.
            InvalidPayloadError: The session does not fit `max_tokens`.
            StoreUnavailableError: A store did not answer.
        """
        render = RenderQuery(TARGETS[query.host], RenderOptions(max_tokens=query.max_tokens))
        profile = _keep_response_members(self.renders.check(render))

        async def write(loaded: LoadedSession) -> Rendering:
            fitted = await self.renders.fit(project_id, loaded, profile, render)
            transcript_uuid = make_transcript_id(project_id, session_id)
            model = loaded.with_model(render.options).model or _UNKNOWN_MODEL
            started_at = loaded.entries[0].created_at if loaded.entries else _NO_TIME
            writer = _TranscriptWriter(query.host, transcript_uuid, query.folder, model, started_at)
            return await self.renders.resolver.run(
                partial(_write_transcript, writer, fitted.resolved, profile, render.options)
            )

        async with self.renders.slots.slot(project_id):
            rendering = await self.renders.load_and_render(project_id, session_id, render, write)
        return await self.renders.tool_results.build_body(project_id, rendering)


def _keep_response_members(profile: Profile) -> Profile:
    """Return a profile that keeps members of responses in messages of its own dialect."""
    as_request = profile.as_request

    def write_sent_message(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
        is_valid_request = as_request is not None and as_request(native, options) is not None
        return native.message if is_valid_request else None

    return replace(profile, as_request=write_sent_message)


def _write_transcript(
    writer: "_TranscriptWriter", resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> Rendering:
    written = build_document(resolved, profile, options)["messages"]
    messages = [*map(_split_members, written)] if isinstance(written, list) else []
    pieces: list[JsonPiece] = []
    for line in writer.write(_remove_prompts(messages)):
        pieces += [*json_pieces(line).pieces, b"\n"]
    return rendering_of(joined_pieces(pieces))


def _split_members(message: Node) -> dict[str, Any]:
    """Return the members of a message. They are leaves if the message is written as it was sent."""
    if isinstance(message, JsonLeaf):
        return {name: JsonLeaf(value) for name, value in message.value.items()}
    return message if isinstance(message, dict) else {}


def _plain_value(member: Node) -> Any:  # noqa: ANN401 - a value of JSON
    return member.value if isinstance(member, JsonLeaf) else member


def _remove_prompts(messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    start = 0
    while start < len(messages) and _plain_value(messages[start].get("role")) in _PROMPT_ROLES:
        start += 1
    return messages[start:]


@dataclass(frozen=True, slots=True)
class _TranscriptWriter:
    """Writes the lines of one transcript."""

    host: Host
    transcript_uuid: UUID
    folder: str
    model: str
    started_at: datetime

    def write(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        """Yield the lines for messages, in the form of the host."""
        writers: Mapping[Host, Callable[[Sequence[dict[str, Any]]], Iterator[Node]]] = {
            "claude-code": self._write_claude_code_lines,
            "codex": self._write_codex_lines,
        }
        return writers[self.host](messages)

    def _format_time(self, index: int) -> str:
        # Hosts order messages by time, so each message gets a time of its own.
        return rfc3339(self.started_at + timedelta(milliseconds=index))

    def _write_claude_code_lines(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        parent: str | None = None
        for index, message in enumerate(messages):
            line_uuid = str(uuid5(self.transcript_uuid, str(index)))
            role = _plain_value(message["role"])
            if role == "assistant":
                message = self._add_response_members(message, line_uuid)  # noqa: PLW2901
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.folder,
                "sessionId": str(self.transcript_uuid),
                "version": _VERSION,
                "gitBranch": "",
                "type": role,
                "message": message,
                "uuid": line_uuid,
                "timestamp": self._format_time(index),
            }
            parent = line_uuid

    def _add_response_members(self, message: dict[str, Any], line_uuid: str) -> dict[str, Any]:
        """Return a message of the assistant with members of responses, which the host reads."""
        return {
            "id": f"msg_{line_uuid}",
            "type": "message",
            "model": self.model,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
            **message,
        }

    def _write_codex_lines(self, messages: Sequence[dict[str, Any]]) -> Iterator[Node]:
        meta: dict[str, Node] = {
            "id": str(self.transcript_uuid),
            "timestamp": self._format_time(0),
            "cwd": self.folder,
            "originator": "pagefault",
            "cli_version": "0.0.0",
            "instructions": None,
        }
        yield self._make_codex_line(0, "session_meta", meta)
        for index, message in enumerate(messages, 1):
            role, content = _plain_value(message.get("role")), _plain_value(message.get("content"))
            if isinstance(content, str):
                # Codex reads the content of a message as a list only.
                line_type = _TEXT_TYPES.get(role, "input_text")
                content = [{"type": line_type, "text": content}]
                message = {**message, "content": content}  # noqa: PLW2901
            item = {"type": "message", **message} if "role" in message else message
            yield self._make_codex_line(index, "response_item", item)
            # The host shows events to the user, and sends items to the model.
            if role in _EVENT_TYPES and (text := _join_texts(content)):
                yield self._make_codex_line(
                    index, "event_msg", {"type": _EVENT_TYPES[role], "message": text}
                )

    def _make_codex_line(self, index: int, line_type: str, payload: dict[str, Node]) -> Node:
        return {"timestamp": self._format_time(index), "type": line_type, "payload": payload}


def _join_texts(content: Any) -> str:  # noqa: ANN401 - a value of JSON
    blocks = [_plain_value(block) for block in content] if isinstance(content, list) else []
    texts = [_plain_value(block.get("text")) for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
