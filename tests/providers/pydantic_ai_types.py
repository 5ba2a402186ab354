"""Messages of Pydantic AI: its own adapter, and its rules for calls."""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.providers.answers import Step, check_answers
from tests.providers.encoded import check_encoded, is_reference

Json: TypeAlias = dict[str, Any]

_URL_SAFE = str.maketrans("+/", "-_")
_URL = re.compile(r"https?://[^\s/]+\S*")


def check_pydantic_ai(messages: list[Json]) -> None:
    """Raise unless Pydantic AI reads the messages, and reads all that is in them."""
    shallow = [_without_payloads(message) for message in messages]
    read = ModelMessagesTypeAdapter.validate_python(shallow)
    dumped = ModelMessagesTypeAdapter.dump_python(read, mode="json")
    assert len(dumped) == len(shallow)
    for known, sent in zip(dumped, shallow, strict=True):
        _check_known(known, sent)
    for message in messages:
        assert message["parts"], "a message in which nothing is said"
        for part in message["parts"]:
            _check_part(part)
    check_answers(_steps(messages))


def _check_known(known: Any, sent: Any) -> None:  # noqa: ANN401 - JSON
    """Raise unless what was read has all that was sent."""
    if isinstance(sent, dict):
        assert known.keys() >= sent.keys(), f"the types know only {known} of {sent}"
        for key, member in sent.items():
            _check_known(known[key], member)
    elif isinstance(sent, list):
        assert len(known) == len(sent), f"the types know only {known} of {sent}"
        for item, member in zip(known, sent, strict=True):
            _check_known(item, member)
    else:
        assert known == sent, f"the types know only {known} of {sent}"


def _without_payloads(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value with no arguments, which may be deep, and with bytes in the place of references."""
    if isinstance(value, dict):
        return {key: _without_payload(key, member) for key, member in value.items()}
    return [_without_payloads(item) for item in value] if isinstance(value, list) else value


def _without_payload(key: str, member: Any) -> Any:  # noqa: ANN401 - JSON
    if key == "args":
        assert isinstance(member, dict), "arguments that are no object"
        return {}
    if key == "data":
        # Bytes are dumped in the other alphabet of base64, whichever they were read in.
        return "AAAA" if is_reference(member) else member.translate(_URL_SAFE)
    return _without_payloads(member)


def _check_part(part: Json) -> None:
    content = part.get("content")
    if part["part_kind"] == "tool-return":
        assert part["tool_name"], "a tool without a name"
        assert part["outcome"] in ("success", "failed")
    elif part["part_kind"] == "tool-call":
        assert part["tool_name"], "a call of no tool"
    else:
        assert content, "nothing is said"
    if part["part_kind"] == "file":
        _check_medium(content)
    if isinstance(content, list):
        assert part["part_kind"] in ("user-prompt", "tool-return"), "a list of something else"
        assert any(isinstance(item, dict) for item in content), "a list where a text would do"
        for item in content:
            assert item, "an empty text"
            if isinstance(item, dict):
                _check_medium(item)


def _check_medium(medium: Any) -> None:  # noqa: ANN401 - JSON
    if medium["kind"] == "binary":
        check_encoded(medium["data"], medium["media_type"])
    else:
        assert _URL.fullmatch(medium["url"]), f"no URL: {medium['url'][:80]}"


def _steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        kinds = [part["part_kind"] for part in message["parts"]]
        is_answer = "tool-return" in kinds
        assert is_answer == (set(kinds) == {"tool-return"}), f"answers beside {kinds}"
        if not is_answer:
            yield "says", ""
        for part in message["parts"]:
            if part["part_kind"] == "tool-return":
                yield "answers", part["tool_call_id"]
            elif part["part_kind"] == "tool-call":
                yield "calls", part["tool_call_id"]
