"""Histories of agents, generated from a seed: long arguments, screenshots, late results."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from packages.dialects.tests.targets.composed import medium
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    ProviderBlock,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.resource import MediaHints
from tests.kit import media

PAGES = ("p0", "p1")

_PICTURE = media.png(8, 6)
_DIGEST = hashlib.sha256(_PICTURE).hexdigest()
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "reads")
_TOOLS = ("bash", "read_file", "write_file", "look", "grep", "fetch_url", "list_files", "edit")
_SIGNED = {
    "anthropic": {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},
}


@dataclass
class AgentHistory:
    """A history in the order of its entries, and the results that are not stored yet."""

    random: Random
    turns: list[ComposedTurn] = field(default_factory=list)
    late: list[tuple[int, ComposedTurn]] = field(default_factory=list)
    pinned: tuple[str, ...] = ()
    calls: int = 0

    def add(self, role: TurnRole, items: Sequence[Item] = (), **more: object) -> None:
        """Append a turn."""
        seq = len(self.turns) + 1
        origin = f"/api/sessions/s/messages/{seq}"
        self.turns.append(Turn(role, tuple(items), origin, seq, **more))  # type: ignore[arg-type]

    def text(self, *lengths: int) -> TextItem:
        """Return a unique text of about one of these lengths."""
        number = self.random.getrandbits(40)
        length = self.random.choice(lengths)
        words = " ".join(self.random.choices(_WORDS, k=max(1, length // 5)))
        return TextItem("/parts/0", f"<{number:x}> {words} </{number:x}>")

    def picture(self) -> Item:
        """Return a stored picture."""
        digit = self.random.randrange(16)
        side = self.random.choice([80, 800, 1_600])
        source = StoredBytes(f"{digit:x}" * 32, _DIGEST)
        return medium(size_bytes=len(_PICTURE), source=source, hints=MediaHints(side, side))

    def result(self) -> Sequence[Item]:
        """Return the items of a result."""
        kind = self.random.choice(["short", "short", "long", "huge", "picture", "value"])
        match kind:
            case "picture":
                return [self.text(20), self.picture()]
            case "value":
                lines = [self.text(30).text for _ in range(self.random.choice([1, 40]))]
                return [DataItem("/meta/structuredContent", {"lines": lines})]
            case "huge":
                return [self.text(20_000, 60_000)]
            case _:
                return [self.text(*((30, 200) if kind == "short" else (1_000, 4_000)))]

    def call(self) -> TurnCall:
        """Return a call with short, long or nested arguments."""
        self.calls += 1
        name, call_id = self.random.choice(_TOOLS), f"call_{self.calls}"
        text = self.text(*((2_000, 6_000) if name in ("write_file", "edit") else (20, 150))).text
        match name:
            case "edit":
                return TurnCall(call_id, name, {"edits": [{"old": "a", "new": text}], "n": 1})
            case "write_file":
                return TurnCall(call_id, name, {"path": f"/{self.calls}.py", "content": text})
            case _:
                return TurnCall(call_id, name, {"q": text})

    def recall(self) -> None:
        """Append a page fault and the page."""
        self.calls += 1
        call_id, page = f"call_{self.calls}", self.random.choice(PAGES)
        call = TurnCall(call_id, "page_fault", {"page_id": page, "target_level": 0})
        self.add("assistant", calls=(call,))
        page_items = [self.text(400, 3_000, 20_000)]
        self.add("tool", page_items, call_id=call_id, tool_name="page_fault")

    def step(self) -> None:
        """Append calls and their results: at once, late, or never."""
        calls = tuple(self.call() for _ in range(self.random.choice([1, 1, 1, 2, 3])))
        items: list[Item] = []
        if self.random.random() < 0.2:
            reason = "Only the model that thought it takes it back."
            form = dict(_SIGNED)
            items.append(ProviderBlock("/content/0", form, "thought", "reasoning", reason))
        if self.random.random() < 0.4:
            items.append(self.text(40, 600))
        self.add("assistant", items, calls=calls)
        for call in calls:
            answer: ComposedTurn = Turn(
                "tool",
                tuple(self.result()),
                call_id=call.call_id,
                tool_name=call.name,
                is_error=self.random.random() < 0.1,
            )
            luck = self.random.random()
            if luck < 0.9:
                self._store(answer)
            elif luck < 0.97:
                self.late.append((self.random.randrange(1, 12), answer))

    def talk(self) -> None:
        """Append messages of the user, the assistant and the system."""
        kind = self.random.choice(["user", "user", "assistant", "system", "both"])
        if kind == "system":
            self.add("system", [self.text(30, 300)])
        if kind in ("user", "both"):
            more = [self.picture()] if self.random.random() < 0.3 else []
            self.add("user", [self.text(20, 300, 3_000), *more])
        if kind in ("assistant", "both"):
            self.add("assistant", [self.text(20, 300, 3_000)])

    def store_late(self) -> None:
        """Append the late results that are due."""
        waiting = [(after - 1, answer) for after, answer in self.late]
        self.late = [item for item in waiting if item[0] > 0]
        for after, answer in waiting:
            if after <= 0:
                self._store(answer)

    def _store(self, answer: ComposedTurn) -> None:
        self.add(
            "tool",
            answer.items,
            call_id=answer.call_id,
            tool_name=answer.tool_name,
            is_error=answer.is_error,
        )


def agent_history(seed: int) -> AgentHistory:
    """Return the history of an agent at work; the same for the same seed."""
    random = Random(seed)  # noqa: S311 - not for secrets
    history = AgentHistory(random)
    if random.random() < 0.5:
        history.pinned = PAGES[: random.choice([1, 2])]
    if random.random() < 0.6:
        history.add("system", [history.text(100, 800)])
    if random.random() < 0.15:
        history.add("assistant", [history.text(30, 600)])
    history.add("user", [history.text(50, 400, 6_000)])
    share_of_talk = random.choice([0.0, 0.05, 0.3])
    for _ in range(random.choice([2, 5, 12, 30])):
        luck = random.random()
        if luck < share_of_talk:
            history.talk()
        elif luck < share_of_talk + 0.12:
            history.recall()
        elif luck < share_of_talk + 0.15:
            # A result without a stored call.
            history.add("tool", history.result(), call_id=f"lost_{luck}", tool_name="look")
        else:
            history.step()
        history.store_late()
    return history
