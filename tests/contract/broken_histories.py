"""Histories that providers refuse, each with the rules that it breaks.

Written as SDKs and hosts write them: a name, the request, and what the doctor has to find.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit import media
from tests.kit.media import b64

Json = dict[str, Any]

PNG = media.png(40, 32)
TORN = media.jpeg(640, 480, noise=True)[:9_000]
ENDED = "https://bucket.s3.amazonaws.com/a.png?X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600"


@dataclass(frozen=True, slots=True)
class Broken:
    """A history that is wrong, and the rules that it breaks."""

    name: str
    request: object
    rules: frozenset[str]


def _broken(name: str, request: object, *rules: str) -> Broken:
    return Broken(name, request, frozenset(rules))


def data_uri(data: bytes, mime_type: str = "image/png") -> str:
    return f"data:{mime_type};base64,{b64(data)}"


# OpenAI, Chat Completions.


def _user(content: object = "Look.") -> Json:
    return {"role": "user", "content": content}


def _calling(*ids: str, name: str = "look", arguments: str = "{}") -> Json:
    calls = [
        {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identifier in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _calling_with(arguments: object) -> Json:
    function = {"name": "look", "arguments": arguments}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _tool(call_id: str, content: object = "A cat.") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _picture(url: str) -> list[Json]:
    return [{"type": "image_url", "image_url": {"url": url}}]


def _messages(*messages: object) -> Json:
    return {"messages": list(messages)}


_CHAT = (
    _broken("chat: result without a call", _messages(_user(), _tool("c1")), "no-call"),
    _broken(
        "chat: call without a result", _messages(_user(), _calling("c1"), _user()), "no-answer"
    ),
    _broken(
        "chat: one of two results is missing",
        _messages(_user(), _calling("c1", "c2"), _tool("c1"), _user()),
        "no-answer",
    ),
    _broken(
        "chat: result before its call",
        _messages(_user(), _tool("c1"), _calling("c1"), _user()),
        "wrong-order",
    ),
    _broken(
        "chat: result after the user went on",
        _messages(_user(), _calling("c1"), _user("Well?"), _tool("c1")),
        "no-answer",
        "late-answer",
    ),
    _broken(
        "chat: two results of one call",
        _messages(_user(), _calling("c1"), _tool("c1"), _tool("c1", "A dog.")),
        "duplicate-answer",
    ),
    _broken(
        "chat: one id for two calls",
        _messages(_user(), _calling("c1"), _tool("c1"), _calling("c1"), _tool("c1")),
        "duplicate-id",
    ),
    _broken(
        "chat: calls of one turn in two messages",
        _messages(_user(), _calling("c1"), _calling("c2"), _tool("c1"), _tool("c2")),
        "split-calls",
    ),
    _broken(
        "chat: an id that is too long",
        _messages(_user(), _calling("c" * 80), _tool("c" * 80)),
        "bad-id",
    ),
    _broken(
        "chat: a name with a blank",
        _messages(_user(), _calling("c1", name="take a look"), _tool("c1")),
        "bad-name",
    ),
    _broken(
        "chat: arguments that were cut off",
        _messages(_user(), _calling("c1", arguments='{"path": "/a'), _tool("c1")),
        "bad-arguments",
    ),
    _broken(
        "chat: picture in a result, cut off",
        _messages(_user(), _calling("c1"), _tool("c1", _picture(data_uri(TORN, "image/jpeg")))),
        "unreadable",
        "media-in-result",
    ),
    _broken(
        "chat: picture that was cut off",
        _messages(_user(_picture(data_uri(PNG[:-20])))),
        "unreadable",
    ),
    _broken(
        "chat: JPEG called PNG",
        _messages(_user(_picture(data_uri(media.jpeg(8, 6))))),
        "mislabelled-media",
    ),
    _broken(
        "chat: HTML called PNG",
        _messages(_user(_picture(data_uri(b"<!doctype html><html><body>404</body></html>")))),
        "mislabelled-media",
        "type-not-taken",
    ),
    _broken(
        "chat: base64 in a text",
        _messages(_user(f"Here it is: {data_uri(PNG)} Do you see it?")),
        "base64-in-text",
    ),
    _broken(
        "chat: base64 in the text of a result",
        _messages(
            _user(), _calling("c1"), _tool("c1", json.dumps({"screenshot": b64(media.png())}))
        ),
        "base64-in-text",
    ),
    _broken("chat: link that has ended", _messages(_user(_picture(ENDED))), "expired-link"),
    _broken(
        "chat: link to a file of the host",
        _messages(_user(_picture("http://localhost:3000/a.png"))),
        "address-not-taken",
    ),
    _broken("chat: empty text", _messages(_user([{"type": "text", "text": ""}])), "empty-content"),
    _broken("chat: null for a message", _messages(_user(), None, _user()), "not-a-message"),
    _broken(
        "chat: role that nobody knows",
        _messages({"role": "critic", "content": "Hm."}),
        "unknown-role",
    ),
    _broken(
        "chat: message in Anthropic's dialect",
        _messages(
            _user(),
            _calling("c1"),
            _tool("c1"),
            _calling("c2"),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2"}]},
        ),
        "mixed-dialects",
    ),
    _broken(
        "chat: one of two results is missing at the end",
        _messages(_user(), _calling("c1", "c2"), _tool("c1")),
        "no-answer",
    ),
    _broken(
        "chat: an empty list of calls",
        _messages(_user(), {"role": "assistant", "content": "I look.", "tool_calls": []}, _user()),
        "empty-calls",
    ),
    _broken(
        "chat: arguments as an object",
        _messages(_user(), _calling_with({"at": 1}), _tool("c1")),
        "unspelled-arguments",
    ),
    _broken(
        "chat: arguments as an empty text",
        _messages(_user(), _calling("c1", arguments=""), _tool("c1")),
        "bad-arguments",
    ),
    _broken(
        "chat: arguments with a number that JSON has not",
        _messages(_user(), _calling("c1", arguments='{"a": NaN}'), _tool("c1")),
        "bad-arguments",
    ),
    _broken(
        "chat: arguments that are missing",
        _messages(_user(), _calling_with(None), _tool("c1")),
        "bad-arguments",
    ),
    _broken(
        "chat: image in a tool message",
        _messages(_user(), _calling("c1"), _tool("c1", _picture(data_uri(PNG)))),
        "media-in-result",
    ),
    _broken(
        "chat: call without an id",
        _messages(_user(), _calling(""), _tool("")),
        "no-id",
    ),
    _broken(
        "chat: empty turn of the user at the end",
        _messages(_user(), {"role": "assistant", "content": "A cat."}, _user("")),
        "empty-content",
    ),
    _broken(
        "chat: results in the wrong turn",
        _messages(_user(), _tool("c2"), _calling("c1"), _tool("c1"), _calling("c2"), _user()),
        "wrong-order",
    ),
)


# OpenAI, Responses.


def _item(kind: str, **more: object) -> Json:
    return {"type": kind, **more}


def _called(call_id: str, arguments: str = "{}") -> Json:
    return _item("function_call", call_id=call_id, name="look", arguments=arguments)


def _output(call_id: str, output: object = "A cat.") -> Json:
    return _item("function_call_output", call_id=call_id, output=output)


_INPUT = {"role": "user", "content": [{"type": "input_text", "text": "Look."}]}

_RESPONSES = (
    _broken(
        "responses: call of a provider's tool without an output",
        {
            "input": [
                _INPUT,
                _item("computer_call", call_id="c1", action={"type": "screenshot"}),
                _INPUT,
            ]
        },
        "no-answer",
    ),
    _broken(
        "responses: output of a provider's tool without a call",
        {"input": [_INPUT, _item("computer_call_output", call_id="c1", output="A cat.")]},
        "no-call",
    ),
    _broken("responses: output without a call", {"input": [_INPUT, _output("c1")]}, "no-call"),
    _broken("responses: call without an output", {"input": [_called("c1"), _INPUT]}, "no-answer"),
    _broken(
        "responses: output before its call",
        {"input": [_INPUT, _output("c1"), _called("c1"), _INPUT]},
        "wrong-order",
    ),
    _broken(
        "responses: an id with a blank",
        {"input": [_INPUT, _called("call 1"), _output("call 1")]},
        "bad-id",
    ),
    _broken(
        "responses: arguments that were cut off",
        {"input": [_INPUT, _called("c1", '{"a": [1, 2'), _output("c1")]},
        "bad-arguments",
    ),
    _broken(
        "responses: picture that was cut off",
        {
            "input": [
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": data_uri(TORN, "image/jpeg")}],
                }
            ]
        },
        "unreadable",
    ),
    _broken(
        "responses: arguments as an object",
        {"input": [_INPUT, {**_called("c1"), "arguments": {"at": 1}}, _output("c1")]},
        "unspelled-arguments",
    ),
    _broken(
        "responses: one of two outputs is missing",
        {"input": [_INPUT, _called("c1"), _called("c2"), _output("c2"), _INPUT]},
        "no-answer",
    ),
)


# Anthropic.


def _use(*ids: str, name: str = "look") -> Json:
    blocks = [{"type": "tool_use", "id": call_id, "name": name, "input": {}} for call_id in ids]
    return {"role": "assistant", "content": blocks}


def _result(*ids: str, content: object = "A cat.") -> Json:
    blocks = [
        {"type": "tool_result", "tool_use_id": call_id, "content": content} for call_id in ids
    ]
    return {"role": "user", "content": blocks}


def _failed(call_id: str, content: list[Json]) -> Json:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}
    return {"role": "user", "content": [result]}


def _used_with(arguments: object) -> Json:
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": arguments}
    return {"role": "assistant", "content": [block]}


def _reply(text: str) -> Json:
    return {"role": "assistant", "content": text}


def _with_text(message: Json, *, behind: bool) -> Json:
    text = [{"type": "text", "text": "Also this."}]
    results = message["content"]
    return {"role": "user", "content": [*results, *text] if behind else [*text, *results]}


def _image(data: bytes, mime_type: str = "image/png") -> Json:
    source = {"type": "base64", "media_type": mime_type, "data": b64(data)}
    return {"type": "image", "source": source}


_THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}

_ANTHROPIC = (
    _broken(
        "anthropic: nothing but a thought",
        {
            "max_tokens": 9,
            "system": "s",
            **_messages(_user(), {"role": "assistant", "content": [_THOUGHT]}, _user()),
        },
        "misplaced-thought",
    ),
    _broken(
        "anthropic: thought of no model",
        _messages(
            _user(),
            {
                "role": "assistant",
                "content": [{**_THOUGHT, "signature": ""}, {"type": "text", "text": "Yes."}],
            },
        ),
        "unsigned-thought",
    ),
    _broken("anthropic: result without a call", _messages(_user(), _result("t1")), "no-call"),
    _broken(
        "anthropic: call without a result", _messages(_user(), _use("t1"), _user()), "no-answer"
    ),
    _broken(
        "anthropic: the assistant speaks first",
        _messages(
            {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
            _use("a"),
            _result("a"),
        ),
        "no-beginning",
    ),
    _broken(
        "anthropic: the system in the middle",
        _messages(_user(), _use("t1"), _result("t1"), {"role": "system", "content": "Be kind."}),
        "late-system",
    ),
    _broken(
        "anthropic: an id with a dot",
        _messages(_user(), _use("call.1"), _result("call.1")),
        "bad-id",
    ),
    _broken(
        "anthropic: image of 9,000 pixels",
        _messages(_user([_image(media.png(9_000, 10))])),
        "too-many-pixels",
    ),
    _broken(
        "anthropic: image of 16 by 14 pixels",
        _messages(_user([_image(media.png(16, 14)), {"type": "text", "text": "What is it?"}])),
        "too-few-pixels",
    ),
    _broken(
        "anthropic: image of 6 MB",
        _messages(_user([_image(media.png(1_500, 1_500, noise=True))])),
        "too-many-bytes",
    ),
    _broken(
        "anthropic: 21 images, one of 3,000 pixels",
        _messages(_user([*([_image(PNG)] * 20), _image(media.png(3_000, 10))])),
        "too-many-pixels",
    ),
    _broken(
        "anthropic: a picture of a type that it does not take",
        _messages(_user([_image(media.image("BMP", 40, 32), "image/bmp")])),
        "type-not-taken",
    ),
    _broken(
        "anthropic: GIF called PNG",
        _messages(_user([_image(media.gif(40, 32))])),
        "mislabelled-media",
    ),
    _broken(
        "anthropic: blank text in a result",
        _messages(_user(), _use("t1"), _result("t1", content=[{"type": "text", "text": "  "}])),
        "empty-content",
    ),
    _broken(
        "anthropic: message without content",
        _messages(
            _user(), _use("t1"), _result("t1"), {"role": "assistant", "content": []}, _user()
        ),
        "empty-content",
    ),
    _broken(
        "anthropic: PDF that was cut off",
        _messages(
            _user(
                [
                    {
                        "type": "document",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": b64(media.pdf()[:200]),
                        },
                    }
                ]
            )
        ),
        "unreadable",
    ),
    _broken(
        "anthropic: results in another order, one of them twice",
        _messages(_user(), _use("t1", "t2"), _result("t2", "t1", "t2"), _user()),
        "duplicate-answer",
    ),
    _broken(
        "anthropic: blocks of one answer in messages of their own",
        _messages(_user(), _use("t1"), _use("t2"), _result("t1"), _result("t2")),
        "split-calls",
    ),
    _broken(
        "anthropic: text in front of a result",
        _messages(_user(), _use("t1"), _with_text(_result("t1"), behind=False)),
        "results-not-first",
    ),
    _broken(
        "anthropic: text between the results of two messages",
        _messages(_user(), _use("t1", "t2"), _with_text(_result("t1"), behind=True), _result("t2")),
        "no-answer",
        "late-answer",
        "results-not-first",
    ),
    _broken(
        "anthropic: white space at the end of the assistant's last message",
        {"system": "Be kind.", "max_tokens": 9, **_messages(_user(), _reply("A cat is \n"))},
        "trailing-space",
    ),
    _broken(
        "anthropic: empty turn of the user at the end",
        _messages(_user(), _use("t1"), _result("t1"), _reply("A cat."), _user("  ")),
        "empty-content",
    ),
    _broken(
        "anthropic: image in the result of a call that failed",
        _messages(_user(), _use("t1"), _failed("t1", [_image(PNG)])),
        "media-in-error",
    ),
    _broken(
        "anthropic: nothing in the result of a call that failed",
        _messages(_user(), _use("t1"), _failed("t1", [])),
        "empty-content",
    ),
    _broken(
        "anthropic: the system among the messages",
        _messages({"role": "system", "content": "Be kind."}, _user(), _use("t1"), _result("t1")),
        "system-among-messages",
    ),
    _broken(
        "anthropic: arguments as a text",
        _messages(_user(), _used_with("{}"), _result("t1")),
        "bad-arguments",
    ),
    _broken(
        "anthropic: arguments that are missing",
        _messages(_user(), _used_with(None), _result("t1")),
        "bad-arguments",
    ),
    _broken(
        "anthropic: each call twice",
        _messages(_user(), _use("t1", "t2", "t1", "t2"), _result("t1", "t2"), _user()),
        "duplicate-id",
    ),
    _broken(
        "anthropic: words alone beside what is said by the system",
        {"system": "Be kind.", "max_tokens": 9, **_messages(_user(), _reply(""), _user())},
        "empty-content",
    ),
    _broken(
        "anthropic: OpenAI's tool message",
        _messages(_user(), _use("t1"), _result("t1"), _use("t2"), _tool("t2")),
        "mixed-dialects",
    ),
)


# Gemini.


def _content(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


def _function(name: str = "look") -> Json:
    return {**_unsigned(name), "thoughtSignature": "c2lnbmVk"}


def _unsigned(name: str = "look") -> Json:
    return {"functionCall": {"name": name, "args": {}}}


def _response(name: str = "look") -> Json:
    return {"functionResponse": {"name": name, "response": {"result": "A cat."}}}


def _inline(data: bytes, mime_type: str) -> Json:
    return {"inlineData": {"mimeType": mime_type, "data": b64(data)}}


_ASKED = _content("user", {"text": "Look."})

_GEMINI = (
    _broken(
        "gemini: call in a content of its own",
        {
            "contents": [
                _ASKED,
                _content("model", {"text": "I look."}),
                _content("model", _function()),
                _content("user", _response()),
            ]
        },
        "late-call",
    ),
    _broken(
        "gemini: call without a signature",
        {"contents": [_ASKED, _content("model", _unsigned()), _content("user", _response())]},
        "unsigned-call",
    ),
    _broken(
        "gemini: the model speaks first",
        {"contents": [_content("model", {"text": "Hi."})]},
        "no-beginning",
    ),
    _broken(
        "gemini: response without a call",
        {"contents": [_ASKED, _content("user", _response())]},
        "no-call",
    ),
    _broken(
        "gemini: call without a response",
        {"contents": [_ASKED, _content("model", _function()), _ASKED]},
        "no-answer",
    ),
    _broken(
        "gemini: GIF",
        {"contents": [_content("user", _inline(media.gif(8, 6), "image/gif"))]},
        "type-not-taken",
    ),
    _broken(
        "gemini: a video that was cut off",
        {"contents": [_content("user", _inline(media.mp4(1.0)[:-400], "video/mp4"))]},
        "unreadable",
    ),
    _broken(
        "gemini: empty part",
        {"contents": [_content("user", {"text": ""})]},
        "no-beginning",
        "empty-content",
    ),
)


# Bedrock.


def _use_of_bedrock(call_id: str) -> Json:
    use = {"toolUseId": call_id, "name": "look", "input": {}}
    return {"role": "assistant", "content": [{"toolUse": use}]}


def _result_of_bedrock(call_id: str) -> Json:
    result = {"toolUseId": call_id, "content": [{"text": "A cat."}], "status": "success"}
    return {"role": "user", "content": [{"toolResult": result}]}


def _image_of_bedrock(data: bytes, kind: str = "png") -> Json:
    return {"image": {"format": kind, "source": {"bytes": b64(data)}}}


_BLOCK = {"role": "user", "content": [{"text": "Look."}]}

_BEDROCK = (
    _broken(
        "bedrock: result without a call",
        _messages(_BLOCK, _result_of_bedrock("b1")),
        "no-call",
        "same-side-twice",
    ),
    _broken(
        "bedrock: call without a result",
        _messages(_BLOCK, _use_of_bedrock("b1"), _BLOCK),
        "no-answer",
    ),
    _broken(
        "bedrock: the user twice",
        _messages(_BLOCK, _BLOCK, _use_of_bedrock("b1"), _result_of_bedrock("b1")),
        "same-side-twice",
    ),
    _broken(
        "bedrock: 22 images",
        _messages({"role": "user", "content": [_image_of_bedrock(PNG)] * 22}),
        "too-many-media",
    ),
    _broken(
        "bedrock: WebP called PNG",
        _messages({"role": "user", "content": [_image_of_bedrock(media.webp(8, 6))]}),
        "mislabelled-media",
    ),
    _broken(
        "bedrock: id with a blank",
        _messages(_BLOCK, _use_of_bedrock("b 1"), _result_of_bedrock("b 1")),
        "bad-id",
    ),
)


# MCP.


def _rpc(number: int, **more: object) -> Json:
    return {"jsonrpc": "2.0", "id": number, **more}


_ASKING = {"method": "tools/call", "params": {"name": "look", "arguments": {}}}
_SAYS = {"result": {"content": [{"type": "text", "text": "A cat."}]}}

_MCP = (
    _broken("mcp: result without a call", _messages(_rpc(7, **_SAYS)), "no-call"),
    _broken(
        "mcp: call that never came back",
        _messages(_rpc(1, **_ASKING), {"role": "user", "content": {"type": "text", "text": "?"}}),
        "no-answer",
    ),
    _broken(
        "mcp: image called by another type",
        _messages(
            {
                "role": "user",
                "content": {"type": "image", "data": b64(PNG), "mimeType": "image/jpeg"},
            }
        ),
        "mislabelled-media",
    ),
)


# LangChain.

_AI = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {
        "content": "",
        "tool_calls": [{"name": "look", "args": {}, "id": "l1", "type": "tool_call"}],
    },
}
_LANGCHAIN = (
    _broken(
        "langchain: call without a result, as `dumps` writes it",
        [_AI, {"type": "human", "data": {"content": "Well?"}}],
        "no-answer",
    ),
    _broken(
        "langchain: result without a call, as `messages_to_dict` writes it",
        [
            {"type": "human", "data": {"content": "Look."}},
            {"type": "tool", "data": {"content": "A cat.", "tool_call_id": "l1"}},
        ],
        "no-call",
    ),
    *(
        _broken(
            f"langchain: block whose type is {json.dumps(value)}",
            [{"type": "human", "content": [{"type": value, "text": "Look."}]}],
            "no-type",
        )
        for value in (None, "", ["text"])
    ),
    _broken(
        "langchain: empty message",
        [
            {"type": "human", "content": "Hi."},
            {"type": "ai", "content": ""},
            {"type": "human", "content": "Hi."},
        ],
        "empty-content",
    ),
)


# The Vercel AI SDK.


def _ui(role: str, *parts: Json) -> Json:
    return {"id": "m", "role": role, "parts": list(parts)}


def _tool_part(state: str, **more: object) -> Json:
    return {"type": "tool-look", "toolCallId": "v1", "state": state, "input": {}, **more}


_VERCEL = (
    _broken(
        "vercel: version 4, a tool that never came back",
        _messages(
            {
                "role": "assistant",
                "content": "I look.",
                "toolInvocations": [
                    {"state": "call", "toolCallId": "v1", "toolName": "look", "args": {}}
                ],
            },
            _ui("user", {"type": "text", "text": "?", "state": "done"}),
        ),
        "no-answer",
    ),
    _broken(
        "vercel: a tool that never came back",
        _messages(
            _ui("assistant", _tool_part("input-available")),
            _ui("user", {"type": "text", "text": "?"}),
        ),
        "no-answer",
    ),
    _broken(
        "vercel: the same call twice",
        _messages(
            _ui("assistant", _tool_part("output-available", output="A cat.")),
            _ui("assistant", _tool_part("output-available", output="A dog.")),
        ),
        "duplicate-id",
    ),
    _broken(
        "vercel: file called by another type",
        _messages(
            _ui(
                "user",
                {"type": "file", "mediaType": "image/gif", "url": data_uri(PNG, "image/gif")},
            )
        ),
        "mislabelled-media",
    ),
)

_USER_PROMPT = {
    "part_kind": "user-prompt",
    "content": ["Look.", {"kind": "binary", "data": b64(PNG), "media_type": "image/png"}],
}
_PYDANTIC_CALL = {
    "part_kind": "tool-call",
    "tool_name": "look",
    "args": '{"x":1}',
    "tool_call_id": "t1",
}
_PYDANTIC_AI = (
    _broken(
        "Pydantic AI: an answer that nobody gave",
        [
            {
                "kind": "request",
                "instructions": None,
                "parts": [
                    {"part_kind": "system-prompt", "content": "Be brief.", "dynamic_ref": None},
                    _USER_PROMPT,
                ],
            },
            {
                "kind": "response",
                "model_name": "test",
                "parts": [
                    {"part_kind": "thinking", "content": "Hm.", "signature": None},
                    {"part_kind": "text", "content": "I look."},
                    _PYDANTIC_CALL,
                ],
            },
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Stop."}]},
        ],
        "no-answer",
    ),
    _broken(
        "Pydantic AI: an answer that is given twice",
        {
            "messages": [
                {"kind": "request", "parts": [_USER_PROMPT]},
                {"kind": "response", "parts": [_PYDANTIC_CALL]},
                *[
                    {
                        "kind": "request",
                        "parts": [
                            {
                                "part_kind": kind,
                                "tool_name": "look",
                                "tool_call_id": "t1",
                                "content": "A fox.",
                            }
                        ],
                    }
                    for kind in ("tool-return", "retry-prompt")
                ],
            ]
        },
        "duplicate-answer",
    ),
)

BROKEN: Sequence[Broken] = (
    *_CHAT,
    *_RESPONSES,
    *_ANTHROPIC,
    *_GEMINI,
    *_BEDROCK,
    *_MCP,
    *_LANGCHAIN,
    *_VERCEL,
    *_PYDANTIC_AI,
)
