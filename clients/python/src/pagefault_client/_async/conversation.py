"""The messages of a session for one model, kept in the client."""

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

from pagefault_client import models
from pagefault_client.entries import TurnEntry
from pagefault_client.errors import PagefaultError
from pagefault_client.options import SessionRenderOptions, Target, to_camel_case

# Targets that merge the consecutive messages of one role, and the member with the blocks.
BLOCK_MEMBERS = {"bedrock": "content", "gemini": "parts"}


class AsyncSessionTurns(Protocol):
    """The part of a session that a conversation needs."""

    async def turn(
        self,
        *entries: TurnEntry,
        render: models.TurnRender | Target | None = None,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.TurnReceipt:
        """Append the entries of one step of an agent; see `AsyncSession.turn`."""
        ...

    async def render(
        self,
        target: Target,
        *,
        since: int | None = None,
        **options: Unpack[SessionRenderOptions],
    ) -> models.RenderedRecord:
        """Render the history as messages for a model; see `AsyncSession.render`."""
        ...


class AsyncConversation:
    """The messages of a session for one model, updated with the new messages only.

    Messages that were returned before do not change, so the prompt cache of a provider stays
    valid. Each answer has a hash of the messages before the new ones. If the hash differs from the
    local one, because old messages were evicted or another client has written, all messages are
    requested again.

    Attributes:
        messages: The messages of the provider's request.
        system: The system prompt, for providers with a separate member for it.
        loss: The omissions and inventions in `messages`.
        rendering: The last rendering of the service.
        refused: The calls of the last turn that must not be run, because they have an argument
            copied from a shortened call. `messages` has their answers.
    """

    def __init__(
        self, session: AsyncSessionTurns, target: Target, options: SessionRenderOptions
    ) -> None:
        self._session = session
        self._target: Target = target
        # Handles are the default in turns as well.
        self._options: SessionRenderOptions = {"handles": True, **options}
        self._seq = 0
        self._hash: str | None = None
        self.messages: list[dict[str, Any]] = []
        self.system: str | None = None
        self.loss: list[models.LossEntry] = []
        self.rendering: models.RenderedRecord | None = None
        self.refused: list[models.RefusedCall] = []

    async def turn(
        self, *entries: TurnEntry, idempotency_key: str | None = None
    ) -> list[dict[str, Any]]:
        """Append the entries of a turn, and return all messages for the next request.

        The entries are those of `AsyncSession.turn`.

        Raises:
            PagefaultError: The turn is stored but cannot be rendered, for example because the
                messages that are never evicted exceed `max_tokens`.
        """
        render: Any = {"target": self._target, **to_camel_case(self._options)}
        render |= {"since": self._since()} if self._since() else {}
        receipt = await self._session.turn(*entries, render=render, idempotency_key=idempotency_key)
        self.refused = list(receipt.get("refused") or ())
        rendering = receipt["rendering"]
        if rendering is None:
            seqs = receipt["seqs"]
            raise PagefaultError(f"the turn is stored as {seqs}, but: {receipt.get('problem')}")
        return await self._apply(rendering)

    async def render(self) -> list[dict[str, Any]]:
        """Return all messages, including those that other clients have written."""
        since = self._since() or None
        return await self._apply(
            await self._session.render(self._target, since=since, **self._options)
        )

    def _since(self) -> int:
        """Return the `seq` of the last local message; 0 if all messages have to be requested.

        Cache markers move with each rendering, so they need all messages.
        """
        return 0 if self._hash is None or self._options.get("cache_markers") else self._seq

    async def _apply(self, rendering: models.RenderedRecord) -> list[dict[str, Any]]:
        """Append the messages of a rendering, and return all messages."""
        since = self._since()
        fields: Mapping[str, Any] = rendering
        if since and fields.get("sinceHash") != self._hash:
            self._hash = None
            rendering = await self._session.render(self._target, **self._options)
            since, fields = 0, rendering
        new, loss = rendering["messages"], rendering["loss"]
        self.messages = self._join(new) if since else new
        self.loss = [*self.loss, *loss] if since else loss
        if not since or rendering.get("system"):
            self.system = rendering.get("system")
        self._seq = fields.get("lastSeq") or 0
        hashes = fields.get("prefixHash") or [fields.get("sinceHash")]
        # Without `lastSeq` in the answer, the next request is for all messages.
        self._hash = hashes[-1] if self._seq else None
        self.rendering = rendering
        return self.messages

    def _join(self, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
        blocks = BLOCK_MEMBERS.get(self._target)
        if not blocks or not new or not self.messages:
            return [*self.messages, *new]
        (*kept, last), (first, *rest) = self.messages, new
        if last["role"] != first["role"] or _answers_calls(last) != _answers_calls(first):
            return [*self.messages, *new]
        return [*kept, {**last, blocks: [*last[blocks], *first[blocks]]}, *rest]


def _answers_calls(message: dict[str, Any]) -> bool:
    """Return whether a message of Gemini has answers to calls, which are not merged with others."""
    return any("functionResponse" in part for part in message.get("parts", ()))
