"""A session as one model sees it, kept on this side."""

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

from pagefault_client import models
from pagefault_client.errors import PagefaultError
from pagefault_client.options import SessionRenderOptions, Target, on_the_wire

# Where everything that one side says is one message, and where its blocks are.
ONE_MESSAGE = {"bedrock": "content", "gemini": "parts"}


class AsyncSessionTurns(Protocol):
    """The part of a session that a conversation needs."""

    async def turn(
        self,
        *entries: models.TurnEntry | dict[str, Any],
        render: models.TurnRender | Target | None = None,
        expected_seq: int | None = None,
        idempotency_key: str | None = None,
    ) -> models.TurnReceipt:
        """Append all that one step of an agent says; see `AsyncSession.turn`."""
        ...

    async def render(
        self,
        target: Target,
        *,
        since: int | None = None,
        **options: Unpack[SessionRenderOptions],
    ) -> models.RenderedRecord:
        """Return the history as messages for a model; see `AsyncSession.render`."""
        ...


class AsyncConversation:
    """The messages of a session for one model, of which only what is new is asked for.

    The messages that are here stay as they are, so that a provider's cache knows them. Each answer
    says by a hash what the new ones stand behind. If that is something else, because a budget has
    evicted old messages or somebody else has written, all are read anew.

    Attributes:
        messages: What the provider's request holds.
        system: The system prompt, for providers that take it apart.
        loss: What was left out or invented in `messages`.
        rendering: The last answer of the service.
        refused: The calls of the last turn that must not be run: an argument was cut in an old
            call. The messages have their answers.
    """

    def __init__(
        self, session: AsyncSessionTurns, target: Target, options: SessionRenderOptions
    ) -> None:
        self._session = session
        self._target: Target = target
        # As in turns, where that is the default.
        self._options: SessionRenderOptions = {"handles": True, **options}
        self._seq = 0
        self._hash: str | None = None
        self.messages: list[dict[str, Any]] = []
        self.system: str | None = None
        self.loss: list[models.LossEntry] = []
        self.rendering: models.RenderedRecord | None = None
        self.refused: list[models.RefusedCall] = []

    async def turn(
        self, *entries: models.TurnEntry | dict[str, Any], idempotency_key: str | None = None
    ) -> list[dict[str, Any]]:
        """Append what was said and returned, and return all messages for the next request.

        The entries are those of `AsyncSession.turn`.

        Raises:
            PagefaultError: The turn is stored and cannot be shown, for example because what is
                never left out has more tokens than `max_tokens`.
        """
        render: Any = {"target": self._target, **on_the_wire(self._options)}
        render |= {"since": self._since()} if self._since() else {}
        receipt = await self._session.turn(*entries, render=render, idempotency_key=idempotency_key)
        self.refused = list(receipt.get("refused") or ())
        rendering = receipt["rendering"]
        if rendering is None:
            seqs = receipt["seqs"]
            raise PagefaultError(f"the turn is stored as {seqs}, but: {receipt.get('problem')}")
        return await self._taken(rendering)

    async def render(self) -> list[dict[str, Any]]:
        """Return all messages, with what has been written meanwhile."""
        since = self._since() or None
        return await self._taken(
            await self._session.render(self._target, since=since, **self._options)
        )

    def _since(self) -> int:
        """Return up to where the messages are here. Marks for a cache are in all or in none."""
        return 0 if self._hash is None or self._options.get("cache_markers") else self._seq

    async def _taken(self, rendering: models.RenderedRecord) -> list[dict[str, Any]]:
        """Return all messages, once the new ones are behind those that are here."""
        since = self._since()
        told: Mapping[str, Any] = rendering
        if since and told.get("sinceHash") != self._hash:
            self._hash = None
            rendering = await self._session.render(self._target, **self._options)
            since, told = 0, rendering
        new, loss = rendering["messages"], rendering["loss"]
        self.messages = self._joined(new) if since else new
        self.loss = [*self.loss, *loss] if since else loss
        if not since or rendering.get("system"):
            self.system = rendering.get("system")
        self._seq = told.get("lastSeq") or 0
        hashes = told.get("prefixHash") or [told.get("sinceHash")]
        # A service that does not say how far a session has come is asked for all of it.
        self._hash = hashes[-1] if self._seq else None
        self.rendering = rendering
        return self.messages

    def _joined(self, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
        blocks = ONE_MESSAGE.get(self._target)
        if not blocks or not new or not self.messages:
            return [*self.messages, *new]
        (*kept, last), (first, *rest) = self.messages, new
        if last["role"] != first["role"] or _answers(last) != _answers(first):
            return [*self.messages, *new]
        return [*kept, {**last, blocks: [*last[blocks], *first[blocks]]}, *rest]


def _answers(message: dict[str, Any]) -> bool:
    """Return whether a message of Gemini answers calls: such a one stands by itself."""
    return any("functionResponse" in part for part in message.get("parts", ()))
