"""Sessions: conversations, and what belongs to one."""

import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack, cast

import httpx

from pagefault_client import aio, models, operations
from pagefault_client._async.conversation import AsyncConversation
from pagefault_client._async.listening import AsyncEvents
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.reading import written
from pagefault_client._async.tool_results import AsyncToolResults
from pagefault_client._async.transport import AsyncTransport, lost
from pagefault_client.calls import Body
from pagefault_client.errors import PagefaultError
from pagefault_client.options import SessionRenderOptions, Target, on_the_wire
from pagefault_client.values import jsonable

# How long a session of more than 10,000 entries is copied, about.
_COPYING_SECONDS = 0.5


class AsyncSessions:
    """All sessions of the project."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def list(
        self, query: str | None = None, *, limit: int | None = None
    ) -> AsyncItems[models.SessionRecord]:
        """Return sessions, the one last written to first; `query` is a part of their ids."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_sessions(q=query, limit=limit, cursor=cursor),
        )

    async def import_bundle(self, bundle: Body) -> models.SessionRecord:
        """Store the session of a bundle, bytes or a file, with the ids and bytes that it had.

        Raises:
            ConflictError: The session is there already.
        """
        return await self._transport.send(operations.import_session(bundle))


@dataclass(frozen=True, slots=True)
class AsyncFitted:
    """A conversation that was put to a session, and what to send to the model instead."""

    session: "AsyncSession"
    """The session that has it: a new one, if the conversation differed and a fork was wanted."""
    messages: list[dict[str, Any]]
    """What the provider's request holds."""
    system: str | None
    """The system prompt, for providers that take it apart."""
    receipt: models.HistoryReceipt
    """The answer of the service."""


class AsyncSession:
    """One session; the first write creates it.

    Attributes:
        id: Its id, chosen by you.
    """

    def __init__(self, transport: AsyncTransport, session_id: str) -> None:
        self._transport = transport
        self._tool_results = AsyncToolResults(transport)
        self.id = session_id

    async def get(self) -> models.SessionRecord:
        """Return what the session holds, in numbers."""
        return await self._transport.send(operations.get_session(self.id))

    async def put(self) -> models.SessionRecord:
        """Create the session, if it is not there, without writing to it."""
        return await self._transport.send(operations.put_session(self.id))

    async def delete(self) -> models.DeletionReceipt | None:
        """Delete the session with its history and its pages, and return the receipt.

        None if the answer was lost, and the session was gone when the call was sent again: then it
        is deleted, and nobody has the receipt.
        """
        call = operations.delete_session(self.id).changed(may_be_gone=True)
        return await self._transport.send(call)

    async def fork(self, up_to: int, session_id: str) -> models.SessionRecord:
        """Create another session with the entries of this one up to a `seq`, and return it.

        Returns when all of it is copied. The same fork again returns the same session.

        Raises:
            ConflictError: There is another session with that id (`session-exists`).
        """
        call = operations.fork_session(self.id, {"upTo": up_to, "as": session_id})
        while True:
            forked: Any = await self._transport.send(call)
            if forked.get("status") != "copying":
                return cast("models.SessionRecord", forked)
            await aio.sleep(_COPYING_SECONDS)

    async def fit(
        self,
        messages: Any,  # noqa: ANN401 - of any SDK
        *,
        target: Target,
        on_divergence: Literal["raise", "fork"] = "raise",
        fork_id: str | None = None,
        expected_seq: int | None = None,
        **options: Unpack[SessionRenderOptions],
    ) -> AsyncFitted:
        """Put the conversation that an SDK has to the session, and return what to send.

        Args:
            messages: The list, or a whole request or response, as any SDK has it.
            target: Whose model it is for.
            on_divergence: What to do if the session has something else: raise, or go on in a fork.
            fork_id: The id of the fork; by default one is made.
            expected_seq: The last `seq` that you know.
            options: Those of a rendering, such as `max_tokens`; a frontier by its name.

        Raises:
            HistoryDiverged: The session has something else.
            PagefaultError: The conversation is stored and cannot be shown.
        """
        forks = on_divergence == "fork"
        chosen: dict[str, Any] = {**options}
        for name in ("memory", "accept"):
            chosen[name] = ",".join(chosen.get(name) or ())
        body: Any = jsonable(messages)
        receipt = await self._transport.send(
            operations.put_history(
                self.id,
                body,
                render=target,
                on_divergence="fork" if forks else None,
                as_=(fork_id or f"{self.id}-{uuid.uuid4().hex[:8]}") if forks else None,
                expected_seq=expected_seq,
                **{name: value for name, value in chosen.items() if value not in (None, "")},
            )
        )
        rendering = receipt.get("rendering")
        if rendering is None:
            raise PagefaultError(f"the history is stored, but: {receipt.get('problem')}")
        session = AsyncSession(self._transport, receipt.get("sessionId") or self.id)
        return AsyncFitted(session, rendering["messages"], rendering.get("system"), receipt)

    async def append(
        self,
        message: models.HistoryMessageDraft | dict[str, Any],
        *,
        idempotency_key: str | None = None,
    ) -> models.HistoryMessage:
        """Append a message, as you send it to your model."""
        body: Any = jsonable(message)
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
        """Return the history in order: from the beginning, or after a `seq`."""
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
        """Store a request of a user, with the files attached to it."""
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
        """Store the answer to an interaction, which is set once."""
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
        """Return what each entry of the history is, in order, without what it says."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.get_outline(
                self.id, limit=limit, cursor=cursor, after=None if cursor else after
            ),
        )

    async def manifest(self, *, limit: int | None = None) -> models.PageManifest:
        """Return a line for each page of the session, for a model."""
        return await self._transport.send(operations.get_manifest(self.id, limit=limit))

    async def bundle(self) -> bytes:
        """Return the session as a zip, for `sessions.import_bundle`."""
        return await self._transport.send(operations.export_session(self.id))

    async def save_bundle(self, path: str | os.PathLike[str]) -> Path:
        """Write the session as a zip to a file, of any size; there is no file unless all came."""
        return await written(self._bundle_pieces(), Path(path))

    async def _bundle_pieces(self) -> AsyncIterator[bytes]:
        call = operations.export_session(self.id)
        response = await self._transport.open(call)
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.RequestError as error:
            raise lost(error, call) from error
        finally:
            await response.aclose()

    async def tool_result(
        self,
        tool_name: str,
        tool_call_id: str,
        result: Any,  # noqa: ANN401 - whatever a tool returns
        *,
        success: bool = True,
        new_call: bool = False,
        render: Target | None = None,
        handles: bool | None = None,
    ) -> models.RenderedToolResult:
        """Store what a tool returned; see `tool_results.create`."""
        return await self._tool_results.create(
            tool_name,
            tool_call_id,
            result,
            session_id=self.id,
            success=success,
            new_call=new_call,
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
        **options: Unpack[SessionRenderOptions],
    ) -> models.RenderedRecord:
        """Run a call of one of the memory's tools, and return the answer as messages."""
        body: Any = {
            "target": target,
            "id": tool_call_id,
            "name": name,
            "arguments": {} if arguments is None else arguments,
            "scope": scope,
            **on_the_wire(options),
        }
        return await self._transport.send(operations.run_tool_call(self.id, body))

    async def turn(
        self,
        *entries: models.TurnEntry | dict[str, Any],
        render: models.TurnRender | Target | None = None,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.TurnReceipt:
        """Append all that one step of an agent says, and return what the next request holds.

        Args:
            entries: `{"message": …}`, `{"toolResult": {"toolName", "toolCallId", "result"}}` or
                `{"toolCall": {"id", "name", "arguments"}}`, which is a call of the memory's tools.
            render: A target, or a target with options as `docs/targets.md` names them.
            expected_seq: The last `seq` that you know.
            idempotency_key: Names the turn; made here by default, so that it can be repeated.

        Raises:
            ConflictError: Somebody else has written (`session-moved-on`), or a call is answered
                already. Nothing of the turn is stored.
        """
        wanted: Any = {"target": render} if isinstance(render, str) else render
        listed: Any = [jsonable(entry) for entry in entries]
        return await self._transport.send(
            operations.append_turn(
                self.id,
                {"entries": listed, "expectedSeq": expected_seq, "render": wanted},
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
        """Return the history as messages for a model: all of it, or what came after `since`.

        With a `frontier`, what has to give way is moved behind it for good.
        """
        body: Any = {"target": target, "sessionId": self.id, **on_the_wire(options)}
        body |= {"since": since} if since else {}
        return await self._transport.send(operations.render_record(body))

    def conversation(
        self, target: Target, **options: Unpack[SessionRenderOptions]
    ) -> AsyncConversation:
        """Return the session as the messages of one model, kept here between the steps."""
        return AsyncConversation(self, target, options)

    def events(self, *, after: int | None = None) -> AsyncEvents:
        """Return the events of the session: from now on, or after a `seq`; 0 is the beginning."""
        return AsyncEvents(
            self._transport,
            lambda position: operations.stream_session_events(self.id, after=position),
            after,
        )
