"""Access: keys and projects, and what a key reveals about other projects."""

import hashlib
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import psycopg
import psycopg.sql
import pytest
from pydantic import ValidationError

from app.config.settings import Settings
from app.models.project import new_api_key
from app.wiring.stores import open_access
from tests.kit.described_api import api_document
from tests.kit.event_streams import listening
from tests.kit.media import png
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import LiveService, serving

JSON = {"Content-Type": "application/json"}
UPLOADS = {
    "Tus-Resumable": "1.0.0",
    "Content-Type": "application/offset+octet-stream",
    "Upload-Offset": "0",
}
ABSENT = {
    "uri": "0" * 32,
    "tool_result_id": "01900000-0000-7000-8000-000000000000",
    "session_id": "s-absent",
    "page_id": "p-absent",
    "level": "2",
    "seq": "1",
    "interaction_id": "01900000-0000-7000-8000-000000000000",
    "upload_id": "01900000-0000-7000-8000-000000000000",
    "alias": "a-absent",
    "address": f"sha256-{'0' * 64}",
}
BODIES: dict[tuple[str, str], object] = {
    ("POST", "/api/tool-results"): {"toolName": "t", "toolCallId": "c", "result": 1},
    ("POST", "/api/resolve"): {"arguments": 1, "sessionId": "s"},
    ("POST", "/api/render"): {"target": "text", "sessionId": "s-absent"},
    ("POST", "/api/sessions/{session_id}/render"): {"target": "text", "frontier": "main"},
    ("PUT", "/api/aliases/{alias}"): {"uri": "0" * 32},
    ("PATCH", "/api/sessions/{session_id}"): {"pinned": True},
    ("POST", "/api/pages"): {"content": "x"},
    ("POST", "/api/pages/bulk"): {"pages": [{"content": "x"}]},
    ("PUT", "/api/pages/{page_id}"): {"content": "x"},
    ("PATCH", "/api/pages/{page_id}"): {"hint": "x"},
    ("PUT", "/api/pages/{page_id}/representations/{level}"): {"content": "x"},
    ("POST", "/api/pages/{page_id}/fault"): {"session_id": "s", "tool_call_id": "c"},
    ("POST", "/api/sessions/{session_id}/messages"): {"role": "user"},
    ("PUT", "/api/sessions/{session_id}/history"): [{"role": "user", "content": "x"}],
    ("POST", "/api/sessions/{session_id}/fork"): {"upTo": 0, "as": "s-fork"},
    ("POST", "/api/sessions/{session_id}/interactions"): {"input": "x"},
    ("PUT", "/api/sessions/{session_id}/interactions/{interaction_id}/output"): {
        "role": "assistant",
        "content": "x",
    },
    ("POST", "/api/sessions/{session_id}/turns"): {
        "entries": [{"message": {"role": "user", "content": "x"}}]
    },
    ("POST", "/api/sessions/{session_id}/tool-calls"): {
        "target": "text",
        "id": "c",
        "name": "page_fault",
        "arguments": {"page_id": "p-theirs"},
    },
}
"""The JSON bodies of the routes that accept one."""
QUERIES: dict[str, dict[str, str]] = {
    "/api/tool-results/{tool_result_id}/render": {"target": "text"},
    "/api/sessions/{session_id}/render": {"target": "text"},
    "/api/sessions/{session_id}/working-set": {"target": "text"},
    "/api/sessions/{session_id}/transcript": {"host": "codex"},
}
"""The required query parameters of the routes."""
ROUTES = sorted(
    (method.upper(), path)
    for path, operations in api_document()["paths"].items()
    for method in operations
    if path.startswith(("/api/", "/v1/"))
)
CREATING = ("PUT", "/api/pages/{page_id}")
"""Makes what is not there, in the own project: a foreign page is no obstacle, and no 404."""
CREATING_ALIASES = ("PUT", "/api/aliases/{alias}")
"""Return whether an alias of another project leaves its name free."""
CREATING_SESSIONS = [
    ("PUT", "/api/sessions/{session_id}"),
    ("POST", "/api/sessions/{session_id}/messages"),
    ("PUT", "/api/sessions/{session_id}/history"),
    ("POST", "/api/sessions/{session_id}/interactions"),
    ("POST", "/api/sessions/{session_id}/turns"),
    ("POST", "/api/sessions/{session_id}/tool-calls"),
]
"""Return whether a session of another project leaves its name free; the first write creates one."""
STREAM = ("GET", "/api/sessions/{session_id}/events")
"""Waits for what is written to a session that may begin any time, and has no end."""
ROUTES_OF_ONE_THING = [
    route
    for route in ROUTES
    if "{" in route[1] and route not in (CREATING, CREATING_ALIASES, *CREATING_SESSIONS, STREAM)
]
# The last one is the name of a protocol, which all answers about uploads have alike.
VOLATILE_HEADERS = ("date", "x-request-id", "tus-resumable")


@dataclass(frozen=True)
class Seen:
    """All of an answer that a caller could compare with another's."""

    status: int
    headers: list[tuple[str, str]]
    body: object


def send(
    client: httpx.Client, route: tuple[str, str], ids: dict[str, str], **headers: str
) -> httpx.Response:
    method, path = route
    body = json.dumps(BODIES[route]).encode() if route in BODIES else None
    return client.request(
        method,
        path.format(**ids),
        params=QUERIES.get(path) if method == "GET" else None,
        content=body,
        headers={**(JSON if body else {}), **(UPLOADS if "uploads" in path else {}), **headers},
    )


def seen(answer: httpx.Response, ids: dict[str, str] = ABSENT) -> Seen:
    """Return an answer without the ids of its request."""
    text = answer.text.replace(ids["page_id"], "{page_id}")
    body = json.loads(text) if text else None
    if isinstance(body, dict):
        body = {key: body[key] for key in body if key not in ("requestId", "instance")}
    headers = [(k, v) for k, v in answer.headers.items() if k not in VOLATILE_HEADERS]
    return Seen(answer.status_code, headers, body)


def less_length(answer: Seen) -> Seen:
    """Return an answer without its length, and without OpenAI's `error`, which only `/v1` has."""
    headers = [header for header in answer.headers if header[0] != "content-length"]
    body = answer.body
    if isinstance(body, dict):
        body = {key: body[key] for key in body if key != "error"}
    return Seen(answer.status, headers, body)


def revoked_key(service: LiveService) -> str:
    key = service.new_key()

    async def revoke() -> bool:
        async with open_access(service.settings) as access:
            return await access.revoke_key(key.split("_")[1])

    assert anyio.run(revoke)
    return key


@pytest.fixture(scope="module")
def authorizations(service: LiveService) -> dict[str, str]:
    """Everything that is no key, as the value of an Authorization header."""
    good = service.new_key()
    key_id = good.split("_")[1]
    wrong_secret = f"pf_{key_id}_{'a' * 32}"
    return {
        "malformed": "Bearer pf_nonsense",
        "wrong checksum": f"Bearer {good[:-1]}{'0' if good[-1] != '0' else '1'}",
        "wrong secret": f"Bearer {wrong_secret}_{zlib.crc32(wrong_secret.encode()):08x}",
        "unknown": f"Bearer {new_api_key()}",
        "revoked": f"Bearer {revoked_key(service)}",
        "other scheme": f"Basic {good}",
        "no scheme": good,
        "empty": "Bearer",
        "two keys": f"Bearer {good} {good}",
        "upper case": f"Bearer {good.upper()}",
        "long": "Bearer " + "x" * 8_000,
    }


@pytest.fixture(scope="module")
def anyone(service: LiveService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.base_url, trust_env=False, verify=TRUSTS_NOBODY) as client:
        yield client


@pytest.mark.slow
@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#links-and-keys",
    "Every invalid key is refused alike, on every route",
    kept_by="app/services/access/callers.py",
    tried="63 routes with 11 keys",
)
def test_routes_refuse_every_bad_key_alike(
    anyone: httpx.Client, authorizations: dict[str, str]
) -> None:
    different: dict[tuple[tuple[str, str], str], int] = {}
    for route in ROUTES:
        without = send(anyone, route, ABSENT)
        assert without.status_code == 401, route
        assert without.headers["www-authenticate"] == "Bearer"
        assert without.headers["content-type"] == "application/problem+json"
        different |= {
            (route, name): answer.status_code
            for name, value in authorizations.items()
            if seen(answer := send(anyone, route, ABSENT, Authorization=value)) != seen(without)
        }
    assert different == {}


@pytest.mark.slow
def test_all_routes_refuse_with_one_body(anyone: httpx.Client) -> None:
    answers = [less_length(seen(send(anyone, r, ABSENT))) for r in ROUTES if r[0] != "HEAD"]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_scheme_is_taken_in_any_case(service: LiveService, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {service.new_key()}"}
    answer = httpx.get(
        f"{service.base_url}/api/resources", headers=headers, trust_env=False, verify=TRUSTS_NOBODY
    )
    assert answer.status_code == 200


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A revoked key is refused at the next request",
    kept_by="app/services/access/callers.py",
    tried="1 revocation",
)
def test_revoked_key_is_refused_at_once(service: LiveService) -> None:
    key = service.new_key()

    async def revoke() -> None:
        async with open_access(service.settings) as access:
            assert await access.revoke_key(key.split("_")[1])
            assert not await access.revoke_key(key.split("_")[1])

    with service.client(key) as client:
        before = client.get("/api/resources").status_code
        anyio.run(revoke)
        after = client.get("/api/resources").status_code
    assert (before, after) == (200, 401)


@pytest.mark.promise(
    "security.md#links-and-keys",
    (
        "The secret of a key is not stored: its SHA-256 is, looked up by the key's id and "
        "compared in constant time"
    ),
    kept_by="app/models/project.py",
    tried="0 files; 0 rows of PostgreSQL",
)
def test_secret_of_a_key_is_not_kept(service: LiveService) -> None:
    secret = service.new_key().split("_")[2]

    async def kept() -> str:
        async with open_access(service.settings) as access:
            return repr(await access.list_keys())

    # In a process of its own: one that closes a database's file lets go of all its locks on it.
    folder = service.settings.data_dir
    found = subprocess.run(  # noqa: S603 - our own words
        ["/bin/grep", "--recursive", "--fixed-strings", "--files-with-matches", secret, folder],
        capture_output=True,
        check=False,
    )
    assert secret not in anyio.run(kept)
    assert service.settings.db.url is None or secret not in whole_database(service.settings)
    assert (found.returncode, found.stdout, found.stderr) == (1, b"", b"")


def whole_database(settings: Settings) -> str:
    """Every row of every table of a PostgreSQL database."""
    assert settings.db.url is not None
    with psycopg.connect(settings.db.url.get_secret_value()) as connection:
        names = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        tables = [
            psycopg.sql.SQL("SELECT t::text FROM {} t").format(psycopg.sql.Identifier(name))
            for (name,) in names
        ]
        rows = [row for table in tables for row in connection.execute(table)]
    assert any("api_keys" in name for (name,) in names)
    return "\n".join(text for (text,) in rows)


@dataclass(frozen=True)
class Neighbours:
    """A project with something in it, and another one that asks for it."""

    ids: dict[str, str]
    etags: list[str]
    owner: httpx.Client
    stranger: httpx.Client


@pytest.fixture(scope="module")
def neighbours(service: LiveService) -> Iterator[Neighbours]:
    with service.client() as owner, service.client() as stranger:
        text = {"Content-Type": "text/plain"}
        resource = owner.post("/api/resources", content=b"theirs", headers=text)
        body = {"toolName": "t", "toolCallId": "c", "result": 1, "sessionId": "s-theirs"}
        record = owner.post("/api/tool-results", json=body)
        page = owner.put("/api/pages/p-theirs", json={"content": "theirs", "hint": "theirs"})
        level = owner.put("/api/pages/p-theirs/representations/2", json={"content": "their"})
        response = owner.post("/api/sessions/s-theirs/interactions", json={"input": "theirs"})
        upload = owner.post("/api/uploads", headers={**UPLOADS, "Upload-Length": "1"})
        ids = {
            "uri": resource.headers["location"].rpartition("/")[2],
            "tool_result_id": record.json()["id"],
            "session_id": body["sessionId"],
            "page_id": "p-theirs",
            "level": "2",
            "seq": "1",
            "interaction_id": response.json()["id"],
            "upload_id": upload.headers["location"].rpartition("/")[2],
            "alias": "a-theirs",
            "address": f"sha256-{hashlib.sha256(b'theirs').hexdigest()}",
        }
        alias = owner.put("/api/aliases/a-theirs", json={"uri": resource.json()["uri"]})
        content = owner.head(f"{resource.headers['location']}/content")
        lines = owner.get(f"{resource.headers['location']}/text")
        download = owner.head("/api/pages/p-theirs/download")
        rendered = owner.get("/api/pages/p-theirs/render")
        told = (resource, record, content, lines, page, level, download, rendered, response, alias)
        etags = [answer.headers["etag"] for answer in told]
        yield Neighbours({k: str(v) for k, v in ids.items()}, etags, owner, stranger)


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#other-projects-data",
    "What belongs to another project is answered like what does not exist: status, headers, body",
    kept_by="app/stores/records/scope.py",
    tried="47 routes with 4 conditions",
)
@pytest.mark.parametrize("condition", ["none", "If-None-Match", "If-Match", "Range"])
def test_foreign_thing_answers_as_an_absent_one(neighbours: Neighbours, condition: str) -> None:
    value = "bytes=0-0" if condition == "Range" else ", ".join([*neighbours.etags, "*"])
    headers = {} if condition == "none" else {condition: value}
    different = []
    for route in ROUTES_OF_ONE_THING:
        foreign = send(neighbours.stranger, route, neighbours.ids, **headers)
        absent = send(neighbours.stranger, route, ABSENT, **headers)
        if foreign.status_code != 404 or seen(foreign, neighbours.ids) != seen(absent):
            different.append((route, foreign.status_code, absent.status_code))
    assert different == []


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A page id that another project uses is free",
    kept_by="app/stores/records/scope.py",
    tried="3 conditions",
)
@pytest.mark.parametrize(("condition", "status"), [("none", 201), ("*", 201), ("etag", 412)])
def test_id_of_a_foreign_page_is_free(
    neighbours: Neighbours, service: LiveService, condition: str, status: int
) -> None:
    name = "If-Match" if condition == "etag" else "If-None-Match"
    value = ", ".join(neighbours.etags) if condition == "etag" else "*"
    headers = {} if condition == "none" else {name: value}
    with service.client() as stranger:
        foreign = send(stranger, CREATING, neighbours.ids, **headers)
        absent = send(stranger, CREATING, ABSENT, **headers)
    assert (foreign.status_code, absent.status_code) == (status, status)
    assert neighbours.owner.get("/api/pages/p-theirs").json()["content"] == "theirs"


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A session id that another project uses is free",
    kept_by="app/stores/records/scope.py",
    tried="every route that makes one",
)
@pytest.mark.parametrize("route", CREATING_SESSIONS, ids=" ".join)
def test_id_of_a_foreign_session_is_free(
    neighbours: Neighbours, service: LiveService, route: tuple[str, str]
) -> None:
    before = neighbours.owner.get("/api/sessions/s-theirs").content
    with service.client() as stranger:
        foreign = send(stranger, route, neighbours.ids)
        absent = send(stranger, route, ABSENT)
        found = stranger.get("/api/sessions/s-theirs").json()
    kind = route[1].rpartition("/")[2]
    status = 200 if kind in ("turns", "tool-calls", "history") else 201
    assert (foreign.status_code, absent.status_code) == (status, status)
    assert found["lastSeq"] == {"{session_id}": 0, "tool-calls": 2}.get(kind, 1)
    assert neighbours.owner.get("/api/sessions/s-theirs").content == before


@pytest.mark.promise(
    "security.md#other-projects-data",
    "The stream of another project's session is that of one that does not exist",
    kept_by="app/services/events/stream.py",
    tried="6 places",
)
@pytest.mark.parametrize("place", [None, 0, 1, 2, 3, 2**40])
def test_stream_of_a_foreign_session_is_that_of_an_absent_one(
    neighbours: Neighbours, place: int | None
) -> None:
    def first(ids: dict[str, str]) -> tuple[object, ...]:
        path = STREAM[1].format(**ids)
        with listening(neighbours.stranger, path, last_event_id=place) as stream:
            headers = [header for header in stream.headers if header[0] not in VOLATILE_HEADERS]
            return stream.status, headers, stream.some(1 if place else 0), stream.opening

    assert first(neighbours.ids) == first(ABSENT)


def test_foreign_things_are_still_there(neighbours: Neighbours) -> None:
    # The resource is no video, so nobody has a poster of it.
    reads = [r for r in ROUTES_OF_ONE_THING if r[0] == "GET" and not r[1].endswith("/poster")]
    assert [send(neighbours.owner, r, neighbours.ids).status_code for r in reads] == [200] * len(
        reads
    )


@pytest.mark.promise(
    "security.md#other-projects-data",
    "Lists contain nothing of another project",
    kept_by="app/stores/records/scope.py",
    tried="7 lists",
)
def test_lists_hold_nothing_of_another_project(neighbours: Neighbours) -> None:
    empty: dict[str, object] = {"items": [], "nextCursor": None}
    paths = [
        "/api/tool-results",
        "/api/resources",
        "/api/tool-results?sessionId=s-theirs",
        "/api/aliases",
        "/api/pages",
        "/api/pages/search?q=theirs",
        "/api/sessions",
        "/api/sessions?q=theirs",
    ]
    assert [neighbours.stranger.get(path).json() for path in paths] == [empty] * len(paths)


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A cursor of another project lists only the caller's own entries",
    kept_by="app/stores/records/scope.py",
    tried="1 list",
)
def test_cursor_of_another_project_shows_only_ones_own(service: LiveService) -> None:
    with service.client() as owner, service.client() as stranger:
        for number in range(3):
            owner.post("/api/resources", content=bytes([number]))
        cursor = owner.get("/api/resources?limit=1").json()["nextCursor"]
        answer = stranger.get("/api/resources", params={"cursor": cursor})
    assert answer.json() == {"items": [], "nextCursor": None}


@pytest.mark.promise(
    "security.md#other-projects-data",
    "The same bytes in another project are answered as new",
    kept_by="app/services/resources/resources.py",
    tried="201 for both",
)
def test_same_bytes_in_another_project_are_new_there(service: LiveService) -> None:
    with service.client() as first, service.client() as second:
        answers = [client.post("/api/resources", content=png()) for client in (first, second)]
    assert [answer.status_code for answer in answers] == [201, 201]
    resources = [answer.json() for answer in answers]
    assert resources[0]["uri"] != resources[1]["uri"]
    assert resources[0]["digest"] == resources[1]["digest"]


def test_without_authentication_all_is_in_the_default_project(settings: Settings) -> None:
    with serving(settings) as service:
        default_key, other_key = service.new_key("default"), service.new_key("other")
    with serving(settings.model_copy(update={"auth": "none"})) as service:
        route = f"{service.base_url}/api/resources"
        uri = httpx.post(route, content=png(), trust_env=False, verify=TRUSTS_NOBODY).json()["uri"]
        bad_key = httpx.get(
            route, headers={"Authorization": "Bearer x"}, trust_env=False, verify=TRUSTS_NOBODY
        )
    with (
        serving(settings) as service,
        service.client(default_key) as default,
        service.client(other_key) as other,
    ):
        statuses = [c.get(f"/api/resources/{uri}").status_code for c in (default, other)]
    assert bad_key.status_code == 200
    assert statuses == [200, 404]


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The service does not listen beyond loopback without authentication",
    kept_by="app/config/settings.py",
    tried="6 hosts",
)
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "", "1"])  # noqa: S104 - to be refused
def test_listening_beyond_loopback_without_authentication_is_refused(
    host: str, tmp_path: Path
) -> None:
    with pytest.raises(ValidationError, match="without authentication is refused"):
        Settings(host=host, auth="none", data_dir=tmp_path)
    assert Settings(host=host, auth="api-key", data_dir=tmp_path).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_authentication(host: str, tmp_path: Path) -> None:
    assert Settings(host=host, auth="none", data_dir=tmp_path).host == host


def test_routes_are_those_this_test_has_ids_for() -> None:
    names = {name for _, path in ROUTES for name in re.findall(r"{(\w+)}", path)}
    assert names == set(ABSENT)
