"""A server of MCP over pipes with answers that a test chooses byte for byte.

Run as a program. What a tool of it returns is in `ANSWERS`; `%d` in one is the id of the request.
With the argument `paged`, its list of tools has two pages, and one of them the name of one of ours;
with `listless`, it has no list.
"""

import hashlib
import json
import os
import sys

from tests.kit import media

PNG = media.png(noise=True)

ANSWERS = {
    "word": b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "a"}]}}',
    "odd": (
        b'{"id":%d,"x-new":[1.0,1e2],"jsonrpc":"2.0","result":'
        b'{"content":[{"type":"text","text":"\\ud800 \xc3\xab"}],"x-more":{"a":"}"}}}'
    ),
    "fails": (
        b'{"jsonrpc":"2.0","id":%d,"result":'
        b'{"content":[{"type":"text","text":"no such file"}],"isError":true}}'
    ),
    "linked": (
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"resource_link","_meta":{"a":1},'
        b'"uri":"http://a.test/a","name":"a.png","mimeType":"image/png","size":7},'
        b'{"type":"resource","resource":{"uri":"file:///a.txt","text":"words"}}]}}'
    ),
    "error": b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"Unknown tool"}}',
    "asks": (
        b'{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","inputRequests":'
        b'{"a":{"method":"elicitation/create","params":{"message":"Which?"}}},"requestState":"s"}}'
    ),
    "later": b'{"jsonrpc":"2.0","id":%d,"result":{"task":{"taskId":"t","status":"working"}}}',
    "no-json": b'{"jsonrpc":"2.0","id":%d,"result":{"content":[}',
}
"""The answers of tools, by their names."""

_TEXT = {"type": "string"}
_LONG_CHARS = 1_000
_ROOTS_CHANGED = "notifications/roots/list_changed"
_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
MIB = 1024 * 1024
UPLOAD = {
    "name": "upload",
    "inputSchema": {
        "type": "object",
        "properties": {
            "image": {**_TEXT, "contentEncoding": "base64"},
            "images": {"type": "array", "items": {**_TEXT, "contentEncoding": "base64"}},
            "url": {"anyOf": [{**_TEXT, "format": "uri"}, {"type": "null"}]},
            "file_path": _TEXT,
            "note": _TEXT,
        },
    },
}
"""A tool that gives its arguments back, on the last page of a list."""
MEASURE = {
    "name": "measure",
    "inputSchema": {"type": "object"},
    "outputSchema": {
        "type": "object",
        "properties": {
            "length": {"type": "integer"},
            "picture": {**_TEXT, "contentEncoding": "base64", "pattern": "^[A-Za-z0-9+/]+=*$"},
        },
        "required": ["length", "picture"],
        "additionalProperties": False,
    },
}
"""A tool that promises a schema of its `structuredContent`."""
TASK = {
    "status": "working",
    "createdAt": "2026-07-28T10:00:00Z",
    "lastUpdatedAt": "2026-07-28T10:00:00Z",
    "ttlMs": None,
}
FIRST = "first" if "paged" in sys.argv else None
NAMESAKE = {"name": "save_page", "inputSchema": {"type": "object"}}
polled: list[str] = []
"""Tasks that were asked for."""
held: list[tuple[object, object]] = []
"""Calls that are not answered before `let_go` is called, and the tokens of their progress."""


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin.buffer:
        said = json.loads(line)
        requests = said if isinstance(said, list) else [said]
        if any(request.get("method") == _ROOTS_CHANGED for request in requests):
            _say(_CHANGED)
        answers = [
            _answer(request) for request in requests if "id" in request and request.get("method")
        ]
        if isinstance(said, list):
            _say(b"[" + b", ".join(answers) + b"]")
        else:
            for answer in filter(None, answers):
                _say(answer)


def _answer(request: dict[str, object]) -> bytes:
    method, number = request["method"], request["id"]
    if method == "initialize":
        told = {"capabilities": {"tools": {}}, "serverInfo": {"name": "said", "version": "1"}}
        asked = request["params"]
        assert isinstance(asked, dict)
        return _result(number, {"protocolVersion": asked["protocolVersion"], **told})
    if method == "tools/list" and "listless" not in sys.argv:
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ANSWERS]
        pages: dict[object, dict[str, object]] = {
            None: {"tools": tools},
            "first": {"tools": tools, "nextCursor": "more"},
            "more": {"tools": [UPLOAD] if FIRST is None else [UPLOAD, NAMESAKE]},
            "ended": {"tools": [], "nextCursor": ""},
            "none": {"tools": []},
            "typed": {"tools": [MEASURE]},
            "many": {"tools": [{"name": f"tool{n}", "inputSchema": {}} for n in range(5_000)]},
        }
        page = request.get("params") or {}
        assert isinstance(page, dict)
        return _result(number, pages[page.get("cursor", FIRST)])
    if method in ("tasks/get", "tasks/result"):
        at_last = {"content": [{"type": "text", "text": "done at last"}]}
        return _result(number, at_last if method == "tasks/result" else _task(request["params"]))
    if method != "tools/call":
        # Without a message it is no error to a client, which would wait for another answer.
        error = {"code": -32601, "message": "no such method"}
        return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
    params = request["params"]
    assert isinstance(params, dict)
    if params["name"] == "hold":
        return _hold(number, params["_meta"]["progressToken"])
    name = "answered" if "requestState" in params else params["name"]
    return _called(number, name, params.get("arguments", {}))


def _called(number: object, name: str, given: dict[str, int]) -> bytes:
    if name == "exit":
        sys.stderr.write("the server gives up\n")
        os._exit(3)
    if name == "let_go":
        _let_go(**given)
        name = "word"
    if name == "changes":
        _say(_CHANGED)
        name = "word"
    if name == "picture":
        _say(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}')
        content = [{"type": "text", "text": "a picture"}, _medium("image/png", PNG)]
        return _result(number, {"content": content, "_meta": {"a": [1]}})
    return ANSWERS[name] % number if name in ANSWERS else _result(number, _returned(name, given))


def _returned(name: str, given: dict[str, int]) -> dict[str, object]:
    """The result of a tool that follows its arguments."""
    if name == "task":
        return {"resultType": "task", **TASK, "taskId": given["ends"]}
    if name == "mixed":
        return {"content": MIXED, "structuredContent": {"n": 1}}
    if name == "measure":
        of_it = {"content": [{"type": "text", "text": "m"}, _medium("image/png", PNG)]}
        return {**of_it, "structuredContent": measured(**given)}
    if name == "many":
        texts = [{"type": "text", "text": f"{n:8}" + "x" * 1_400} for n in range(given["texts"])]
        return {"content": texts}
    return {"content": [_block(name, given)]}


def _task(params: object) -> dict[str, object]:
    """The task of an id that says how it ends; the first time it is asked for, it goes on."""
    assert isinstance(params, dict)
    task_id = params["taskId"]
    polled.append(task_id)
    told = {"resultType": "complete", **TASK, "taskId": task_id}
    if polled.count(task_id) == 1:
        return told
    if task_id == "told":
        params = {**TASK, **ENDS["completed"], "taskId": task_id, "status": "completed"}
        said = {"jsonrpc": "2.0", "method": "notifications/tasks", "params": params}
        _say(json.dumps(said).encode())
        return told
    return {**told, "status": task_id.partition(" ")[0], **ENDS[task_id]}


def _block(name: str, given: dict[str, int]) -> dict[str, object]:
    """Return the answer of a tool that follows its arguments."""
    if name in ("upload", "save_page"):
        return {"type": "text", "text": told(given)}
    if name in ("echo", "answered"):
        return {"type": "text", "text": given["text"]}
    if name == "long":
        return {"type": "text", "text": "x" * given["characters"]}
    if name == "sound":
        return _medium("audio/wav", media.wav(given["seconds"], 100_000))
    if name == "for_user":
        return {**_medium("image/png", PNG), "annotations": {"audience": ["user"]}}
    assert name == "large"
    # As a PNG it has a header and nothing else that is one.
    damaged = PNG[:33] + media.noise_bytes(MIB) * (given["bytes"] // MIB)
    return _medium("image/png", damaged[: given["bytes"]])


def measured(length: int) -> dict[str, object]:
    """Structured content of about that length, with a picture in it that is one of base64."""
    return {"length": length, "picture": media.b64(PNG + media.noise_bytes(length))}


def _medium(mime_type: str, data: bytes) -> dict[str, object]:
    kind = mime_type.partition("/")[0]
    return {"type": kind, "data": media.b64(data), "mimeType": mime_type}


MIXED: list[dict[str, object]] = [
    {"type": "text", "text": "all of it"},
    _medium("image/png", PNG),
    _medium("audio/wav", media.wav(0.1)),
    {"type": "resource_link", "uri": "http://a.test/a", "name": "a.png", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "words"}},
]
"""Content with a block of each kind."""


ENDS: dict[str, dict[str, object]] = {
    "completed": {"result": {"content": MIXED[:2], "isError": False, "_meta": {"a": [1]}}},
    "completed with an error": {
        "result": {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    },
    "failed": {"error": {"code": -32603, "message": "the limit of a service"}},
    "cancelled": {"statusMessage": "nobody waited"},
}
"""The ends of tasks of the revision 2026-07-28, by their ids."""


def _hold(number: object, token: object) -> bytes:
    """Report the first step, and answer nothing yet."""
    _report(token, 1)
    held.append((number, token))
    return b""


def _let_go(steps: int, side: int = 0) -> None:
    """Report further progress, then answer."""
    for number, token in held:
        for step in range(2, steps + 2):
            _report(token, step)
        content: list[dict[str, object]] = [{"type": "text", "text": "held"}]
        if side:
            picture = media.image("PNG", side, side, noise=True)
            content.append(_medium("image/png", picture))
        _say(_result(number, {"content": content}))
    held.clear()


def _report(token: object, progress: int) -> None:
    params = {"progressToken": token, "progress": progress}
    told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    _say(json.dumps(told).encode())


def told(given: object) -> str:
    """Arguments as text, with a digest in the place of each long string: base64 is lifted out."""

    def short(value: object) -> object:
        if isinstance(value, str) and len(value) > _LONG_CHARS:
            return hashlib.sha256(value.encode()).hexdigest()
        if isinstance(value, list):
            return [short(item) for item in value]
        return (
            {key: short(item) for key, item in value.items()} if isinstance(value, dict) else value
        )

    return json.dumps(short(given))


def _result(number: object, result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def _say(message: bytes) -> None:
    sys.stdout.buffer.write(message + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
