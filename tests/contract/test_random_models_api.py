"""A model that calls the tools at random, huge pages included: its session always renders."""

import json
from random import Random

import httpx
import pytest

from pagefault_dialects.context.cut_arguments import cut_arguments
from tests.contract.page_requests import put
from tests.contract.session_requests import append, upload
from tests.kit import media

pytestmark = pytest.mark.engines("embedded")

Json = dict[str, object]

BUDGET = 4_000
STEPS = 40
TARGETS = ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"]
WORDS = ["sheep", "sunset", "日本語", "\U0001f9d9", "0x7f", "\n", '"', "\u2028", "[… 9 left out …]"]


class RandomModel:
    """Makes calls of our tools and of a host's, some of them wrong."""

    def __init__(self, seed: int, files: list[str]) -> None:
        self._random = Random(seed)  # noqa: S311 - the same calls each time
        self._files = files
        self._made = 0

    def text(self, most: int) -> str:
        """Return words, some or a great many."""
        return " ".join(self._random.choices(WORDS, k=self._random.choice([1, 9, most])))

    def ref(self) -> str:
        """Return a reference to something, or to nothing."""
        random, seq = self._random, self._random.randrange(1, 2 * self._made + 3)
        page_ids = ["huge", "rows", "small", "[ref: huge]", "absent"]
        entries = [f"@entry:{seq}", f"@entry:{seq}/arguments/0", f"@entry:{seq}/arguments/0/text"]
        lists = [f"@entries:1-{seq}", f"@entries:{seq}-", "@entries:1"]
        return random.choice([*page_ids, *entries, *lists, *self._files, self.text(3)])

    def call(self) -> tuple[str, Json]:
        """Return the name and the arguments of a call."""
        random = self._random
        self._made += 1
        piece: Json = random.choice([{}, {"offset": random.randrange(10**6)}, {"lines": "7-"}])
        found: Json = random.choice([{"grep": "sheep"}, {"pointer": "/0"}, {"limit": 10**9}])
        cut = cut_arguments({"text": self.text(999) * 9}, "@entry:2/arguments/0")
        choices: list[tuple[str, Json]] = [
            ("page_fault", {"page_id": self.ref(), "target_level": random.randrange(5)}),
            ("page_fault", {"page_id": "huge", "target_level": 0}),
            ("read_text", {"ref": self.ref(), **piece}),
            ("read_text", {"ref": self.ref(), **found}),
            ("search_pages", {"query": self.text(20), "limit": random.choice([None, 20])}),
            ("view_media", {"ref": self.ref(), "level": random.randrange(3)}),
            ("save_page", {"content": self.text(3_000), "pinned": random.random() < 0.1}),
            ("save_page", {"ref": self.ref()}),
            ("list_media", {"kind": random.choice([None, "image", "text"])}),
            ("write_file", {"text": self.text(2_000)}),
            ("write_file", cut),
        ]
        return random.choice(choices)


def turn(model: RandomModel, number: int) -> list[Json]:
    """The entries of a step: a message with one to three calls, and their answers."""
    calls = [(f"{number}-{index}", *model.call()) for index in range(1 + number % 3)]
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
        for call_id, name, arguments in calls
        for text in [json.dumps(arguments)]
    ]
    entries: list[Json] = [{"message": {"role": "assistant", "content": None, "tool_calls": made}}]
    for call_id, name, arguments in calls:
        result = {"toolName": name, "toolCallId": call_id, "result": model.text(2_000)}
        ours = {"id": call_id, "name": name, "arguments": arguments}
        entries.append({"toolResult": result} if name == "write_file" else {"toolCall": ours})
    return entries


@pytest.mark.promise(
    "security.md#what-models-ask-for",
    "A session renders within its budget, whatever its model calls",
    kept_by="packages/dialects/src/pagefault_dialects/context/floor.py",
    tried="5 targets, 40 steps of 1 to 3 calls each at 4,000 tokens",
)
@pytest.mark.parametrize("target", TARGETS)
def test_session_renders_whatever_its_model_calls(client: httpx.Client, target: str) -> None:
    put(client, "huge", content="Ten sheep and a sunset. " * 15_000, modality="text")
    put(client, "rows", content=[["sheep"] * 9] * 9_000, modality="structured")
    put(client, "small", content="Ten sheep.", modality="text")
    kept = [(media.png(900, 1_200, noise=True), "a.png"), (b"1 sheep\n" * 60_000, "a.txt")]
    files = [str(upload(client, data, filename=name)["uri"]) for data, name in kept]
    append(client, role="system", content="You have a memory.")
    append(client, content="Look. " + " ".join(f"@{uri}" for uri in files))
    model = RandomModel(TARGETS.index(target), [f"@{uri}" for uri in files])
    for number in range(STEPS):
        render = {"target": target, "maxTokens": BUDGET, "frontier": "main"}
        body = {"entries": turn(model, number), "render": render}
        answer = client.post("/api/sessions/s/turns", json=body)
        assert answer.status_code == 200, answer.text[:500]
        receipt = answer.json()
        assert receipt.get("problem") is None, (number, receipt["problem"])
        assert receipt["rendering"]["tokensEst"] <= BUDGET
        assert "openCalls" not in receipt["rendering"]
