"""The nouns of the facade against a live service."""

from pathlib import Path

import pytest

from clients.python.tests.servers import CuttingProxy
from pagefault_client import (
    APIConnectionError,
    APIStatusError,
    AsyncPagefault,
    BadRequestError,
    ConflictError,
    NotFoundError,
    Pagefault,
    PreconditionFailedError,
    Session,
    operations,
)
from pagefault_client.options import Target


def test_result_of_a_tool_is_stored_read_listed_and_rendered(
    pf: Pagefault, session: Session, png: bytes
) -> None:
    made = session.tool_result("shot", "call_1", {"url": "x", "image": png}, render="anthropic")
    again = session.tool_result("shot", "call_1", {"url": "x", "image": png})
    kinds = [part["type"] for part in made["sanitized"]["parts"]]
    resource = made["sanitized"]["resources"][0]
    assert kinds == ["text", "image"]
    assert (resource["mimeType"], resource.get("width"), resource["size"]) == (
        *("image/png", 300),
        len(png),
    )
    assert (again["id"], pf.tool_results.get(made["id"])["sanitized"]) == (
        made["id"],
        made["sanitized"],
    )
    assert [item["id"] for item in pf.tool_results.list(session.id)] == [made["id"]]
    rendering = made.get("rendering")
    assert rendering is not None
    assert pf.tool_results.render(made["id"], "anthropic")["messages"] == (rendering["messages"])
    with pytest.raises(ConflictError) as refused:
        session.tool_result("shot", "call_1", "another")
    assert (refused.value.status_code, refused.value.code) == (409, "tool-call-answered")


def test_new_call_of_a_known_id_has_its_own_result(session: Session) -> None:
    first = session.tool_result("list_dir", "list_dir:0", "a.txt")
    second = session.tool_result("list_dir", "list_dir:0", "a.txt", new_call=True)
    assert first["id"] != second["id"]
    assert {call["toolCallId"] for call in (first, second)} == {"list_dir:0"}


def test_session_is_forked_and_both_go_on_apart(pf: Pagefault, session: Session) -> None:
    session.append({"role": "user", "content": "One."})
    session.append({"role": "user", "content": "Two."})
    forked = session.fork(1, f"{session.id}-2")
    assert forked.get("forkedFrom") == {"sessionId": session.id, "upTo": 1}
    assert session.fork(1, f"{session.id}-2") == forked
    copy = pf.session(f"{session.id}-2")
    assert [message.get("content") for message in copy.messages()] == ["One."]
    with pytest.raises(ConflictError) as refused:
        session.fork(2, f"{session.id}-2")
    assert refused.value.code == "session-exists"


def test_results_without_a_session_are_made_repeatable_by_a_key(pf: Pagefault) -> None:
    made = pf.tool_results.create("clock", "call_1", "ten", idempotency_key="k-1-facade")
    again = pf.tool_results.create("clock", "call_1", "ten", idempotency_key="k-1-facade")
    assert (made["sessionId"], again["id"]) == (None, made["id"])


def test_pages_are_written_read_changed_and_faulted(pf: Pagefault, session: Session) -> None:
    page_id = f"page-{session.id}"
    made = pf.pages.put(
        page_id, modality="text", content="Ten sheep. " * 500, session_id=session.id, hint="sheep"
    )
    with pytest.raises(PreconditionFailedError):
        pf.pages.put(page_id, if_none_match="*", content="other")
    changed = pf.pages.patch(page_id, pinned=True)
    supplied = pf.pages.put_level(page_id, 2, "Sheep, ten of them.")
    message = pf.pages.fault(page_id, "ABSTRACT", session_id=session.id, tool_call_id="call_1")
    content = pf.pages.content(page_id, level=0)
    assert (made["version"], changed["pinned"]) == (1, True)
    assert (supplied["origin"], pf.pages.level(page_id, 2)["content"]) == (
        *("supplied", "Sheep, ten of them."),
    )
    assert "Sheep, ten of them." in str(message["content"])
    assert content["type"] == "text"
    assert content["text"] == "Ten sheep. " * 500
    assert pf.pages.blocks(page_id, level="REFERENCE")["requested_level"] == 3
    assert pf.pages.download(page_id) == ("Ten sheep. " * 500).encode()
    assert [hit["page_id"] for hit in pf.pages.search("sheep", session_id=session.id)] == [page_id]
    assert [page["page_id"] for page in pf.pages.list(session_id=session.id, pinned=True)] == [
        page_id
    ]
    assert pf.pages.render(page_id, "anthropic", level=2, tool_call_id="call_1")["messages"]
    pf.pages.delete_level(page_id, 2)
    pf.pages.delete(page_id)
    with pytest.raises(NotFoundError) as missing:
        pf.pages.fault(page_id)
    assert missing.value.tool_message is not None
    assert page_id in missing.value.tool_message["content"]


def test_lists_are_iterated_over_all_their_answers(pf: Pagefault, session: Session) -> None:
    made = pf.pages.create_many(
        [{"content": str(letter), "session_id": session.id} for letter in "abcde"]
    )
    listed = pf.pages.list(session_id=session.id, limit=2)
    assert sorted(page["page_id"] for page in listed) == sorted(page["page_id"] for page in made)
    assert [len(values["items"]) for values in listed.lists()] == [2, 2, 1]
    assert listed.first() == listed.all()[0]
    assert pf.pages.list(session_id=session.id, modality="video").first() is None


def test_manifest_is_iterated_over_all_its_answers(pf: Pagefault, session: Session) -> None:
    pf.pages.create_many(
        [{"content": letter, "hint": letter, "session_id": session.id} for letter in "abcde"]
    )
    manifest = session.manifest(limit=2)
    assert [page["hint"] for page in manifest] == [*"edcba"]
    assert [len(answer["items"]) for answer in manifest.lists()] == [2, 2, 1]
    lines = [page["line"] for page in manifest.all()[:2]]
    assert all(line in manifest.text() for line in lines)
    assert manifest.text().endswith("… 3 more")


def test_message_of_a_call_is_stored_with_its_result(session: Session) -> None:
    for value in ("ten", "eleven"):
        call = {"type": "tool_use", "id": "clock:0", "name": "clock", "input": {"zone": value}}
        message = {"role": "assistant", "content": [call]}
        made = session.tool_result("clock", "clock:0", value, call_message=message)
        again = session.tool_result("clock", "clock:0", value, call_message=message)
        assert (again["id"], again["seq"]) == (made["id"], made["seq"])
    kinds = [entry["entry"] for entry in session.messages()]
    assert kinds == ["message", "tool_result", "message", "tool_result"]


def test_history_keeps_messages_interactions_and_answers(session: Session) -> None:
    message = session.append({"role": "user", "content": "Hi", "name": "ann"})
    interaction = session.interact("What time is it?")
    session.answer(interaction["id"], {"role": "assistant", "content": "Ten."})
    assert [entry["entry"] for entry in session.messages()] == ["message", "interaction", "answer"]
    assert [entry["seq"] for entry in session.messages(after=1, limit=1)] == [2, 3]
    entry = session.message(message["seq"])
    assert entry["entry"] == "message"
    assert (entry["role"], entry.get("content")) == ("user", "Hi")
    (interaction,) = session.interactions()
    answer = interaction["interaction"].get("output")
    assert answer is not None
    assert answer["content"] == "Ten."
    assert session.interaction(interaction["id"]) == interaction


def test_session_is_counted_exported_deleted_and_imported(
    pf: Pagefault, session: Session, tmp_path: Path
) -> None:
    session.put()
    session.append({"role": "user", "content": "Hi"})
    before = session.get()
    bundle = session.bundle()
    with pytest.raises(ConflictError):
        pf.sessions.import_bundle(bundle)
    receipt = session.delete()
    assert receipt is not None
    assert receipt["deleted"]["messages"] == 1
    assert pf.sessions.import_bundle(bundle)["counts"] == before["counts"]
    saved = session.save_bundle(tmp_path / "session.zip")
    session.delete()
    with saved.open("rb") as file:
        assert pf.sessions.import_bundle(file)["counts"] == before["counts"]
    assert [item["id"] for item in pf.sessions.list(session.id)] == [session.id]


def test_file_is_read_and_not_stored(pf: Pagefault) -> None:
    found = pf.sessions.read_file(b'{"role": "user", "content": "Hi"}')
    assert [entry["title"] for entry in found["outline"]] == ["Hi"]


@pytest.mark.anyio
async def test_awaited_bundles_are_files_too(url: str, session: Session, tmp_path: Path) -> None:
    session.append({"role": "user", "content": "Hi"})
    async with AsyncPagefault(url) as client:
        saved = await client.session(session.id).save_bundle(tmp_path / "session.zip")
        session.delete()
        with saved.open("rb") as file:
            assert (await client.sessions.import_bundle(file))["lastSeq"] == 1


def test_a_bundle_that_is_cut_leaves_no_file(
    proxy: CuttingProxy, session: Session, png: bytes, tmp_path: Path
) -> None:
    session.tool_result("shot", "call_1", png)
    proxy.cuts = [-2_000]
    with Pagefault(proxy.url) as client, pytest.raises(APIConnectionError):
        client.session(session.id).save_bundle(tmp_path / "session.zip")
    assert list(tmp_path.iterdir()) == []


def test_files_have_aliases_and_links(pf: Pagefault, png: bytes) -> None:
    stored = pf.resources.upload(png, filename="shop.png", alias="shop-1")
    other = pf.resources.upload(png + b"\0", filename="shop.png")
    link = pf.resources.signed_url(stored["uri"], expires_in_seconds=60, disposition="attachment")
    assert pf.aliases.get("shop-1")["uri"] == stored["uri"]
    with pytest.raises(ConflictError):
        pf.aliases.put("shop-1", other["uri"])
    assert pf.aliases.put("shop-1", other["uri"], if_match="*")["uri"] == other["uri"]
    assert [item["alias"] for item in pf.aliases.list(other["uri"])] == ["shop-1"]
    pf.aliases.delete("shop-1")
    pf.resources.delete(f"@{other['uri']}")
    assert (stored["mimeType"], stored.get("filename")) == ("image/png", "shop.png")
    assert "token=" in link["url"]
    with pytest.raises(NotFoundError):
        pf.resources.get(other["uri"])


def test_long_text_is_read_in_parts(pf: Pagefault) -> None:
    stored = pf.resources.upload(b"one\ntwo\nthree\n", filename="log.txt")
    lines = pf.resources.text(stored["uri"], lines="2-3")
    assert lines.get("text") == "two\nthree"
    assert pf.resources.text(stored["uri"], grep="TWO", ignore_case=True).get("totalMatches") == 1


def test_memory_has_tools_and_runs_their_calls(pf: Pagefault, session: Session) -> None:
    tools = pf.tools.list("openai-chat", only=["page_fault", "search_pages"])["tools"]
    answer = session.call_tool(
        "openai-chat", "call_1", "list_media", {"session": None, "kind": None}
    )
    assert [tool["function"]["name"] for tool in tools] == ["page_fault", "search_pages"]
    assert answer["messages"][0]["tool_call_id"] == "call_1"
    assert "page_fault" in pf.tools.instructions(style="relaxed")


def test_handles_are_resolved(pf: Pagefault, session: Session, png: bytes) -> None:
    record = session.tool_result("shot", "call_1", png)
    handle = f"@{record['sanitized']['resources'][0]['uri']}"
    resolved = pf.resolve(session.id, {"image": handle, "other": "@blob:" + "0" * 32})
    assert resolved["arguments"]["image"].startswith("data:image/png;base64,")
    assert [finding["pointer"] for finding in resolved["unresolved"]] == ["/other"]


def test_doctor_heals_a_history(pf: Pagefault) -> None:
    orphan = {"role": "tool", "tool_call_id": "call_9", "content": "ten"}
    found = pf.doctor([{"role": "user", "content": "Hi"}, orphan], "openai-chat", apply=True)
    healed = found.get("messages")
    assert found["findings"]
    assert healed is not None
    assert [message["role"] for message in healed] == ["user", "assistant", "tool"]


def test_doctor_needs_no_target(pf: Pagefault, session: Session) -> None:
    orphan = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ten"}
    session.append({"role": "user", "content": "Hi"})
    cases: list[tuple[list[object] | dict[str, object] | str, Target]] = [
        ([{"role": "user", "content": "Hi"}, {"role": "user", "content": [orphan]}], "anthropic"),
        ({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "gemini"),
        ([{"role": "user", "content": "Hi"}], "openai-chat"),
        (session.id, "openai-chat"),
    ]
    for history, target in cases:
        found = pf.doctor(history)
        assert found == pf.doctor(history, target)
        assert found["target"] == target
        assert [finding["rule"] for finding in found["findings"]] == (
            ["no-call"] if target == "anthropic" else []
        )


def test_turn_is_appended_whole_or_not_at_all(session: Session) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    receipt = session.turn(
        {"message": {"role": "user", "content": "What time is it?"}},
        {"message": {"role": "assistant", "content": None, "tool_calls": [call]}},
        {"toolResult": {"toolName": "clock", "toolCallId": "call_1", "result": "It is ten."}},
        render="openai-chat",
    )
    assert receipt["seqs"] == [1, 2, 3]
    assert receipt["rendering"] is not None
    assert [message["role"] for message in receipt["rendering"]["messages"]] == [
        *("user", "assistant", "tool")
    ]
    with pytest.raises(ConflictError) as refused:
        session.turn({"message": {"role": "user", "content": "?"}}, expected_seq=1)
    assert refused.value.code == "session-moved-on"
    assert session.get()["lastSeq"] == 3


def test_everything_is_searched(pf: Pagefault, session: Session) -> None:
    session.append({"role": "user", "content": "Ten zwetschgen, please."})
    session.tool_result("shop", "call_1", "Zwetschgen are sold out.")
    found = pf.search("zwetschgen", session_id=session.id)
    assert sorted(item["kind"] for item in found) == ["message", "tool_result"]
    (message,) = pf.search("zwetschgen", session_id=session.id, kinds=["message", "page"])
    assert message["kind"] == "message"


@pytest.mark.parametrize("hostile", [".", "..", "a?b=c", "a#b", "%2e", "%2F"])
def test_ids_stay_in_their_place_of_the_path(pf: Pagefault, hostile: str) -> None:
    with pytest.raises((NotFoundError, BadRequestError)) as refused:
        pf.pages.get(hostile)
    assert refused.value.code in {"not-found", "invalid-payload"}
    for other in ("", "p/representations/2"):
        with pytest.raises(ValueError, match="not an id"):
            pf.pages.delete(other)


def test_bytes_may_be_the_content_of_a_page(pf: Pagefault, session: Session, png: bytes) -> None:
    made = pf.pages.put(f"p-{session.id}", modality="image", content=png, session_id=session.id)
    media = made["media"]
    assert media is not None
    assert (media["mime_type"], media["size_bytes"]) == ("image/png", len(png))


def test_errors_say_what_is_wrong_and_where(pf: Pagefault) -> None:
    with pytest.raises(BadRequestError) as refused:
        pf.send(operations.put_page("p", {"modality": "smell"}))  # type: ignore[typeddict-item]
    error = refused.value
    assert (error.status_code, error.code, [finding["pointer"] for finding in error.errors]) == (
        *(422, "invalid-payload"),
        ["/modality"],
    )
    assert error.request_id
    assert error.request_id in str(error)


def test_every_operation_can_be_sent(pf: Pagefault) -> None:
    assert pf.send(operations.get_readiness())["status"] == "ready"
    assert "pagefault" in pf.send(operations.get_metrics())
    with pytest.raises(APIStatusError):
        pf.send(operations.get_tool_result("00000000-0000-7000-8000-000000000000"))
