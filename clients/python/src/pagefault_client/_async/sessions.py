"""Sessions: histories, turns and renderings."""

import os
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack, cast

import httpx

from pagefault_client import aio, models, operations
from pagefault_client._async.content import write_file
from pagefault_client._async.conversation import AsyncConversation
from pagefault_client._async.event_stream import AsyncEvents
from pagefault_client._async.lists import AsyncItems, AsyncManifest, manifest_of
from pagefault_client._async.tool_results import AsyncToolResults
from pagefault_client._async.tools import AsyncTools
from pagefault_client._async.transport import AsyncTransport, stream_error
from pagefault_client.calls import Body, Call
from pagefault_client.entries import TurnEntry
from pagefault_client.errors import PagefaultError
from pagefault_client.options import SessionRenderOptions, Target, to_camel_case
from pagefault_client.values import dump_entry, dump_messages

# Forks of more than 10,000 entries are copied in the background.
_FORK_POLL_SECONDS = 0.5


class AsyncSessions:
    """All sessions of the project."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self,
        query: str | None = None,
        *,
        pinned: bool | None = None,
        tag: str | None = None,
        tool: str | None = None,
        written_within: int | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.SessionRecord]:
        """Return sessions, most recently written first.

        Args:
            query: A part of their ids.
            pinned: A mark that `patch` sets.
            tag: A tag that `patch` sets.
            tool: The name of a tool that they called.
            written_within: The maximum number of seconds since the last write.
            limit: The number of sessions per request.
        """
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_sessions(
                q=query,
                pinned=pinned,
                tag=tag,
                tool=tool,
                written_within=written_within,
                limit=limit,
                cursor=cursor,
            ),
        )

    def called_tools(self, *, limit: int | None = None) -> AsyncItems[models.CalledTool]:
        """Return the tools that sessions called, by name, with the number of these sessions."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_called_tools(limit=limit, cursor=cursor),
        )

    async def import_bundle(self, bundle: Body) -> models.SessionRecord:
        """Import the session of a bundle, given as bytes or a file, with its original ids.

        Raises:
            ConflictError: The session exists.
        """
        return await self._transport.send(operations.import_session(bundle))

    async def read_file(self, file: Body) -> models.SessionFile:
        """Read a transcript, a body of a provider or a bundle as a session; store nothing."""
        return await self._transport.send(operations.read_session_file(file))


@dataclass(frozen=True, slots=True)
class AsyncFitResult:
    """The result of `fit`: the session, and the messages for the next request."""

    session: "AsyncSession"
    """The session with the conversation: a fork, if the histories diverged."""
    messages: list[dict[str, Any]]
    """The messages of the provider's request."""
    system: str | None
    """The system prompt, for providers with a separate member for it."""
    receipt: models.HistoryReceipt
    """The answer of the service."""


class AsyncSession:
    """One session; the first write creates it.

    Attributes:
        id: The id, chosen by the caller.
        tools: The definitions of the memory tools for a model.
    """

    def __init__(self, transport: AsyncTransport, session_id: str) -> None:
        self._transport = transport
        self._tool_results = AsyncToolResults(transport)
        self.tools = AsyncTools(transport)
        self.id = session_id

    def with_options(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> "AsyncSession":
        """Return the session with other options, also for one call."""
        transport = self._transport.with_options(
            timeout=timeout, max_retries=max_retries, default_headers=default_headers
        )
        return AsyncSession(transport, self.id)

    async def get(self) -> models.SessionRecord:
        """Return the session with its counts of entries and pages."""
        return await self._transport.send(operations.get_session(self.id))

    async def put(self) -> models.SessionRecord:
        """Create the session if it does not exist."""
        return await self._transport.send(operations.put_session(self.id))

    async def patch(
        self, *, if_match: str | None = None, **marks: Unpack[models.SessionPatch]
    ) -> models.SessionRecord:
        """Pin the session, tag it or leave a note on it; None clears a mark."""
        return await self._transport.send(
            operations.patch_session(self.id, marks, if_match=if_match)
        )

    async def delete(self) -> models.DeletionReceipt | None:
        """Delete the session with its history and its pages, and return the receipt.

        If the answer was lost and a retry finds no session, the session is deleted and the receipt
        is lost: the result is None.
        """
        call = operations.delete_session(self.id).replace(may_be_gone=True)
        return await self._transport.send(call)

    async def fork(self, up_to: int, session_id: str) -> models.SessionRecord:
        """Copy the entries up to a `seq` to a new session, and return it when the copy is complete.

        A repeated call returns the same session.

        Raises:
            ConflictError: Another session with this id exists (`session-exists`).
        """
        call = operations.fork_session(self.id, {"upTo": up_to, "as": session_id})
        while True:
            forked: Any = await self._transport.send(call)
            if forked.get("status") != "copying":
                return cast("models.SessionRecord", forked)
            await aio.sleep(_FORK_POLL_SECONDS)

    async def fit(
        self,
        messages: Any,  # noqa: ANN401 - of any SDK
        *,
        target: Target,
        on_divergence: Literal["raise", "fork"] = "raise",
        fork_id: str | None = None,
        expected_seq: int | None = None,
        **options: Unpack[SessionRenderOptions],
    ) -> AsyncFitResult:
        """Append the new messages of an SDK's list, and return the messages for the next request.

        Args:
            messages: The list of messages, or a whole request or response, of any SDK.
            target: The provider of the model.
            on_divergence: If the session has other messages: raise an error, or fork the session.
            fork_id: The id of the fork; generated by default.
            expected_seq: The last `seq` that the caller knows.
            options: Options of the rendering, such as `max_tokens`; a frontier is given by name.

        Raises:
            HistoryDiverged: The session has other messages.
            PagefaultError: The messages are stored but cannot be rendered.
        """
        forks = on_divergence == "fork"
        query: dict[str, Any] = {**options}
        for name in ("memory", "accept"):
            query[name] = ",".join(query.get(name) or ())
        body: Any = dump_messages(messages)
        receipt = await self._transport.send(
            operations.put_history(
                self.id,
                body,
                render=target,
                on_divergence="fork" if forks else None,
                as_=(fork_id or f"{self.id}-{uuid.uuid4().hex[:8]}") if forks else None,
                expected_seq=expected_seq,
                **{name: value for name, value in query.items() if value not in (None, "")},
            )
        )
        rendering = receipt.get("rendering")
        if rendering is None:
            raise PagefaultError(f"the history is stored, but: {receipt.get('problem')}")
        session = AsyncSession(self._transport, receipt.get("sessionId") or self.id)
        return AsyncFitResult(session, rendering["messages"], rendering.get("system"), receipt)

    async def extend(self, messages: Any) -> models.HistoryReceipt:  # noqa: ANN401 - of any SDK
        """Append messages of any SDK that follow the stored ones.

        A list that the history already ends with is not appended again, and neither is the answer
        of a call whose result is stored.
        """
        body: Any = {"messages": dump_messages(messages), "conversation": self.id}
        return await self._transport.send(operations.put_history(self.id, body))

    async def append(
        self,
        message: models.HistoryMessageDraft | dict[str, Any],
        *,
        idempotency_key: str | None = None,
    ) -> models.HistoryMessage:
        """Append a message in the dialect of any provider."""
        body: Any = dump_messages(message)
        return await self._transport.send(
            operations.append_message(self.id, body, idempotency_key=idempotency_key)
        )

    def messages(
        self,
        *,
        after: int | None = None,
        media: models.MediaForm | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.HistoryEntry]:
        """Return the entries of the history in order; with `after`, those after a `seq`."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_messages(
                self.id,
                media=media,
                limit=limit,
                cursor=cursor,
                after=after if cursor is None else None,
            ),
        )

    async def message(
        self, seq: int, *, media: models.MediaForm | None = None
    ) -> models.HistoryEntry:
        """Return one entry of the history."""
        return await self._transport.send(operations.get_message(self.id, seq, media=media))

    async def interact(
        self,
        input: models.InteractionInput,
        *,
        output: models.ChatMessage | None = None,
        timestamp: str | None = None,
        input_kind: models.InputKind | None = None,
        attachments: Literal["any"] | None = None,
        idempotency_key: str | None = None,
    ) -> models.InteractionRecord:
        """Store a request of a user with its attachments."""
        body: models.InteractionDraft = {"input": input}
        if output is not None:
            body["output"] = output
        if timestamp is not None:
            body["timestamp"] = timestamp
        if input_kind is not None:
            body["input_kind"] = input_kind
        return await self._transport.send(
            operations.create_interaction(
                self.id, body, attachments=attachments, idempotency_key=idempotency_key
            )
        )

    async def answer(
        self, interaction_id: str, output: models.ChatMessage
    ) -> models.InteractionRecord:
        """Store the answer to an interaction, which cannot be changed later."""
        return await self._transport.send(
            operations.set_interaction_output(self.id, interaction_id, output)
        )

    def interactions(
        self, *, input_kind: models.InputKind | None = None, limit: int | None = None
    ) -> AsyncItems[models.InteractionRecord]:
        """Return the interactions in order, with their answers."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_interactions(
                self.id, input_kind=input_kind, limit=limit, cursor=cursor
            ),
        )

    async def interaction(self, interaction_id: str) -> models.InteractionRecord:
        """Return one interaction with its answer."""
        return await self._transport.send(operations.get_interaction(self.id, interaction_id))

    def outline(
        self, *, after: int | None = None, limit: int | None = None
    ) -> AsyncItems[models.OutlineEntry]:
        """Return the kind and size of each entry of the history, without its content."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.get_outline(
                self.id, limit=limit, cursor=cursor, after=None if cursor else after
            ),
        )

    def manifest(
        self, *, limit: int | None = None, memory_tokens: int | None = None
    ) -> AsyncManifest:
        """Return the pages of the session as a model sees them: pinned, important, then new ones.

        Args:
            limit: The number of pages per request, and in the text for a model.
            memory_tokens: The maximum number of tokens of the text for a model.
        """

        def call(cursor: str | None) -> Call[Any]:
            return operations.get_manifest(
                self.id, limit=limit, cursor=cursor, memory_tokens=memory_tokens
            ).replace(decode=manifest_of)

        return AsyncManifest(self._transport, call)

    async def bundle(self) -> bytes:
        """Export the session as a zip file, for `sessions.import_bundle`."""
        return await self._transport.send(operations.export_session(self.id))

    async def save_bundle(self, path: str | os.PathLike[str]) -> Path:
        """Export the session to a zip file. If that fails, no file is left behind."""
        return await write_file(self._bundle_pieces(), Path(path))

    async def _bundle_pieces(self) -> AsyncIterator[bytes]:
        call = operations.export_session(self.id)
        response = await self._transport.open(call)
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.RequestError as error:
            raise stream_error(error, call) from error
        finally:
            await response.aclose()

    async def tool_result(  # noqa: PLR0913 - keyword-only apart from three
        self,
        tool_name: str,
        tool_call_id: str,
        result: Any,  # noqa: ANN401 - any value
        *,
        success: bool = True,
        new_call: bool = False,
        call_message: Any = None,  # noqa: ANN401 - of any SDK
        render: Target | None = None,
        handles: bool | None = None,
    ) -> models.RenderedToolResult:
        """Store the result of a tool; see `tool_results.create`."""
        return await self._tool_results.create(
            tool_name,
            tool_call_id,
            result,
            session_id=self.id,
            success=success,
            new_call=new_call,
            call_message=call_message,
            render=render,
            handles=handles,
        )

    async def call_tool(
        self,
        target: Target,
        tool_call_id: str,
        name: str,
        arguments: Any = None,  # noqa: ANN401 - an object, or its text
        *,
        scope: models.ToolScope = "session",
        call_follows: bool = False,
        **options: Unpack[SessionRenderOptions],
    ) -> models.RenderedRecord:
        """Run a call of a memory tool, and return its answer as messages.

        With `call_follows`, the message with the call is appended later, by the caller.
        """
        body: Any = {
            "target": target,
            "id": tool_call_id,
            "name": name,
            "arguments": {} if arguments is None else arguments,
            "scope": scope,
            **to_camel_case(options),
        }
        if call_follows:
            body["callFollows"] = True
        return await self._transport.send(operations.run_tool_call(self.id, body))

    async def turn(
        self,
        *entries: TurnEntry,
        render: models.TurnRender | Target | None = None,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.TurnReceipt:
        """Append the entries of one step of an agent, and return the messages for the next request.

        Args:
            entries: `{"message": …}`, `{"toolResult": {"toolName", "toolCallId", "result"}}` or
                `{"toolCall": {"id", "name", "arguments"}}`, a call of a memory tool.
            render: A target, or a target with options as documented in `docs/targets.md`.
            expected_seq: The last `seq` that the caller knows.
            idempotency_key: The key of the turn. A generated one is the default, so that the turn
                can be retried.

        Raises:
            ConflictError: Another client has written to the session (`session-moved-on`), or a
                call has an answer already. No entry of the turn is stored.
        """
        rendering: Any = {"target": render} if isinstance(render, str) else render
        body: Any = [*map(dump_entry, entries)]
        return await self._transport.send(
            operations.append_turn(
                self.id,
                {"entries": body, "expectedSeq": expected_seq, "render": rendering},
                idempotency_key=idempotency_key,
            )
        )

    async def render(
        self,
        target: Target,
        *,
        since: int | None = None,
        **options: Unpack[SessionRenderOptions],
    ) -> models.RenderedRecord:
        """Render the history as messages for a model; with `since`, only the entries after a `seq`.

        With a `frontier`, evictions are permanent: the frontier moves behind the evicted entries.
        """
        body: Any = {"target": target, "sessionId": self.id, **to_camel_case(options)}
        body |= {"since": since} if since else {}
        return await self._transport.send(operations.render_record(body))

    def conversation(
        self, target: Target, **options: Unpack[SessionRenderOptions]
    ) -> AsyncConversation:
        """Return a conversation, which keeps the messages of one model between steps."""
        return AsyncConversation(self, target, options)

    def events(self, *, after: int | None = None) -> AsyncEvents:
        """Return the events of the session: new ones, or those after a position (0: all)."""
        return AsyncEvents(
            self._transport,
            lambda position: operations.stream_session_events(self.id, after=position),
            after,
        )
