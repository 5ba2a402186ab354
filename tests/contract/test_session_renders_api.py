"""Renderings of sessions over HTTP: order, appending, tails, dialects, limits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from pagefault_dialects.messages.comparison import Unit, split_into_units
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import NO_RESULT
from tests.contract.dialects import DIALECTS, IMAGE
from tests.contract.page_requests import data_uri, put
from tests.contract.render_cases import file_block, image_block
from tests.contract.render_requests import (
    SESSION_RENDER,
    Json,
    all_words,
    read_rendering,
    rendering,
    shows,
    steps,
    unchecked,
)
from tests.contract.session_requests import answer, append, ask, call_tool, rich, upload
from tests.kit import media
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

EVERY = pytest.mark.parametrize("target", TARGETS)
PICTURES = [media.png(64 + number, 48, noise=True) for number in range(3)]
PDF = media.pdf()
CSV = b"a,b\n1,2\n"
SIDES = {"bedrock": "content", "gemini": "parts"}
"""Targets for which what one side says in a row is one message, and the member that has it."""


def say(client: httpx.Client, role: str, content: object = "Go on.", **more: object) -> None:
    message: Json = {"role": role, "content": content, **more}
    stored = append(client, **message)
    assert stored.status_code == 201, stored.text[:500]


def calling(client: httpx.Client, *calls: tuple[str, str]) -> None:
    """A turn of an assistant that calls tools, as OpenAI has it."""
    listed = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": '{"n":1}'}}
        for call_id, name in calls
    ]
    say(client, "assistant", None, tool_calls=listed)


def beginning(target: str) -> list[tuple[object, ...]]:
    """The entry of the line that begins a session where somebody else has to speak first."""
    entry = (1, "", "nothing", "line", "no-beginning", "GET /api/sessions/s/messages/1")
    return [entry] if TARGETS[target].starts_with_user else []


def lost(record: Json) -> list[Json]:
    """The loss, without what is written where only results are stored."""
    written = ("no-call", "no-beginning")
    return [item for item in record["loss"] if item["code"] not in written]


def fault_in(client: httpx.Client) -> None:
    put(client, "p", content=data_uri(PICTURES[0], "image/png"), modality="image")
    body = {"target_level": 0, "session_id": "s", "tool_call_id": "call_page"}
    assert client.post("/api/pages/p/fault", json=body).status_code == 200


def talk(client: httpx.Client) -> Iterator[bool]:
    """All kinds of entries, one after the other; tells of each whether no call is open then."""
    say(client, "system", "Be brief.")
    yield True
    picture = {"type": "image_url", "image_url": {"url": data_uri(PICTURES[0], "image/png")}}
    say(client, "user", [{"type": "text", "text": "See."}, picture])
    yield True
    calling(client, ("call_1", "camera"), ("call_2", "look"))
    yield False
    call_tool(client, "call_1", {"content": [image_block(PICTURES[1])]})
    yield False
    say(client, "tool", "Nothing.", tool_call_id="call_2")
    yield True
    files = [upload(client, PDF, filename="a.pdf"), upload(client, CSV, filename="b.csv")]
    asked = ask(client, rich(*(file["uri"] for file in files)))
    yield True
    assert isinstance(asked, dict)
    assert answer(client, str(asked["id"])).is_success
    yield True
    fault_in(client)
    yield True
    call_tool(client, "call_3", {"content": [image_block(PICTURES[2])], "isError": True})
    yield True
    calling(client, ("call_4", "camera"))
    yield False
    say(client, "user")
    yield True
    call_tool(client, "call_4", {"content": [image_block(PICTURES[1])]})
    yield True
    say(client, "user", "Thanks.")
    yield True


@dataclass(frozen=True)
class Moment:
    """The renderings of a history for all targets after one of its entries."""

    seq: int
    is_closed: bool
    records: dict[str, Json]


@pytest.fixture(scope="module")
def talked(shared_client: httpx.Client) -> Sequence[Moment]:
    """The history of session `s`, as it grew."""

    def records() -> dict[str, Json]:
        return {
            target: unchecked(shared_client.get(SESSION_RENDER, params={"target": target}), target)
            for target in TARGETS
        }

    return [
        Moment(seq, is_closed, records()) for seq, is_closed in enumerate(talk(shared_client), 1)
    ]


def side_by_side(held: str, *rendered: Sequence[Json]) -> list[Json]:
    """Messages one behind the other, where what one side says at once is one message.

    `held` is the member that has what is said. Answers of Gemini's stay by themselves.
    """
    whole: list[Json] = []
    for message in (message for messages in rendered for message in messages):
        before = whole[-1] if whole else {"role": "", held: []}
        stay = any("functionResponse" in part for part in (*before[held], *message[held]))
        if before["role"] == message["role"] and not stay:
            whole[-1] = {**before, held: [*before[held], *message[held]]}
        else:
            whole.append(message)
    return whole


@pytest.mark.slow
@EVERY
def test_appending_changes_no_message_that_was_rendered(
    talked: Sequence[Moment], target: str
) -> None:
    last = talked[-1].records[target]
    closed = [moment.records[target] for moment in talked if moment.is_closed]
    for earlier, later in zip(closed, [*closed[1:], last], strict=True):
        kept = list(earlier["messages"])
        if target in SIDES and kept:
            # What the same side says next stands behind what it said.
            said = kept.pop()[SIDES[target]]
            assert later["messages"][len(kept)][SIDES[target]][: len(said)] == said
        assert later["messages"][: len(kept)] == kept
        assert later["loss"][: len(earlier["loss"])] == earlier["loss"]


@EVERY
def test_what_is_rendered_at_last_is_taken(
    shared_client: httpx.Client, talked: Sequence[Moment], target: str
) -> None:
    assert rendering(shared_client, SESSION_RENDER, target) == talked[-1].records[target]


@EVERY
def test_since_gives_exactly_the_tail(
    shared_client: httpx.Client, talked: Sequence[Moment], target: str
) -> None:
    whole = talked[-1].records[target]
    for moment in talked:
        if not moment.is_closed:
            continue
        head = moment.records[target]
        query: Json = {"target": target, "since": moment.seq}
        tail = unchecked(shared_client.get(SESSION_RENDER, params=query), target)
        joined = [*head["messages"], *tail["messages"]]
        if target in SIDES:
            joined = side_by_side(SIDES[target], head["messages"], tail["messages"])
        assert joined == whole["messages"]
        assert [*head["loss"], *tail["loss"]] == whole["loss"]
        assert (tail["lastSeq"], len(tail["prefixHash"])) == (
            whole["lastSeq"],
            len(tail["messages"]),
        )
        if head["messages"]:
            assert tail["sinceHash"] == head["prefixHash"][-1]
        assert [*head["prefixHash"], *tail["prefixHash"]][-1] == whole["prefixHash"][-1]


@pytest.mark.slow
@EVERY
def test_hash_says_whether_what_is_new_goes_behind_what_was_there(
    shared_client: httpx.Client, talked: Sequence[Moment], target: str
) -> None:
    whole = talked[-1].records[target]
    for moment in talked:
        head = moment.records[target]
        query: Json = {"target": target, "since": moment.seq}
        tail = unchecked(shared_client.get(SESSION_RENDER, params=query), target)
        if [tail["sinceHash"]] != head["prefixHash"][-1:]:
            assert not moment.is_closed or not head["messages"]
            continue
        joined = [*head["messages"], *tail["messages"]]
        if target in SIDES:
            joined = side_by_side(SIDES[target], head["messages"], tail["messages"])
        assert joined == whole["messages"]


def test_hash_changes_with_what_is_before_and_marks_cannot_stand_in_a_part(
    client: httpx.Client,
) -> None:
    say(client, "system", "Be brief.")
    say(client, "user", "Look.")
    calling(client, ("call_1", "camera"))
    images = {"content": [image_block(PICTURES[0])]}
    call_tool(client, "call_1", images)
    last = rendering(client, SESSION_RENDER, "anthropic", maxImages=1)
    assert (len(last["messages"]), last["lastSeq"]) == (3, 4)
    same = rendering(client, SESSION_RENDER, "anthropic", maxImages=1, since=4)
    assert same == {
        **{name: last[name] for name in ("target", "profile", "lastSeq")},
        **{"messages": [], "loss": [], "tokensEst": 0, "prefixHash": []},
        "sinceHash": last["prefixHash"][-1],
    }
    # The image of before is not shown any more.
    say(client, "user", [*images["content"]])
    assert rendering(client, SESSION_RENDER, "anthropic", since=4)["sinceHash"] == same["sinceHash"]
    fewer = rendering(client, SESSION_RENDER, "anthropic", maxImages=1, since=4)
    assert fewer["sinceHash"] != last["prefixHash"][-1]
    assert fewer["messages"][-1]["content"][0]["type"] == "image"
    query: Json = {"target": "anthropic", "since": 4, "cacheMarkers": 1}
    refused = client.get(SESSION_RENDER, params=query)
    assert (refused.status_code, refused.json()["errors"]) == (
        422,
        [{"pointer": "/since", "detail": "cannot stand beside cacheMarkers"}],
    )


@EVERY
def test_open_turn_waits_for_its_answers(client: httpx.Client, target: str) -> None:
    say(client, "user", "Look.")
    calling(client, ("call_1", "camera"), ("call_2", "look"))
    before = unchecked(client.get(SESSION_RENDER, params={"target": target}), target)
    say(client, "tool", "Second.", tool_call_id="call_2")
    say(client, "tool", "First.", tool_call_id="call_1")
    after = rendering(client, SESSION_RENDER, target)
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert NO_RESULT not in all_words(after)
    assert after["loss"] == []


@EVERY
def test_answer_stands_behind_its_call_whoever_spoke_between(
    client: httpx.Client, target: str
) -> None:
    calling(client, ("call_1", "camera"))
    say(client, "user", "Is it done?")
    call_tool(client, "call_1", {"content": [image_block(PICTURES[0])]})
    read = all_words(rendering(client, SESSION_RENDER, target))
    assert read.count(NO_RESULT) == 1
    assert read.index(NO_RESULT) < read.index("Is it done?")


@EVERY
def test_host_that_stores_results_only_has_a_conversation(
    client: httpx.Client, target: str
) -> None:
    for number in range(3):
        result = {"content": [{"type": "text", "text": f"Shot {number}."}]}
        call_tool(client, f"call_{number}", result)
    record = rendering(client, SESSION_RENDER, target)
    read = all_words(record)
    places = [read.index(f"Shot {number}.") for number in range(3)]
    assert places == sorted(places)
    assert [
        (
            entry["seq"],
            entry["pointer"],
            entry["from"],
            entry["to"],
            entry["code"],
            entry["restore"],
        )
        for entry in record["loss"]
    ] == [
        *beginning(target),
        *(
            (seq, "", "nothing", "call", "no-call", f"GET /api/sessions/s/messages/{seq}")
            for seq in (1, 2, 3)
        ),
    ]


@EVERY
def test_result_that_is_stored_before_its_call_stands_behind_it(
    client: httpx.Client, target: str
) -> None:
    say(client, "user", "Look.")
    call_tool(client, "call_1", {"content": [{"type": "text", "text": "A fox."}]})
    calling(client, ("call_1", "camera"))
    read = ""
    for said in ("It is a fox.", "Thanks."):
        record = rendering(client, SESSION_RENDER, target)
        read = all_words(record)
        assert (read.count("A fox."), NO_RESULT in read, record["loss"]) == (1, False, [])
        tail = rendering(client, SESSION_RENDER, target, since=2)
        assert all_words(tail).count("A fox.") == 1
        say(client, "assistant", said)
    assert read.index("A fox.") < read.index("It is a fox.")


@EVERY
def test_loss_says_what_was_written_for_a_provider(client: httpx.Client, target: str) -> None:
    calling(client, ("call_1", "camera"))
    say(client, "user")
    call_tool(client, "call_1", {"content": [{"type": "text", "text": "A fox."}]})
    record = rendering(client, SESSION_RENDER, target)
    assert (all_words(record).count(NO_RESULT), all_words(record).count("A fox.")) == (1, 1)
    needs_reply = TARGETS[target].has_assistant_after_results
    assert [(entry["seq"], entry["to"], entry["code"]) for entry in record["loss"]] == [
        *((seq, to, code) for seq, _, _, to, code, _ in beginning(target)),
        (1, "answer", "no-answer"),
        *([(2, "line", "no-reply")] if needs_reply else []),
        (3, "call", "late-answer"),
    ]


@EVERY
def test_loss_names_the_line_before_what_the_system_says_late(
    client: httpx.Client, target: str
) -> None:
    say(client, "user", "Look.")
    say(client, "system", "Be brief.")
    record = rendering(client, SESSION_RENDER, target)
    is_written = "[Said by the system, not by the user:]" in all_words(record)
    assert is_written is not TARGETS[target].allows_late_system
    assert [
        (entry["seq"], entry["from"], entry["to"], entry["code"]) for entry in record["loss"]
    ] == [(2, "nothing", "line", "late-system")] * is_written


def test_open_call_is_rendered_without_an_answer(client: httpx.Client) -> None:
    say(client, "user", "Look.")
    calling(client, ("call_1", "camera"))
    answered = client.get(SESSION_RENDER, params={"target": "openai-chat"})
    assert unchecked(answered, "openai-chat")["messages"] == [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "camera", "arguments": '{"n":1}'},
                }
            ],
        },
    ]


# Of these, messages have a form that the requests of the target have as well, and keep it.
_KEEP_THEIR_FORM: Mapping[str, frozenset[str]] = {
    "openai-chat": frozenset({"openai", "anthropic", "vercel"}),
    "openai-responses": frozenset({"openai", "langchain"}),
    "anthropic": frozenset({"openai", "langchain"}),
    "gemini": frozenset({"gemini"}),
    "vercel": frozenset({"anthropic", "vercel"}),
    "vercel-6": frozenset({"anthropic", "vercel"}),
}


def _units(messages: list[Json]) -> list[Unit]:
    """Return the words, media, calls and answers of messages, with their roles, in order."""
    units = split_into_units(read_messages(messages).turns, 0)
    return [unit._replace(pointer="") for unit in units]


@pytest.fixture(scope="module")
def client_of_dialects(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project with a session in each dialect."""
    with service.client() as client:
        for name, messages in DIALECTS.items():
            for message in messages:
                stored = append(client, session_id=name, **message)
                assert stored.status_code == 201, (name, stored.text[:500])
        yield client


@EVERY
def test_every_dialect_is_rendered_alike(client_of_dialects: httpx.Client, target: str) -> None:
    messages, units = {}, {}
    for name in DIALECTS:
        answer = client_of_dialects.get(f"/api/sessions/{name}/render", params={"target": target})
        # What is at home is written as it was sent, so that calls of Gemini have no signature.
        is_unsigned = name == target == "gemini"
        record = unchecked(answer, target) if is_unsigned else read_rendering(answer, target)
        messages[name] = record["messages"]
        units[name] = (_units(record["messages"]), record.get("system"), record["tokensEst"])
        assert shows(record, IMAGE) == (target != "text")
    assert units == dict.fromkeys(DIALECTS, units["openai"])
    written = DIALECTS.keys() - _KEEP_THEIR_FORM.get(target, frozenset())
    alike = messages["bedrock"]
    assert {name: messages[name] for name in written} == dict.fromkeys(written, alike)


@EVERY
def test_files_of_an_interaction_are_shown(client: httpx.Client, target: str) -> None:
    files = [upload(client, PDF, filename="a.pdf"), upload(client, CSV, filename="b.csv")]
    ask(client, rich(*(file["uri"] for file in files)))
    record = rendering(client, SESSION_RENDER, target)
    place = "/interaction/input/parts/0/attachments"
    takes = [TARGETS[target].find_media_rule(kind) for kind in ("binary", "text")]
    types = ["application/pdf", "text/csv"]
    taken = [
        bool(rule and rule.accepts_type(mime_type))
        for rule, mime_type in zip(takes, types, strict=True)
    ]
    words = ["placeholder", "placeholder" if target == "text" else "text"]
    assert [shows(record, content) for content in (PDF, CSV)] == taken
    assert steps(record) == [
        (f"{place}/{index}", "original", words[index], "type-not-taken")
        for index in range(2)
        if not taken[index]
    ]
    assert ("a,b\n1,2" in all_words(record)) == (target != "text" and not taken[1])


def test_file_in_use_stays_where_it_is_shown(client: httpx.Client) -> None:
    attached = upload(client, CSV, filename="b.csv")["uri"]
    ask(client, rich(attached))
    before = rendering(client, SESSION_RENDER, "mcp")
    assert client.delete(f"/api/resources/{attached}").status_code == 409
    assert rendering(client, SESSION_RENDER, "mcp") == before
    assert shows(before, CSV)


def test_oldest_media_step_down_first_and_keep_their_captions(client: httpx.Client) -> None:
    for number, picture in enumerate(PICTURES):
        meta = {"caption": f"A fox, {number}."}
        call_tool(client, f"call_{number}", {"content": [image_block(picture, _meta=meta)]})
    sizes = [(len(picture) + 2) // 3 * 4 for picture in PICTURES]
    for kept in range(4):
        most = sum(sizes[3 - kept :])
        record = rendering(client, SESSION_RENDER, "anthropic", maxBytes=most)
        gone = range(3 - kept)
        assert [shows(record, picture) for picture in PICTURES] == [
            number not in gone for number in range(3)
        ]
        assert [
            (entry["seq"], entry["from"], entry["to"], entry["code"]) for entry in lost(record)
        ] == [(number + 1, "original", "caption", "request-too-large") for number in gone]
        assert [f"A fox, {number}." in all_words(record) for number in range(3)] == [
            number in gone for number in range(3)
        ]


def test_only_the_newest_images_stay(client: httpx.Client) -> None:
    for number, picture in enumerate(PICTURES):
        call_tool(client, f"call_{number}", {"content": [image_block(picture)]})
    for most in range(4):
        record = rendering(client, SESSION_RENDER, "gemini", maxImages=most)
        assert [shows(record, picture) for picture in PICTURES] == [
            number >= 3 - most for number in range(3)
        ]
        assert [(entry["seq"], entry["code"]) for entry in lost(record)] == [
            (number + 1, "too-many-media") for number in range(3 - most)
        ]


def test_transcript_is_read_where_sound_is_not_taken(client: httpx.Client) -> None:
    sound = {
        "type": "audio",
        "data": image_block(media.wav())["data"],
        "mimeType": "audio/wav",
        "_meta": {"transcript": "Hello there."},
    }
    call_tool(client, "call_1", {"content": [sound]})
    record = rendering(client, SESSION_RENDER, "gemini")
    read = rendering(client, SESSION_RENDER, "anthropic")
    assert (shows(record, media.wav()), lost(record)) == (True, [])
    assert steps({"loss": lost(read)}) == [
        ("/sanitized/parts/0", "original", "transcript", "type-not-taken")
    ]
    assert "transcript below]\nHello there." in all_words(read)


@EVERY
def test_image_of_an_error_is_shown(client: httpx.Client, target: str) -> None:
    message = {"type": "text", "text": "It broke."}
    call_tool(client, "call_1", {"content": [message, image_block(PICTURES[0])], "isError": True})
    record = rendering(client, SESSION_RENDER, target)
    assert "It broke." in all_words(record)
    assert shows(record, PICTURES[0]) == (target != "text")


def test_conditions_follow_the_history(client: httpx.Client) -> None:
    say(client, "user")
    query = {"target": "text"}
    first = client.get(SESSION_RENDER, params=query)
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get(SESSION_RENDER, params=query, headers=known).status_code == 304
    say(client, "user")
    second = client.get(SESSION_RENDER, params=query, headers=known)
    assert (second.status_code, second.headers["etag"] != first.headers["etag"]) == (200, True)


def test_session_without_entries_is_rendered_empty(client: httpx.Client) -> None:
    assert client.put("/api/sessions/s").status_code == 201
    for target in TARGETS:
        record = rendering(client, SESSION_RENDER, target)
        assert (record["messages"], record["loss"], record["tokensEst"]) == ([], [], 0)


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_session_that_is_deleted_meanwhile_is_rendered_or_not_there(service: LiveService) -> None:
    large = image_block(media.png(9_000, 200))
    picture = file_block("a.bmp", media.image("BMP", 400, 300), "image/bmp")

    def asking(key: str, number: int) -> Callable[[str], httpx.Response]:
        def ask_for(target: str) -> httpx.Response:
            with service.client(key) as client:
                path = f"/api/sessions/s{number}/render"
                return client.get(path, params={"target": target})

        return ask_for

    key = service.new_key()
    seen: set[int] = set()
    with service.client(key) as client, ThreadPoolExecutor(4) as pool:
        for number in range(3):
            for call in range(3):
                result = {"content": [large, picture, {"type": "text", "text": str(number)}]}
                call_tool(client, f"call_{call}", result, session_id=f"s{number}")
            answers = [
                pool.submit(asking(key, number), target)
                for target in ("anthropic", "bedrock", "gemini", "mcp")
            ]
            assert client.delete(f"/api/sessions/s{number}").status_code == 200
            answers.append(pool.submit(asking(key, number), "openai-chat"))
            for answered in (item.result() for item in answers):
                seen.add(answered.status_code)
                if answered.status_code == 200:
                    unchecked(answered, answered.json()["target"])
    assert seen <= {200, 404}
    assert 404 in seen


def test_rendering_by_body_is_that_of_the_address(
    shared_client: httpx.Client, talked: Sequence[Moment]
) -> None:
    half = talked[len(talked) // 2].seq
    options: list[Json] = [
        {},
        {"since": half},
        {"maxImages": 1, "since": 1},
        {"media": "reference"},
    ]
    for body in options:
        query = {"target": "openai-responses", **body}
        by_address = shared_client.get(SESSION_RENDER, params=query)
        by_body = shared_client.post("/api/render", json={"sessionId": "s", **query})
        assert by_body.content == by_address.content
        assert by_body.headers["etag"] == by_address.headers["etag"]
        read_rendering(by_body, "openai-responses")


@EVERY
def test_calls_without_a_result_at_the_end_are_listed(client: httpx.Client, target: str) -> None:
    say(client, "user", "Look.")
    calling(client, ("c1", "camera"), ("c2", "camera"))
    call_tool(client, "c1")
    answer = client.get(SESSION_RENDER, params={"target": target})
    assert unchecked(answer, target)["openCalls"] == [TARGETS[target].call_id.fit("c2")]
    call_tool(client, "c2")
    assert "openCalls" not in rendering(client, SESSION_RENDER, target)
