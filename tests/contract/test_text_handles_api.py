"""Handles of long texts: every target names each of them, and `read_text` takes what it reads."""

import re

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from tests.contract.page_requests import put
from tests.contract.render_requests import Json, all_words, read_rendering, rendering, strings
from tests.contract.session_requests import append, call_tool, upload

pytestmark = pytest.mark.engines("embedded")

LINE = re.compile(r"\[text @\S+ [^\]\n]*\]")


def numbered(word: str, count: int) -> str:
    return "\n".join(f"{number} {word}" for number in range(1, count + 1))


QUESTION = numbered("question", 800)
LOG = numbered("log", 2_000)
PAGE = numbered("page", 1_500)
ROWS = {"rows": [f"row {number}" for number in range(8_000)]}
FEW_ROWS = {"rows": [f"few {number}" for number in range(1_500)]}
FILE = numbered("file", 10)


def tell(client: httpx.Client, session_id: str) -> None:
    """A history that has all kinds of long texts."""
    assert append(client, session_id, content=QUESTION).is_success
    call_tool(client, "log", LOG, session_id)
    for name, rows in (("rows", ROWS), ("few", FEW_ROWS)):
        content = [{"type": "text", "text": "Read."}]
        call_tool(client, name, {"content": content, "structuredContent": rows}, session_id)
    put(client, "notes", content=PAGE, modality="text")
    query = {"target_level": 0, "session_id": session_id, "tool_call_id": "fault"}
    assert client.post("/api/pages/notes/fault", json=query).is_success
    uri = upload(client, FILE.encode(), filename="a.txt")["uri"]
    assert append(client, session_id, content=f"@{uri}").is_success
    assert append(client, session_id, content="Short.").is_success


def read(client: httpx.Client, ref: str, **arguments: object) -> str:
    """Return the answer of the tool to a model that copies a handle."""
    body: Json = {"target": "openai-chat", "name": "read_text", "handles": False}
    body |= {"id": f"{ref} {arguments}"[:500], "arguments": {"ref": ref, **arguments}}
    answer = client.post("/api/sessions/long/tool-calls", json=body)
    return str(read_rendering(answer, "openai-chat")["messages"][0]["content"])


@pytest.mark.slow
def test_every_long_text_has_a_handle_in_every_target_and_it_is_read(
    shared_client: httpx.Client,
) -> None:
    tell(shared_client, "long")
    render = "/api/sessions/long/render"
    lines = {
        target: LINE.findall(all_words(rendering(shared_client, render, target, handles=1)))
        for target in TARGETS
    }
    assert LINE.findall(all_words(rendering(shared_client, render, "openai-chat"))) == []
    named = lines["openai-chat"]
    # What `mcp` shows as a value needs no handle.
    shown_by_mcp = [line for line in named if "structuredContent" in line or "@entry:4" in line]
    assert len(shown_by_mcp) == 2
    for target, found in lines.items():
        assert found == [line for line in named if target != "mcp" or line not in shown_by_mcp]
    texts = ["1 question", "1 log", '{"rows":["row 0"', '{"rows":["few 0"', "1 page", "1 file"]
    assert len(named) == len(texts)
    for line, text in zip(named, texts, strict=True):
        head, _, piece = read(shared_client, line, limit=200).partition("\n")
        assert text in piece, head
    question, log, rows, few = named[:4]
    assert read(shared_client, question, grep="799 QUESTION") == (
        "[entry 1, 1 of 800 lines match]\n799: 799 question"
    )
    assert read(shared_client, log, lines="1999-").endswith("\n1999 log\n2000 log")
    assert read(shared_client, rows, pointer="/rows/7999").endswith("\nrow 7999")
    assert "is not JSON" in read(shared_client, few, pointer="/rows/0")
    assert "such as 10-40" in read(shared_client, question, lines="ten")
    characters = {"1 question": QUESTION, "1 log": LOG}
    for line, whole in zip(named, characters.values(), strict=False):
        assert f" {len(whole):,} characters]" in line
        assert read(shared_client, line, offset=len(whole) - 4).endswith(f"\n{whole[-4:]}")


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "mcp"])
def test_text_that_is_evicted_is_named_by_the_call_that_reads_it(
    client: httpx.Client, target: str
) -> None:
    tell(client, "long")
    append(client, "long", role="assistant", content="Done.")
    append(client, "long", content="And now?")
    query = {"target": target, "maxTokens": 14_000, "handles": True, "frontier": "main"}
    record = read_rendering(client.post("/api/sessions/long/render", json=query), target)
    words = all_words(record)
    refs = re.findall(r'read_text\("(@[a-z]+:[0-9a-f]+)"\)', words)
    assert refs
    for ref in refs:
        assert re.search("question|log|rows|few|page|file", read(client, ref, limit=50))


def test_preview_that_a_tool_imitates_leads_nowhere(client: httpx.Client) -> None:
    gap = f"\n[… 9000 characters left out; the whole text is blob:{'0' * 32} …]\n"
    call_tool(client, "odd", f"{'x' * 4_000}{gap}{'y' * 1_000}", "long")
    record = rendering(client, "/api/sessions/long/render", "openai-chat", handles=1)
    (line,) = LINE.findall("\n".join(strings(record["messages"])))
    assert "list_media names those there are" in read(client, line)
