"""Handles of media that are part of their entries: renderings name them, and tools open them."""

import hashlib
import re
from collections.abc import Callable

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from tests.contract.render_requests import Json, all_words, read_rendering, rendering, shows
from tests.contract.session_requests import answer, append, ask, call_tool, entries
from tests.kit import media
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

PICTURES = [media.png(32 + number, 32) for number in range(2)]
LINE = re.compile(r"\[image (@entry:\S+)( [^\]]*)?\]")
PARTS = [{"type": "image", "data": b64(picture)} for picture in PICTURES]
URIS = [f"data:image/png;base64,{b64(picture)}" for picture in PICTURES]
RENDER = "/api/sessions/s/render"


def handle_of(content: bytes, seq: int) -> str:
    return f"@entry:{seq}/{hashlib.sha256(content).hexdigest()[:12]}"


def store_result(client: httpx.Client) -> None:
    call_tool(client, "seen", PARTS)


def append_message(client: httpx.Client) -> None:
    content = [{"type": "image_url", "image_url": {"url": item}} for item in URIS]
    assert append(client, content=content).is_success


def append_wrapped(client: httpx.Client) -> None:
    blocks = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": b64(picture)},
        }
        for picture in PICTURES
    ]
    assert append(client, content=blocks, stop_reason=None).is_success


def ask_question(client: httpx.Client) -> None:
    ask(client, f"Compare {URIS[0]} with {URIS[1]}.")


def answer_question(client: httpx.Client) -> None:
    interaction = ask(client)
    message = {"role": "assistant", "content": f"{URIS[0]} is larger than {URIS[1]}."}
    assert answer(client, interaction["id"], message).is_success


WAYS = [store_result, append_message, append_wrapped, ask_question, answer_question]


def view(client: httpx.Client, ref: str, session_id: str = "s", **more: object) -> Json:
    """The answer to a model that puts a handle into its call."""
    body: Json = {"target": "openai-compat", "name": "view_media", "arguments": {"ref": ref}}
    body |= {"id": hashlib.sha256(ref.encode()).hexdigest()[:16], **more}
    return read_rendering(
        client.post(f"/api/sessions/{session_id}/tool-calls", json=body), "openai-compat"
    )


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("store", WAYS)
def test_small_medium_is_named_by_its_entry_and_its_handle_opens_the_same_bytes(
    client: httpx.Client, store: Callable[[httpx.Client], None]
) -> None:
    store(client)
    named = rendering(client, RENDER, "openai-compat", handles=1)
    plain = rendering(client, RENDER, "openai-compat")
    assert not LINE.search(all_words(plain))
    seq = entries(client)[-1]["seq"]
    by = "\N{MULTIPLICATION SIGN}"
    lines = [match.group() for match in LINE.finditer(all_words(named))]
    assert lines == [
        f"[image {handle_of(picture, seq)} {width}{by}32]"
        for width, picture in enumerate(PICTURES, 32)
    ]
    for line, picture in zip(lines, PICTURES, strict=True):
        viewed = view(client, line)
        assert shows(viewed, picture)
        # The answer has the picture in its own entry.
        (again,) = LINE.finditer(all_words(viewed))
        assert again.group(1) == handle_of(picture, entries(client)[-1]["seq"])


@pytest.mark.slow
def test_every_target_names_it_and_an_answer_by_itself_does(shared_client: httpx.Client) -> None:
    call_tool(shared_client, "seen", PARTS, "named")
    handles = [handle_of(picture, 1) for picture in PICTURES]
    path = "/api/sessions/named/render"
    for target in TARGETS:
        words = all_words(rendering(shared_client, path, target, handles=1, maxImages=0))
        assert [found.group(1) for found in LINE.finditer(words)] == handles
    apart = call_tool(shared_client, "apart", PARTS, None)
    path = f"/api/tool-results/{apart['id']}/render"
    assert not LINE.search(all_words(rendering(shared_client, path, "mcp", handles=1)))


def test_handle_that_names_no_medium_of_the_session_is_unknown(client: httpx.Client) -> None:
    store_result(client)
    append(client, "other", content="No picture.")
    known = handle_of(PICTURES[0], 1)
    absent = ("@entry:1/000000000000", "@entry:99/000000000000", known.replace(":1/", ":2/"))
    for name in ("view_media", "read_text", "save_page"):
        for session_id, refs in (("s", absent), ("other", (known,)), ("none", (known,))):
            for ref in refs:
                words = all_words(
                    view(client, ref, session_id, name=name, id=f"{name} {len(ref)}{ref[-3:]}")
                )
                assert f'There is no "{ref}" here. A ref is' in words
    with_project = view(client, known, "other", id="wide", scope="project")
    assert f'There is no "{known}" here. A ref is' in all_words(with_project)


def test_other_tools_take_the_handle_of_a_small_medium(client: httpx.Client) -> None:
    store_result(client)
    handle = handle_of(PICTURES[1], 1)
    by = "\N{MULTIPLICATION SIGN}"
    line = f"[image {handle} 33{by}32, image/png, {len(PICTURES[1])} bytes]"
    known = view(client, handle, id="words", arguments={"ref": handle, "level": 2})
    assert line in all_words(known)
    unread = view(client, handle, name="read_text", id="text")
    assert f"{handle} is image/png and no text. Use view_media." in all_words(unread)
    arguments = {"ref": handle, "caption": "A square"}
    saved = view(client, handle, name="save_page", id="save", arguments=arguments)
    (page_id,) = re.findall(r"Saved as page (\S+)\. ", all_words(saved))
    page = client.get(f"/api/pages/{page_id}/download")
    assert page.content == PICTURES[1]


def test_small_file_of_text_is_read_by_its_handle(client: httpx.Client) -> None:
    table = "Gr\u00f6\u00dfe;Stra\u00dfe\n1;2\n".encode("latin-1")
    url = f"data:text/csv;charset=iso-8859-1;base64,{b64(table)}"
    append(client, content=[{"type": "file", "file": {"file_data": url}}])
    named = all_words(rendering(client, RENDER, "openai-compat", handles=1))
    assert f"[text {handle_of(table, 1)}]" in named
    (handle,) = re.findall(r"@entry:1/[0-9a-f]{12}", named)
    read = all_words(view(client, handle, name="read_text", id="read"))
    assert read.endswith(
        "[text/csv, decoded from windows-1252, characters 0 to 17; this is its end]\n"
        "Gr\u00f6\u00dfe;Stra\u00dfe\n1;2\n"
    )
    assert "It is a text: use read_text." in all_words(view(client, handle, id="view"))
