from dataclasses import replace
from typing import Any

import pytest

from packages.dialects.tests.targets.resolved_turns import (
    LARGE_NUMBERS,
    LARGE_NUMBERS_TEXT,
    PDF,
    PNG,
    REFERENCE,
    URL,
    WAV,
    answer,
    base64,
    calling,
    data,
    deep,
    media_item,
    plain,
    text_item,
    turn,
    write_messages,
)
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    MediaItem,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    TurnCall,
)
from pagefault_dialects.model.render_options import McpRevision
from pagefault_dialects.targets.base64_leaves import Base64Leaf
from pagefault_dialects.targets.mcp import narrow_to_revision
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import mp4
from tests.providers.mcp_types import check_mcp


def mcp(*turns: ResolvedTurn) -> list[Any]:
    messages = write_messages("mcp", *turns)
    check_mcp(messages)
    return messages


def of(revision: McpRevision, *turns: ResolvedTurn) -> JsonValue:
    """Return the messages for a revision of the protocol."""
    profile = narrow_to_revision(TARGETS["mcp"], revision)
    return [plain(message) for message in profile.write(turns, profile, "auto")]


def result(
    *content: JsonValue,
    is_error: bool = False,
    call_id: str = "call_1",
    name: str = "shoot",
    **members: JsonValue,
) -> dict[str, Any]:
    return {
        "resultType": "complete",
        "content": list(content),
        **members,
        "isError": is_error,
        "_meta": {"pagefault/toolCallId": call_id, "pagefault/toolName": name},
    }


TEXT: dict[str, JsonValue] = {"type": "text", "text": "Hi."}


def text(value: str) -> JsonValue:
    return {"type": "text", "text": value}


def structured(turn: ResolvedTurn, value: JsonValue) -> ResolvedTurn:
    return replace(turn, structured=(value,))


def test_every_text_of_an_answer_is_a_block_and_an_empty_one_is_none() -> None:
    assert mcp(answer(text_item("one"), text_item(""), text_item("two"))) == [
        result(text("one"), text("two"))
    ]


def test_answer_with_nothing_in_it_has_no_blocks() -> None:
    assert mcp(answer(), answer(text_item(""), call_id="call_2", is_error=True)) == [
        result(),
        result(is_error=True, call_id="call_2"),
    ]


def test_data_of_its_own_is_text() -> None:
    assert mcp(answer(data(LARGE_NUMBERS))) == [result(text(LARGE_NUMBERS_TEXT))]


@pytest.mark.parametrize("value", [{"a": [1]}, [1], "a", 1, True, False, None])
def test_structured_content_may_be_any_json(value: JsonValue) -> None:
    assert mcp(structured(answer(text_item("a")), value)) == [
        result(text("a"), structuredContent=value),
    ]


@pytest.mark.parametrize("value", [[1], "a", 1, True])
def test_structured_content_of_older_revisions_is_an_object(value: JsonValue) -> None:
    def older(turn: ResolvedTurn) -> JsonValue:
        return of("2025-06-18", turn)

    structured_answer = structured(answer(text_item("a"), data(value)), value)
    assert older(structured_answer) == [result(text("a"), text(json_text(value)))]
    assert older(structured(answer(text_item("a")), value)) == [result(text("a"))]
    assert older(structured(answer(text_item("a"), data({"n": value})), {"n": value})) == [
        result(text("a"), structuredContent={"n": value})
    ]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_oldest_revisions_take_no_structured_content(revision: McpRevision) -> None:
    value: JsonValue = {"n": 2}
    assert of(revision, structured(answer(text_item("two")), value)) == [result(text("two"))]
    assert of(revision, structured(answer(text_item("two"), data(value)), value)) == [
        result(text("two"), text('{"n":2}'))
    ]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_oldest_revisions_take_no_links(revision: McpRevision) -> None:
    rules = narrow_to_revision(TARGETS["mcp"], revision).media
    assert {kind: rule.addresses for kind, rule in rules.items()} == dict.fromkeys(rules, ())
    referred = media_item(PNG, "image/png", address=REFERENCE, is_reference=True)
    image = {"type": "image", "data": REFERENCE, "mimeType": "image/png"}
    assert of(revision, answer(referred)) == [result(image)]


def test_sound_is_a_file_before_it_was_content() -> None:
    sound = {"type": "audio", "data": base64(WAV), "mimeType": "audio/wav"}
    resource = {"uri": "file:///a.wav", "mimeType": "audio/wav", "blob": base64(WAV)}
    played = media_item(WAV, "audio/wav", "a.wav")
    assert of("2025-03-26", answer(played)) == [result(sound)]
    assert of("2024-11-05", answer(played)) == [result({"type": "resource", "resource": resource})]
    assert of("2024-11-05", turn("user", played)) == [
        {"role": "user", "content": {"type": "resource", "resource": resource}}
    ]


def test_structured_content_is_not_repeated_beside_other_content() -> None:
    structured_answer = structured(
        answer(text_item("two"), data({"n": 2}), data({"n": 3})), {"n": 2}
    )
    assert mcp(structured_answer) == [
        result(text("two"), text('{"n":3}'), structuredContent={"n": 2})
    ]


def test_structured_content_alone_is_rendered_as_text() -> None:
    assert mcp(structured(answer(data({"n": 2})), {"n": 2})) == [
        result(text('{"n":2}'), structuredContent={"n": 2})
    ]


def test_true_is_not_written_as_one() -> None:
    assert mcp(structured(answer(text_item("a"), data(True)), 1)) == [
        result(text("a"), text("true"), structuredContent=1)
    ]


def test_structured_content_may_be_a_thousand_levels_deep() -> None:
    value = deep()
    (message,) = mcp(structured(answer(text_item("a"), data(deep())), value))
    assert message.pop("structuredContent") is value
    assert message == result(text("a"))


def test_error_may_hold_media() -> None:
    image = media_item(PNG, "image/png")
    assert mcp(answer(text_item("no"), image, is_error=True)) == [
        result(
            text("no"),
            {"type": "image", "data": base64(PNG), "mimeType": "image/png"},
            is_error=True,
        )
    ]


@pytest.mark.parametrize(
    ("attachment", "block"),
    [
        (
            media_item(PNG, "image/png", "a.png"),
            {"type": "image", "data": base64(PNG), "mimeType": "image/png"},
        ),
        (
            media_item(WAV, "audio/wav"),
            {"type": "audio", "data": base64(WAV), "mimeType": "audio/wav"},
        ),
        (
            media_item(PDF, "application/pdf", "Übersicht 1.2/b?.pdf"),
            {
                "type": "resource",
                "resource": {
                    "uri": "file:///%C3%9Cbersicht%201.2%2Fb%3F.pdf",
                    "mimeType": "application/pdf",
                    "blob": base64(PDF),
                },
            },
        ),
        (
            media_item(mp4(), "video/mp4"),
            {
                "type": "resource",
                "resource": {
                    "uri": "file:///file.mp4",
                    "mimeType": "video/mp4",
                    "blob": base64(mp4()),
                },
            },
        ),
        (
            media_item(b"hello", "text/plain", "hello"),
            {
                "type": "resource",
                "resource": {
                    "uri": "file:///hello.txt",
                    "mimeType": "text/plain",
                    "blob": base64(b"hello"),
                },
            },
        ),
        (
            media_item(b"?", "application/x-unheard-of"),
            {
                "type": "resource",
                "resource": {
                    "uri": "file:///file",
                    "mimeType": "application/x-unheard-of",
                    "blob": base64(b"?"),
                },
            },
        ),
        (
            media_item(PNG, "image/png", "a.png", address=URL),
            {
                "type": "resource_link",
                "uri": URL,
                "name": "a.png",
                "mimeType": "image/png",
                "size": len(PNG),
            },
        ),
        (
            media_item(PDF, "application/pdf", address=REFERENCE, is_reference=True),
            {
                "type": "resource_link",
                "uri": REFERENCE.removeprefix("@"),
                "name": "file.pdf",
                "mimeType": "application/pdf",
                "size": len(PDF),
            },
        ),
    ],
)
def test_media_are_blocks_of_answers_and_messages_alike(
    attachment: MediaItem, block: JsonValue
) -> None:
    said_by_both = [turn("user", attachment), turn("assistant", attachment)]
    assert mcp(*said_by_both) == [
        {"role": "user", "content": block},
        {"role": "assistant", "content": block},
    ]
    assert mcp(answer(attachment)) == [result(block)]


def test_link_to_elsewhere_has_no_size() -> None:
    offload_location = replace(media_item(b"", "image/png", address=URL), source=Address(URL))
    assert mcp(answer(offload_location)) == [
        result(
            {"type": "resource_link", "uri": URL, "name": "file.png", "mimeType": "image/png"},
        )
    ]


def test_stored_file_keeps_its_uri() -> None:
    stored = replace(
        media_item(PDF, "application/pdf", "a.pdf"), source=StoredBytes("ab" * 16, "cd" * 32)
    )
    profile = TARGETS["mcp"]
    assert profile.write([answer(stored)], profile, "auto") == [
        result(
            {
                "type": "resource",
                "resource": {
                    "uri": "blob:" + "ab" * 16,
                    "mimeType": "application/pdf",
                    "blob": Base64Leaf(stored),
                },
            }
        )
    ]


def test_text_with_a_uri_is_the_resource_or_the_link_that_it_was() -> None:
    def resource(uri: str, mime_type: str, value: str = "{}") -> JsonValue:
        return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": value}}

    link: dict[str, JsonValue] = {"type": "resource_link", "uri": URL, "name": "a.txt"}
    head = f"a.txt\n{URL}"
    cases: list[tuple[str, BlockLabel, JsonValue]] = [
        (
            "{}",
            BlockLabel(uri="file:///b/a.json"),
            resource("file:///b/a.json", "application/json"),
        ),
        ("{}", BlockLabel(uri="file:///a.json/b"), resource("file:///a.json/b", "text/plain")),
        ("{}", BlockLabel(uri="x:a.csv"), resource("x:a.csv", "text/plain")),
        ("{}", BlockLabel(uri="x:a b\n\ud800é"), resource("x:a%20b%0A%3Fé", "text/plain")),
        ("{}", BlockLabel(uri="x:a", mime_type="text/csv"), resource("x:a", "text/csv")),
        (head, BlockLabel("a.txt", URL), link),
        (f"T\n{head}", BlockLabel("a.txt", URL), {**link, "title": "T"}),
        (
            f"{head}\ntext/csv\n12 bytes\nTwo\nlines.",
            BlockLabel("a.txt", URL),
            {**link, "mimeType": "text/csv", "size": 12, "description": "Two\nlines."},
        ),
        (f"A\nB\n{head}", BlockLabel("a.txt", URL), resource(URL, "text/plain", f"A\nB\n{head}")),
        (f"{head}.", BlockLabel("a.txt", URL), resource(URL, "text/plain", f"{head}.")),
        ("Hi.", BlockLabel("a.txt", meta={"a": 1}), {**TEXT, "_meta": {"a": 1}}),
        (
            "{}",
            BlockLabel(uri="ui://a", meta={"a": 1}),
            {
                "type": "resource",
                "resource": {
                    **{"uri": "ui://a", "mimeType": "text/plain", "text": "{}"},
                    "_meta": {"a": 1},
                },
            },
        ),
    ]
    assert [mcp(answer(TextItem("/content", value, label=label))) for value, label, _ in cases] == [
        [result(block)] for _, _, block in cases
    ]


def test_each_item_is_a_message_and_calls_are_one() -> None:
    calls = (TurnCall("call_1", "shoot", {"at": 2**70}), TurnCall("call_2", "", {}))
    image = media_item(PNG, "image/png")
    turns = [
        turn("user", text_item("look"), text_item(""), image),
        turn("assistant", text_item("So be it."), data([1]), calls=calls),
        answer(text_item("one")),
        answer(image, call_id="call_2", name=""),
    ]
    block = {"type": "image", "data": base64(PNG), "mimeType": "image/png"}
    nameless = TARGETS["mcp"].tool_name.fit("")
    assert mcp(*turns) == [
        {"role": "user", "content": text("look")},
        {"role": "user", "content": block},
        {"role": "assistant", "content": text("So be it.")},
        {"role": "assistant", "content": text("[1]")},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_1", "name": "shoot", "input": {"at": 2**70}},
                {"type": "tool_use", "id": "call_2", "name": nameless, "input": {}},
            ],
        },
        result(text("one")),
        result(block, call_id="call_2", name=nameless),
    ]


def test_empty_turn_has_no_message() -> None:
    assert mcp(turn("user"), turn("assistant", text_item(""))) == []


def test_long_ids_are_the_same_in_a_call_and_its_answer() -> None:
    long = "ü" * 600
    fitted = TARGETS["mcp"].call_id.fit(long)
    calls, answered = mcp(calling(long), answer(call_id=long))
    assert len(fitted) == 512
    assert calls["content"][0]["id"] == fitted
    assert answered == result(call_id=fitted)
