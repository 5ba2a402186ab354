"""Values of Python are stored whole, or raise an error with their place."""

import array
import base64
import dataclasses
import datetime
import decimal
import enum
import io
import ipaddress
import itertools
import json
import math
import pickle
import uuid
from collections import UserList, deque
from collections.abc import Callable
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import attrs
import pydantic
import pytest
from openai.types.chat import ChatCompletionMessage
from PIL import ExifTags, Image

from clients.python.tests.servers import Reply, ScriptedService
from pagefault_client import Pagefault, Session, TurnToolResult, UnstorableError
from pagefault_client.values import ReadIterator, jsonable


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: float | None


@attrs.frozen
class Shelf:
    width: int
    label: str | None = None


class Pair(NamedTuple):
    width: int
    height: float


class Forecast(pydantic.BaseModel):
    city: str = pydantic.Field(default="Graz", alias="place")
    degrees: float | None = None
    map: Any = None


def test_values_of_python_become_json() -> None:
    identity = uuid.UUID(int=7)
    moment = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)
    made = jsonable(
        {
            5: (Point(1, None), {"b", 3, "a"}),
            True: [
                Pair(1, 2.5),
                deque([1]),
                UserList([1]),
                range(2),
                array.array("d", [0.5]),
                {2: 3}.values(),
            ],
            Colour.RED: [Colour.RED, moment, moment.date(), PurePosixPath("/a"), identity],
            None: [decimal.Decimal("0.10"), Fraction(1, 3), 1 + 2j, ipaddress.ip_address("::1")],
            "objects": [Shelf(3), LookupError("no more")],
            "big": 2**70,
            "bytes": [b"ab", bytearray(b"ab"), memoryview(b"ab")],
            "iterators": [map(str, [1]), (number for number in range(2)), iter([])],
            "nothing": [None, "", [], {}],
        }
    )
    assert made == {
        "5": [{"x": 1, "y": None}, ["a", "b", 3]],
        "true": [{"width": 1, "height": 2.5}, [1], [1], [0, 1], [0.5], [3]],
        "red": ["red", "2026-01-02T03:04:00+00:00", "2026-01-02", "/a", str(identity)],
        "null": ["0.10", "1/3", "(1+2j)", "::1"],
        "objects": [{"width": 3, "label": None}, "LookupError: no more"],
        "big": 2**70,
        "bytes": ["data:application/octet-stream;base64,YWI="] * 3,
        "iterators": [["1"], [0, 1], []],
        "nothing": [None, "", [], {}],
    }


def test_members_of_a_model_that_are_none_stay(pf: Pagefault, session: Session) -> None:
    made = session.tool_result("weather", "call_1", Forecast(map={"zoom": None}), render="text")
    text = '{"place":"Graz","degrees":null,"map":{"zoom":null}}'
    assert made["sanitized"]["parts"] == [{"type": "text", "text": text}]
    assert jsonable(Forecast(map=b"\xff")) == {
        "place": "Graz",
        "degrees": None,
        "map": "data:application/octet-stream;base64,/w==",
    }


def test_image_keeps_its_frames_and_its_orientation() -> None:
    frames = [Image.new("RGB", (4, 3), colour) for colour in ("red", "green", "blue")]
    rotated = Image.Exif()
    rotated[ExifTags.Base.Orientation] = 6
    files: dict[str, dict[str, Any]] = {
        "GIF": {"save_all": True, "append_images": frames[1:], "duration": 200},
        "JPEG": {"exif": rotated},
    }
    for kind, options in files.items():
        file = io.BytesIO()
        frames[0].save(file, kind, **options)
        with Image.open(file) as image:
            uri = jsonable(image)
            data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
            with Image.open(io.BytesIO(data)) as stored:
                assert getattr(stored, "n_frames", 1) == getattr(image, "n_frames", 1)
                assert dict(stored.getexif()) == dict(image.getexif())


CIRCLE: list[object] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        (math.nan, "", "is nan, which JSON cannot represent"),
        ({"a/b": [0, {"~": -math.inf}]}, "/a~1b/1/~0", "is -inf"),
        ({"point": Point(1, math.nan)}, "/point/y", "is nan"),
        ([Forecast(degrees=math.nan)], "/0/degrees", "is nan"),
        ((number / 1 for number in (1, math.inf)), "/1", "is inf"),
        ({"a": [object()]}, "/a/0", "has the type object, which cannot be stored whole"),
        ([io.BytesIO(b"a file")], "/0", "has the type BytesIO"),
        ([Image.new("CMYK", (1, 1))], "/0", "is an image that cannot be a PNG: convert it"),
        ({"kind": Forecast}, "/kind", "is the class Forecast"),
        ({"x": {1: "a", "1": "b"}}, "/x/1", "has the name of another member"),
        ({"x": {(1, 2): "a"}}, "/x", "has a tuple as the name of a member"),
        ({"x": itertools.count()}, "/x", "is an iterator of more than 64 MiB"),
    ],
)
def test_value_that_cannot_be_stored_whole_is_an_error_with_its_place(
    value: object, pointer: str, reason: str
) -> None:
    with pytest.raises(UnstorableError, match=reason) as refused:
        jsonable(value)
    assert refused.value.pointer == pointer
    copied = pickle.loads(pickle.dumps(refused.value))  # noqa: S301 - our own
    assert (str(copied), copied.pointer) == (str(refused.value), pointer)


@pytest.mark.parametrize(
    "make_item",
    [
        lambda: bytes(1_000_000),
        lambda: {"pages": [("text", bytes(1_000_000))]},
        lambda: Forecast(map={"image": bytes(1_000_000)}),
    ],
)
def test_endless_iterator_is_read_up_to_its_limit(make_item: Callable[[], object]) -> None:
    made = itertools.count()
    with pytest.raises(UnstorableError, match="is an iterator of more than 64 MiB"):
        jsonable(make_item() for _ in made)
    assert next(made) == 68


def test_iterator_of_values_that_contain_themselves_is_read() -> None:
    circles: list[object] = []
    circles.extend([circles] * 1_000)
    items = ReadIterator(iter([circles]))
    assert (items.is_whole, next(items) is circles) == (True, True)


def test_message_of_an_sdk_has_no_members_that_the_provider_did_not_send(
    scripted: Callable[..., ScriptedService],
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    sent: dict[str, object] = {"role": "assistant", "tool_calls": [call]}
    reply = ChatCompletionMessage.model_validate({**sent, "zone": {"city": None}})
    sent["zone"] = {"city": None}
    service = scripted(Reply(201, {"seqs": [], "rendering": {"messages": []}}))
    session = Pagefault(service.url).session("s")
    result: TurnToolResult = {"toolName": "clock", "toolCallId": "call_1", "result": None}
    session.append(reply)  # type: ignore[arg-type]
    session.turn({"message": reply}, {"toolResult": {**result, "callMessage": reply}})
    session.tool_result("clock", "call_1", reply, call_message=reply)
    session.fit([reply, {"role": "user", "content": "Hi", "name": None}], target="openai-chat")
    append, turn, stored, history = (json.loads(request.body) for request in service.requests)
    assert append == sent
    assert [entry.get("message") for entry in turn["entries"]] == [sent, None]
    assert turn["entries"][1]["toolResult"] == {**result, "callMessage": sent}
    assert history == [sent, {"role": "user", "content": "Hi", "name": None}]
    assert stored["callMessage"] == sent
    # The result of a tool is a value, in which None is a value as well.
    assert stored["result"] == reply.model_dump()


def test_no_request_is_sent_for_a_value_that_cannot_be_stored(session: Session) -> None:
    away = Pagefault("http://127.0.0.1:9", max_retries=0).session("s")
    with pytest.raises(UnstorableError, match="the value at /result/loss is nan"):
        away.tool_result("train", "call_1", {"loss": math.nan})
    with pytest.raises(UnstorableError, match="the value at /entries/0/message/content is nan"):
        away.turn({"message": {"role": "user", "content": math.nan}})
    with pytest.raises(UnstorableError, match="nested too deep, or contains itself"):
        away.append({"role": "user", "content": CIRCLE})
