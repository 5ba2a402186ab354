"""Access to events: tickets instead of keys, revoked keys, and separate projects."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
import httpx
import pytest

from app.models.identity import utc_now
from app.services.access.callers import Caller, LinkSigner, SigningKey
from app.wiring.open_stores import read_signing_keys
from app.wiring.stores import open_access
from tests.contract.page_requests import outcome
from tests.contract.session_requests import append, upload
from tests.kit.event_streams import heard, listening, log_of, ticket_of
from tests.kit.listening_sockets import TRY_AGAIN_LATER, closed, read_event, refusal, socket_of
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

PROJECT = "/api/events"
SESSION = "/api/sessions/s/events"
# What is promised, and what a busy machine may take on top of it.
CUT_OFF_SECONDS = 5.0 + 5.0
UNAUTHORIZED = (401, "unauthorized")


@dataclass(frozen=True)
class Keys:
    """A project of its own with two keys, and who shows them."""

    service: LiveService
    project_id: str
    first: httpx.Client
    second: httpx.Client

    def caller(self, client: httpx.Client) -> Caller:
        """Return the claims of a client's ticket."""
        key_id = client.headers["authorization"].split("_")[1]
        return Caller(self.project_id, key_id)

    def signer(self) -> LinkSigner:
        """The signing keys of the service."""
        return LinkSigner(read_signing_keys(self.service.settings))

    def ticket(self, caller: Caller, seconds: float) -> str:
        """A ticket that ends so many seconds from now."""
        return self.signer().sign_ticket(caller, utc_now() + timedelta(seconds=seconds))

    def revoke_first(self) -> None:
        """Revoke the first key, in another process's stead."""

        async def revoke() -> bool:
            async with open_access(self.service.settings) as access:
                return await access.revoke_key(str(self.caller(self.first).key_id))

        assert anyio.run(revoke)


@pytest.fixture
def keys(service: LiveService) -> Iterator[Keys]:
    project_id = f"p-{secrets.token_hex(6)}"
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(service.client(service.new_key(project_id))) for _ in range(2)
        )
        yield Keys(service, project_id, first, second)


def refused(client: httpx.Client, ticket: str) -> set[tuple[int, str]]:
    """Return the answers of the three event routes to a ticket without a key."""
    with httpx.Client(base_url=client.base_url, trust_env=False) as anyone:
        answers = {outcome(anyone.get(p, params={"ticket": ticket})) for p in (PROJECT, SESSION)}
    return answers | {refusal(client, f"?ticket={ticket}", Authorization=None)}


def test_ticket_is_made_for_a_minute_and_kept_by_nobody(keys: Keys) -> None:
    before = utc_now()
    made = keys.first.post("/api/events/ticket")
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert list(made.json()) == ["ticket", "expiresAt"]
    expires_at = datetime.fromisoformat(made.json()["expiresAt"])
    assert timedelta(seconds=58) < expires_at - before <= timedelta(seconds=61)
    ours = keys.signer().verify_ticket(made.json()["ticket"], before)
    assert ours == keys.caller(keys.first)
    assert keys.first.headers["authorization"].split("_")[2] not in made.text


def test_ticket_listens_without_a_key(keys: Keys) -> None:
    append(keys.first, content="x")
    ticket = ticket_of(keys.first)
    with (
        listening(keys.first, PROJECT, after=0, ticket=ticket) as of_project,
        listening(keys.first, SESSION, last_event_id=0, ticket=ticket) as of_session,
        socket_of(keys.first, f"?after=0&ticket={ticket}", Authorization=None) as socket,
    ):
        assert of_project.next() == of_session.next() == read_event(socket)
        append(keys.second, content="y")
        assert of_project.next() == of_session.next() == read_event(socket)


def test_stream_goes_on_behind_the_end_of_its_ticket(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = ticket_of(keys.first)
    with listening(keys.first, PROJECT, ticket=ticket) as stream:
        later = utc_now() + timedelta(seconds=61)
        monkeypatch.setattr("app.http.event_streams.utc_now", lambda: later)
        assert refused(keys.first, ticket) == {UNAUTHORIZED}
        append(keys.first, content="x")
        assert stream.next().event == "message:created"


def test_ticket_that_is_over_is_refused(keys: Keys) -> None:
    assert refused(keys.first, keys.ticket(keys.caller(keys.first), -1)) == {UNAUTHORIZED}


@pytest.mark.slow
def test_ticket_that_is_not_ours_is_refused(keys: Keys) -> None:
    good = ticket_of(keys.first)
    payload, _, mac = good.partition(".")
    caller = keys.caller(keys.first)
    later = caller, utc_now() + timedelta(minutes=1)
    forged = {
        "another secret": LinkSigner([SigningKey("k1", b"x" * 64)]).sign_ticket(*later),
        "another key": LinkSigner([SigningKey("x", b"x" * 64)]).sign_ticket(*later),
        "no mac": payload,
        "empty mac": f"{payload}.",
        "another mac": f"{payload}.{mac[:-1]}{'A' if mac[-1] != 'A' else 'B'}",
        "another payload": f"{payload[:-1]}{'A' if payload[-1] != 'A' else 'B'}.{mac}",
        "spelled otherwise": f"{payload}=.{mac}",
        "upper case": good.upper(),
        "empty": "",
        "not ascii": "\u00e9.\u00e9",
        "no JSON": "eA.eA",
        "no key": keys.ticket(Caller(caller.project_id), 60),
        "no such key": keys.ticket(Caller(caller.project_id, "0" * 16), 60),
        "the key itself": keys.first.headers["authorization"].removeprefix("Bearer "),
    }
    wrong = {name: refused(keys.first, value) for name, value in forged.items()}
    assert {name: value for name, value in wrong.items() if value != {UNAUTHORIZED}} == {}


def test_long_ticket_is_refused(keys: Keys) -> None:
    assert refused(keys.first, "x" * 2_049) == {(422, "invalid-payload")}


def test_bad_ticket_is_refused_though_the_key_is_good(keys: Keys) -> None:
    assert outcome(keys.first.get(PROJECT, params={"ticket": "x"})) == UNAUTHORIZED


def test_link_is_no_ticket_and_a_ticket_no_link(keys: Keys) -> None:
    uri = upload(keys.first, b"theirs")["uri"]
    linked = httpx.URL(keys.first.post(f"/api/resources/{uri}/signed-url").json()["url"])
    assert refused(keys.first, linked.params["token"]) == {UNAUTHORIZED}
    ticket = ticket_of(keys.first)
    with httpx.Client(base_url=keys.service.base_url, trust_env=False) as anyone:
        content = anyone.get(f"/api/resources/{uri}/content", params={"token": ticket})
        as_ticket = anyone.get(f"/api/resources/{uri}/content", params={"ticket": ticket})
        as_key = anyone.get("/api/resources", headers={"Authorization": f"Bearer {ticket}"})
    assert outcome(content) == (403, "invalid-link")
    assert (outcome(as_ticket), outcome(as_key)) == (UNAUTHORIZED, UNAUTHORIZED)


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A ticket permits nothing but streams of events",
    kept_by="app/services/access/callers.py",
    tried="4 routes",
)
def test_ticket_permits_nothing_but_to_listen(keys: Keys) -> None:
    ticket = {"ticket": ticket_of(keys.first)}
    with httpx.Client(base_url=keys.service.base_url, trust_env=False) as anyone:
        answers = [
            anyone.get("/api/sessions", params=ticket),
            anyone.get("/api/sessions/s/messages", params=ticket),
            anyone.post("/api/sessions/s/messages", params=ticket, json={"role": "user"}),
            anyone.post("/api/events/ticket", params=ticket),
        ]
    assert {outcome(answer) for answer in answers} == {UNAUTHORIZED}


@pytest.mark.promise(
    "security.md#other-projects-data",
    "Revoking a key ends the streams that it opened",
    kept_by="app/services/events/streams.py",
    tried="3 streams and a socket; each process looks every 2 s",
)
def test_revoked_key_ends_what_it_opened_and_nothing_else(keys: Keys) -> None:
    ticket = ticket_of(keys.first)
    with contextlib.ExitStack() as stack:
        own = [
            stack.enter_context(listening(keys.first, PROJECT)),
            stack.enter_context(listening(keys.first, SESSION)),
            stack.enter_context(listening(keys.first, PROJECT, ticket=ticket)),
        ]
        socket = stack.enter_context(socket_of(keys.first, "?after=0"))
        others = stack.enter_context(listening(keys.second, PROJECT))
        append(keys.second, content="before")
        assert {stream.next() for stream in [*own, others]} == {read_event(socket)}
        keys.revoke_first()
        assert [stream.rest(CUT_OFF_SECONDS) for stream in own] == [[], [], []]
        assert closed(socket) == TRY_AGAIN_LATER
        append(keys.second, content="after")
        assert others.next().told["message"]["content"] == "after"
    assert refused(keys.first, ticket) == {UNAUTHORIZED}
    assert outcome(keys.first.get(PROJECT)) == UNAUTHORIZED
    assert refusal(keys.first) == UNAUTHORIZED


@pytest.mark.promise(
    "security.md#other-projects-data",
    "No forged position gives access to another project's events",
    kept_by="app/services/events/feeds.py",
    tried="8 places and a socket, 0 foreign events",
)
def test_nothing_of_another_project_is_ever_heard(keys: Keys, client: httpx.Client) -> None:
    """The stranger listens from every place the owner has, and hears only what is its own."""
    for _ in range(3):
        append(keys.first, content="theirs")
    places = [(path, after) for path in (PROJECT, SESSION) for after in (0, 1, 2, 3)]
    with contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(listening(client, path, last_event_id=after))
            for path, after in places
        ]
        socket = stack.enter_context(socket_of(client, "?after=2"))
        append(keys.first, content="theirs")
        append(client, content="own")
        heard_first = [stream.next() for stream in streams]
        resets = [
            stream.next() for stream, (_, after) in zip(streams, places, strict=True) if after
        ]
        answers = [read_event(socket), read_event(socket)]
    expected = ["reset" if after else "message:created" for _, after in places]
    assert [block.event for block in heard_first] == expected
    own = [block for block in [*heard_first, *resets, *answers] if block.event != "reset"]
    assert {block.told["message"]["content"] for block in own} == {"own"}
    assert len(log_of(client)) == 1


def test_ticket_hears_its_own_project(keys: Keys, client: httpx.Client) -> None:
    append(keys.first, content="theirs")
    append(client, content="own")
    with listening(client, PROJECT, after=0, ticket=ticket_of(client)) as stream:
        assert [stream.next()] == heard(client, count=1)
