"""Sent messages and blocks that targets of the same dialect copy."""

from collections.abc import Sequence
from typing import Any

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.messages.native_messages import (
    add_provider_forms,
    link_native_blocks,
    make_native_message,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    NativeBlock,
    NativeMessage,
    ProviderBlock,
    SyntheticNote,
    TextItem,
    Turn,
    block_of,
)

Json = Any

USER: Json = {"role": "user", "content": "Look."}
SAID: ComposedTurn = Turn("user", (TextItem("/content", "Look."),))


def foreign(
    sent: Json, dialect: Dialect | None = None, *, pointer: str = "", name: str = "", **more: Json
) -> ForeignMessage:
    """Return a message that was sent in common form."""
    message = sent if isinstance(sent, dict) else None
    return ForeignMessage(
        pointer, message, dialect, sent=sent, dialect_name=name or dialect or "", **more
    )


def test_message_is_kept_as_it_was_sent_unless_providers_would_refuse_it() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{"}}
    damaged: ComposedTurn = Turn(
        "user", (TextItem("", "[image/png data that could not be decoded]\n!"),)
    )
    named = {**USER, "model": "m"}
    rows: Sequence[tuple[ForeignMessage, ComposedTurn, NativeMessage | None]] = [
        (foreign(USER), SAID, NativeMessage(None, USER, (SAID,))),
        (foreign(named, "gemini"), SAID, NativeMessage("gemini", named, (SAID,), "m")),
        (foreign(USER, name="ollama"), SAID, NativeMessage("ollama", USER, (SAID,))),
        (foreign("Look."), SAID, None),
        (foreign(None), SAID, None),
        (foreign(USER, unknown_role="critic"), SAID, None),
        (foreign({"role": "assistant", "tool_calls": [call]}), SAID, None),
        (foreign(USER), damaged, None),
    ]
    assert [make_native_message(message, [turn]) for message, turn, _ in rows] == [
        native for *_, native in rows
    ]


def form_of(
    block: Json, dialect: Dialect | None = None, *, name: str = "", **members: Json
) -> Json:
    """Return the forms of a block in a message with these members."""
    sent = {"role": "assistant", "content": [block], **members}
    item = ProviderBlock("/m/content/0", {"": {"common": 1}}, "x", "no-place", "")
    return add_provider_forms(item, foreign(sent, dialect, pointer="/m", name=name)).forms


def test_block_has_its_sent_form_in_the_dialect_of_its_message_or_of_its_shape() -> None:
    typed: Json = {"type": "web_search", "a": 1}
    thought: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    rows: Sequence[tuple[Json, Dialect | None, Json]] = [
        (typed, "openai-responses", {"openai-responses": typed}),
        (typed, None, {"anthropic": typed}),
        ({"type": "reasoning"}, None, {"vercel": {"type": "reasoning"}}),
        ({"cachePoint": {}}, None, {"bedrock": {"cachePoint": {}}}),
        ({"cachePoint": {}, "b": {}}, None, {}),
        ({"cachePoint": 1}, None, {}),
        (thought, None, {"mistral": thought}),
        (thought, "anthropic", {"mistral": thought}),
        ({"type": "x", "thinking": []}, None, {"anthropic": {"type": "x", "thinking": []}}),
    ]
    assert [form_of(block, dialect) for block, dialect, _ in rows] == [forms for *_, forms in rows]
    assert form_of(typed, name="ollama") == {"ollama": typed}


def test_block_without_a_sent_form_has_the_common_one() -> None:
    def forms(pointer: str, message: ForeignMessage, *, is_in_result: bool = False) -> Json:
        block = ProviderBlock(pointer, {"": {"type": "x"}}, "x", "no-place", "")
        found = add_provider_forms(block, message, is_in_result=is_in_result)
        return found.forms, found.model

    sent = {"role": "user", "content": [{"type": "y"}], "model": "m"}
    message = foreign(sent, pointer="/m")
    common = {"anthropic": {"type": "x"}}
    assert forms("/m/content/0", message) == ({"anthropic": {"type": "y"}}, "m")
    for pointer in ("/m/content/0/source", "/m/content/9", "/m/type", "/m~2"):
        assert forms(pointer, message) == (common, "m")
    # A block in a result has the pointer of the result.
    assert forms("/m/content/0", message, is_in_result=True) == (common, "m")
    # A message may be only a part of the sent object.
    part = ForeignMessage("/m", sent)
    assert forms("/m/content/0", part) == (common, None)
    assert forms("/m", message) == ({}, "m")


def test_thought_has_anthropics_form_only_with_its_signature() -> None:
    def forms(thought: Json, dialect: Dialect | None = None, **members: Json) -> Json:
        sent = {"role": "assistant", "content": [thought], **members}
        item = ProviderBlock("/content/0", {"": thought}, "reasoning", "reasoning", "")
        return add_provider_forms(item, foreign(sent, dialect)).forms

    signed = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    unsigned = {"type": "thinking", "thinking": "Hm."}
    by_provider = {"response_metadata": {"model_provider": "anthropic"}}
    assert forms(signed) == {"anthropic": signed}
    assert forms(signed, "langchain", **by_provider) == {"langchain": signed, "anthropic": signed}
    assert forms(unsigned) == {}
    assert forms(unsigned, "langchain") == {"langchain": unsigned}
    member = ProviderBlock("/reasoning", {"openai-compat": {"reasoning": "Hm."}}, "r", "r", "")
    kept = add_provider_forms(member, foreign({"role": "assistant", "model": "m"}))
    assert (kept.forms, kept.model) == (member.forms, "m")


def natives(
    blocks: Sequence[Json], *items: Item, dialect: Dialect | None = None, role: str = "user"
) -> list[NativeBlock | None]:
    """Return the block that each item of a message refers to."""
    message = foreign({"role": "user", "content": [*blocks]}, dialect, pointer="/m")
    turn: ComposedTurn = Turn(role, items)  # type: ignore[arg-type]
    [linked] = link_native_blocks([turn], message)
    return [block_of(item) for item in linked.items]


def item(index: int, text: str = "A") -> TextItem:
    return TextItem(f"/m/content/{index}", text)


def test_items_refer_to_their_block_if_it_has_members_that_no_item_has() -> None:
    plain: Json = {"type": "text", "text": "A"}
    marked: Json = {**plain, "cache_control": {"type": "ephemeral"}}
    native = NativeBlock("anthropic", marked, 1, ("cache_control",))
    assert natives([plain, marked], item(0), item(1)) == [None, native]
    assert natives([plain, marked], item(0), item(1), dialect="anthropic") == [None, native]
    assert natives([plain, marked], item(0), item(1), dialect="bedrock") == [None, None]
    rows: Sequence[tuple[Json, tuple[str, ...] | None]] = [
        *(
            ({"type": kind, name: "T"}, (name,))
            for kind in ("text", "image", "document", "tool_result")
            for name in ("cache_control", "citations", "context", "title")
        ),
        ({**plain, "title": "T", "citations": [1]}, ("citations", "title")),
        ({**plain, "title": "", "citations": []}, None),
        ({"type": "document"}, ()),
        ({"type": "x", "title": "T"}, None),
        ("A", None),
        ({"type": "tool_result", "content": [plain]}, None),
        ({"type": "tool_result", "content": [7, marked]}, ("cache_control",)),
        ({"type": "tool_result", "content": [{"type": "document"}]}, ()),
        ({"type": "tool_result", "content": "A"}, None),
        ({"type": "text", "content": [marked]}, None),
    ]
    assert [natives([block], item(0)) for block, _ in rows] == [
        [None if members is None else NativeBlock("anthropic", block, 1, members)]
        for block, members in rows
    ]


def test_block_is_linked_only_if_all_its_items_are_there() -> None:
    document: Json = {"type": "document", "title": "T"}
    native = NativeBlock("anthropic", document, 2, ("title",))
    data = DataItem("/m/content/0", {})
    note = SyntheticNote("line", "no-beginning", "", 1)
    kept = ProviderBlock("/m/content/0", {}, "x", "no-place", "")
    assert natives([document], item(0), item(0, "B")) == [native, native]
    assert natives([document], item(0), data) == [native, None]
    assert natives([document], item(0), kept) == [None, None]
    assert natives([document], note, item(0), item(0)) == [None, native, native]
    outside = [
        TextItem(pointer, "A") for pointer in ("/m/parts/0", "/m/content", "/m/content/x", "")
    ]
    assert natives([document], *outside) == [None] * 4
    # A result has one block.
    whole = NativeBlock("anthropic", document, 1, ("title",))
    assert natives([document], item(0), role="tool") == [whole]
    assert natives([document, document], item(0), item(1), role="tool") == [None, None]
    assert natives([document], kept, role="tool") == [
        NativeBlock("anthropic", document, 1, ("title",))
    ]


def test_turns_of_a_message_without_such_blocks_are_unchanged() -> None:
    turns = [SAID]
    for sent in ("Look.", USER, {"role": "user", "content": []}, None):
        assert link_native_blocks(turns, foreign(sent)) is turns
