"""A session as one model sees it, kept on this side."""

# Written by generate.py from `_async/`; change that.

from typing import TYPE_CHECKING, Any, cast

from pagefault_client import models
from pagefault_client.errors import PagefaultError
from pagefault_client.options import SessionRenderOptions, Target, on_the_wire

if TYPE_CHECKING:
    from pagefault_client._sync.sessions import Session

# A rendering with one of these is of the whole history, or of nothing.
WHOLE = {"frontier", "max_tokens", "max_images", "max_bytes", "memory", "cache_markers"}
# What a part of a history cannot tell from something that stands before it.
PAIRED = {"no-answer", "late-answer", "no-beginning", "late-system"}
ATTEMPTS = 3


class Conversation:
    """The messages of a session for one model, of which only what is new is asked for.

    The messages that are here stay as they are, so that a provider's cache knows them. All of them
    are read anew when that would be wrong: others have written to the session, a result belongs to
    an earlier call, or an option is about the whole history (`max_tokens`, `memory`, `frontier`).

    Attributes:
        messages: What the provider's request holds.
        system: The system prompt, for providers that take it apart.
        loss: What was left out or invented in `messages`.
        seq: The last entry of the history that `messages` has.
        rendering: The last answer of the service.
    """

    def __init__(self, session: "Session", target: Target, options: SessionRenderOptions) -> None:
        self._session = session
        self._target: Target = target
        # As in turns, where that is the default.
        self._options: SessionRenderOptions = {"handles": True, **options}
        self._is_whole = bool(WHOLE & options.keys())
        self.messages: list[dict[str, Any]] = []
        self.system: str | None = None
        self.loss: list[models.LossEntry] = []
        self.seq = 0
        self.rendering: models.RenderedRecord | None = None

    def turn(
        self, *entries: models.TurnEntry | dict[str, Any], idempotency_key: str | None = None
    ) -> list[dict[str, Any]]:
        """Append what was said and returned, and return all messages for the next request.

        The entries are those of `Session.turn`.
        """
        since = 0 if self._is_whole else self.seq
        render = {"target": self._target, **on_the_wire(self._options)}
        receipt = self._session.turn(
            *entries,
            render=cast("models.TurnRender", {**render, "since": since} if since else render),
            idempotency_key=idempotency_key,
        )
        rendering, seqs = receipt["rendering"], receipt["seqs"]
        if rendering is None:
            raise PagefaultError(
                f"the turn is stored as {seqs}, and cannot be shown: {receipt.get('problem')}"
            )
        is_alone = seqs == list(range(self.seq + 1, self.seq + 1 + len(entries)))
        if since and not (is_alone and self._continues(rendering)):
            return self._read_anew()
        self._take(rendering, since=since, seq=seqs[-1] if seqs else self.seq)
        return self.messages

    def render(self) -> list[dict[str, Any]]:
        """Return all messages, with what has been written meanwhile."""
        since = 0 if self._is_whole else self.seq
        if not since:
            return self._read_anew()
        before = (self._session.get())["lastSeq"]
        if before == since:
            return self.messages
        rendering = self._session.render(self._target, since=since, **self._options)
        after = (self._session.get())["lastSeq"]
        if before != after or not self._continues(rendering):
            return self._read_anew()
        self._take(rendering, since=since, seq=after)
        return self.messages

    def _read_anew(self) -> list[dict[str, Any]]:
        """Read the whole history, and which entry is its last."""
        before, after, attempts = -1, (self._session.get())["lastSeq"], 0
        while True:
            before, attempts = after, attempts + 1
            rendering = self._session.render(self._target, **self._options)
            if self._is_whole or attempts == ATTEMPTS:
                break
            after = (self._session.get())["lastSeq"]
            if before == after:
                break
        self._take(rendering, since=0, seq=before)
        return self.messages

    def _take(self, rendering: models.RenderedRecord, *, since: int, seq: int) -> None:
        if since:
            self.messages = [*self.messages, *rendering["messages"]]
            self.loss = [*self.loss, *rendering["loss"]]
        else:
            self.messages, self.loss = rendering["messages"], rendering["loss"]
            self.system = rendering.get("system")
        self.rendering, self.seq = rendering, seq

    def _continues(self, rendering: models.RenderedRecord) -> bool:
        """Return whether a rendering of what is new goes behind the messages that are here."""
        if rendering.get("system") or any(each["code"] in PAIRED for each in rendering["loss"]):
            return False
        new = rendering["messages"]
        if not new or not self.messages:
            return True
        last, first = self.messages[-1].get("role"), new[0].get("role")
        # Turns of the same side are one message in a rendering of both.
        return last != first or first in {None, "tool"}
