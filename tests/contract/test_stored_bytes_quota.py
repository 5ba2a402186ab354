"""The quota of bytes a project keeps, on both engines: every way in, races, ends of every kind."""

import base64
import contextlib
import itertools
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import anyio
import httpx
import pytest
from sqlalchemy import text

from app.config.settings import FetchSettings, QuotaSettings, Settings
from app.features import open_services
from app.services.maintenance.sweep import Sweep, SweepReport
from app.stores.records.records import Records
from app.stores.records.stored_blobs import StoredBlobRecords, StoredTotal
from app.wiring.stores import open_database
from tests.contract.bundled_sessions import SESSION, export, make_small_session, take_in
from tests.contract.page_requests import data_uri, outcome
from tests.contract.render_cases import image_block
from tests.contract.render_requests import rendering
from tests.contract.upload_requests import ROUTE as UPLOADS
from tests.contract.upload_requests import TUS, begin, checksum, offset_of, send
from tests.integration.sweep_stores import environment_of
from tests.kit.hostile_origin import PNG, HostileOrigin
from tests.kit.media import noise_bytes, png
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine, LiveService, serving

RESOURCES = "/api/resources"
QUOTA = 4_000_000
FULL = (507, "stored-bytes-quota")
RACING = 12
WAIT_SECONDS = 60.0
NOTHING = StoredTotal(0, 0)
_numbers = itertools.count()


@dataclass(frozen=True)
class Project:
    """A project of a service with a quota."""

    service: LiveService
    name: str
    client: httpx.Client

    def total(self) -> StoredTotal:
        """Return the stored bytes, and those of requests in progress."""
        return total_of(self.service.settings, self.name)

    def upload(self, data: bytes) -> httpx.Response:
        return self.client.post(RESOURCES, content=data)

    def listed(self) -> int:
        """Return the number of files."""
        return len(self.client.get(RESOURCES).json()["items"])

    def until(self, wanted: Callable[[StoredTotal], bool]) -> StoredTotal:
        """Wait until the stored bytes are as expected, and return them."""
        return until(self.service.settings, self.name, wanted)


def total_of(settings: Settings, project: str) -> StoredTotal:
    async def ask() -> StoredTotal:
        records = Records(open_database(settings))
        total = await records.write(project, lambda unit: unit[StoredBlobRecords].lock_total())
        await records.close()
        return total

    return anyio.run(ask)


def until(settings: Settings, project: str, wanted: Callable[[StoredTotal], bool]) -> StoredTotal:
    deadline = time.monotonic() + WAIT_SECONDS
    while not wanted(total := total_of(settings, project)):
        assert time.monotonic() < deadline, f"it stays {total}"
    return total


def sweep(settings: Settings) -> SweepReport:
    async def run() -> SweepReport:
        async with open_services(settings) as services:
            return await services[Sweep].run(0)

    return anyio.run(run)


def with_quota(settings: Settings, quota_bytes: int = QUOTA) -> Settings:
    quotas = QuotaSettings(stored_bytes=quota_bytes)
    return settings.model_copy(update={"quotas": quotas})


@contextlib.contextmanager
def project_of(service: LiveService, name: str | None = None) -> Iterator[Project]:
    name = name or f"p-{next(_numbers)}"
    with service.client(service.new_key(name)) as client:
        yield Project(service, name, client)


@pytest.fixture(scope="module")
def origin() -> Iterator[HostileOrigin]:
    with HostileOrigin() as origin:
        yield origin


@pytest.fixture(scope="module")
def limited(
    backends: Backends,
    engine: Engine,
    origin: HostileOrigin,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveService]:
    """A service with a quota, which may fetch from the origin."""
    settings = with_quota(backends.settings(engine, tmp_path_factory.mktemp("stored-bytes")))
    fetch = FetchSettings(allow=(f"127.0.0.1:{origin.port}",))
    with serving(settings.model_copy(update={"fetch": fetch})) as service:
        yield service


@pytest.fixture
def project(limited: LiveService) -> Iterator[Project]:
    """A project that keeps nothing yet."""
    with project_of(limited) as project:
        yield project


@pytest.fixture
def full(project: Project) -> Project:
    """A project that may keep 1,000 bytes more."""
    assert project.upload(noise_bytes(QUOTA - 1_000)).status_code == 201
    return project


def test_what_there_is_no_room_for_is_refused(full: Project) -> None:
    refused = full.upload(noise_bytes(1_001))
    assert refused.json() == {
        "type": "/docs/errors#stored-bytes-quota",
        "title": "The project keeps as much as it may",
        "status": 507,
        "detail": "This project may keep 4000000 bytes. It keeps 3999000, 0 more are on their way, "
        "and there is no room for another 1001. Nothing was stored; reading still works. Delete "
        "sessions, pages or resources that are no longer needed: their bytes make room when the "
        "sweep removes them. Or ask the operator for a larger quota.",
        "instance": RESOURCES,
        "code": "stored-bytes-quota",
        "requestId": refused.headers["x-request-id"],
    }
    assert (refused.status_code, "retry-after" in refused.headers) == (507, False)
    assert (full.listed(), full.total()) == (1, StoredTotal(QUOTA - 1_000, 0))
    assert full.upload(noise_bytes(1_000)).status_code == 201
    assert full.total() == StoredTotal(QUOTA, 0)


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Storing the same bytes again costs nothing, even when the quota is used up",
    kept_by="app/services/quotas/quota_blob_store.py",
    tried="0 bytes",
)
def test_same_bytes_again_cost_nothing(full: Project) -> None:
    again = png(noise=True)[:1_000]
    for answer in (full.upload(again), full.upload(again)):
        assert answer.is_success
    other_name = full.client.post(RESOURCES, content=again, params={"filename": "other.png"})
    assert other_name.status_code == 201
    assert full.client.post("/api/tool-results", json=call(again)).status_code == 201
    assert full.total() == StoredTotal(QUOTA, 0)


@pytest.mark.promise(
    "security.md#other-projects-data",
    "What another project stores does not count against the caller's quota",
    kept_by="app/services/quotas/quota_blob_store.py",
    tried="5,000 bytes",
)
def test_other_projects_have_room_of_their_own(full: Project) -> None:
    with project_of(full.service) as other:
        assert other.upload(noise_bytes(5_000)).status_code == 201
        assert other.total() == StoredTotal(5_000, 0)


def call(*images: bytes) -> dict[str, object]:
    blocks = [image_block(image) for image in images]
    return {
        "toolName": "t",
        "toolCallId": f"c-{next(_numbers)}",
        "sessionId": "s",
        "result": {"content": blocks},
    }


def in_chunks(data: bytes) -> Iterator[bytes]:
    """A body whose length nobody says."""
    for start in range(0, len(data), 100_000):
        yield data[start : start + 100_000]


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Racing uploads to two services never exceed the bytes a project may store",
    kept_by="app/stores/records/stored_blobs.py",
    tried="24 uploads at once, 0 bytes too many, 0 reserved",
)
@pytest.mark.parametrize("size_bytes", [300_000, 1_500_000])
def test_racing_uploads_never_exceed_the_quota(
    backends: Backends, limited: LiveService, size_bytes: int
) -> None:
    # Two services over the same stores know as little of each other as two processes do.
    with serving(limited.settings) as second, project_of(limited) as project:
        key = limited.new_key(project.name)
        clients = [limited.client(key), second.client(key)]
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(RACING) as pool:
            opened = [stack.enter_context(client) for client in clients]

            def upload(number: int) -> int:
                data = noise_bytes(size_bytes - number)
                body: bytes | Iterator[bytes] = in_chunks(data) if number % 3 else data
                return opened[number % 2].post(RESOURCES, content=body).status_code

            statuses = list(pool.map(upload, range(2 * RACING)))
            alone = upload(3 * RACING)
        kept = statuses.count(201)
        assert sorted(statuses) == [201] * kept + [507] * (2 * RACING - kept)
        sizes = [item["size"] for item in project.client.get(RESOURCES).json()["items"]]
        taken = kept + (alone == 201)
        assert (len(sizes), project.total()) == (taken, StoredTotal(sum(sizes), 0))
        assert sum(sizes) <= QUOTA
        # What is small reserves no more than it has, so that nobody is refused for nothing. Large
        # ones may refuse each other, all of them even; alone, one is taken.
        assert kept == QUOTA // size_bytes if size_bytes < 1_000_000 else taken > 0


def test_upload_that_fails_gives_its_room_back(project: Project) -> None:
    wrong = {"Repr-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"}
    for size_bytes in (50_000, 2_000_000):
        refused = project.client.post(RESOURCES, content=noise_bytes(size_bytes), headers=wrong)
        assert (refused.status_code, project.total()) == (400, NOTHING)
    too_long = project.client.post(RESOURCES, content=in_chunks(noise_bytes(QUOTA + 1)))
    assert (outcome(too_long), project.total(), project.listed()) == (FULL, NOTHING, 0)


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A file that fails, or a request that is cut off, gives its room back",
    kept_by="app/services/quotas/quota_blob_store.py",
    tried="0 bytes reserved",
)
@pytest.mark.parametrize("route", [RESOURCES, "/api/tool-results"])
def test_request_that_is_cut_gives_its_room_back(project: Project, route: str) -> None:
    head = half_a_request(route, str(project.client.headers["authorization"]))
    port = project.service.port
    with contextlib.closing(socket.create_connection(("127.0.0.1", port))) as connection:
        connection.sendall(head)
        on_its_way = project.until(lambda total: total.reserved_bytes > 1_000_000)
        assert on_its_way.stored_bytes == 0
    project.until(lambda total: total == NOTHING)
    assert project.listed() == 0


def half_a_request(route: str, authorization: str | None = None) -> bytes:
    """The first 3,000,000 bytes of a file of 3,900,000, or of a result with as much in it."""
    key = f"Authorization: {authorization}\r\n" if authorization else ""
    begun = b"" if route == RESOURCES else b'{"toolName":"t","toolCallId":"c","result":"'
    data = base64.b64encode(noise_bytes(3_000_000))[:3_000_000] if begun else bytes(3_000_000)
    head = (
        f"POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3900000\r\n"
        f"Content-Type: application/json\r\n{key}\r\n"
    )
    return head.encode() + begun + data


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A sweep gives back the room that a killed process had reserved",
    kept_by="app/services/quotas/storage_quota.py",
    tried="0 bytes reserved",
)
def test_room_of_a_killed_process_is_given_back_when_it_has_expired(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = with_quota(backends.settings(engine, tmp_path_factory.mktemp("killed")))
    env = {**environment_of(settings), "PAGEFAULT_QUOTAS__STORED_BYTES": str(QUOTA)}
    with (
        PagefaultProcess(settings.data_dir, env=env) as process,
        contextlib.closing(socket.create_connection(("127.0.0.1", process.port))) as connection,
    ):
        connection.sendall(half_a_request(RESOURCES))
        until(settings, "default", lambda total: total.reserved_bytes > 2_000_000)
        process.kill()
    assert sweep(settings) == SweepReport()
    left = total_of(settings, "default")
    assert left.reserved_bytes > 2_000_000
    anyio.run(let_reservations_expire, settings)
    assert sweep(settings) == SweepReport(expired_reserved_bytes=left.reserved_bytes)
    assert total_of(settings, "default") == NOTHING


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Room that could not be released during a database outage is released after it",
    kept_by="app/services/quotas/storage_quota.py",
    tried="0 bytes reserved",
)
def test_room_that_an_outage_kept_from_being_given_back_is_given_back_after_it(
    backends: Backends,
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.services.quotas.storage_quota._RETRY_SECONDS", 0.05)
    settings = with_quota(backends.settings(engine, tmp_path_factory.mktemp("outage")))
    impatient = settings.db.model_copy(update={"timeout_seconds": 0.2})
    with (
        serving(settings.model_copy(update={"db": impatient})) as service,
        project_of(service) as project,
        contextlib.ExitStack() as outage,
    ):

        def body() -> Iterator[bytes]:
            yield noise_bytes(2_000_000)
            project.until(lambda total: total.reserved_bytes > 1_000_000)
            outage.enter_context(backends.database_away(settings))
            yield noise_bytes(1_900_000)

        refused = project.client.post(RESOURCES, content=body())
        assert outcome(refused) == (503, "store-unavailable")
        outage.close()
        assert project.until(lambda total: not total.reserved_bytes) == NOTHING


async def let_reservations_expire(settings: Settings) -> None:
    """Make all reservations as old as if hours had passed."""
    engines = open_database(settings)
    with engines.writer.begin() as connection:
        connection.execute(text("UPDATE byte_reservations SET expires_at = 0"))
    await engines.close()


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Deleted files make room when they are swept",
    kept_by="app/stores/records/swept_blobs.py",
    tried="all of its bytes",
)
def test_what_is_deleted_makes_room_when_it_is_swept(full: Project) -> None:
    file = full.client.get(RESOURCES).json()["items"][0]["uri"]
    assert full.client.delete(f"{RESOURCES}/{file}").status_code == 204
    assert outcome(full.upload(noise_bytes(1_001))) == FULL
    sweep(full.service.settings)
    assert full.total() == NOTHING
    assert full.upload(noise_bytes(QUOTA)).status_code == 201


@pytest.mark.parametrize("size_bytes", [2_000, 2_000_000])
def test_result_without_room_for_its_media_is_refused(full: Project, size_bytes: int) -> None:
    refused = full.client.post("/api/tool-results", json=call(png() + noise_bytes(size_bytes)))
    assert (outcome(refused), full.listed()) == (FULL, 1)
    assert full.client.get("/api/tool-results").json()["items"] == []
    assert full.total() == StoredTotal(QUOTA - 1_000, 0)


def test_result_that_is_taken_in_while_it_arrives_is_counted(project: Project) -> None:
    image = png() + noise_bytes(1_500_000)
    for _ in range(2):
        assert project.client.post("/api/tool-results", json=call(image)).status_code == 201
        assert project.total() == StoredTotal(len(image), 0)


def test_message_and_page_without_room_for_their_media_are_refused(full: Project) -> None:
    uri = data_uri(png() + noise_bytes(2_000), "image/png")
    message = {"role": "user", "content": [{"type": "x", "url": uri}]}
    answers = [
        full.client.post("/api/sessions/s/messages", json=message),
        full.client.put("/api/pages/p", json={"modality": "image", "content": uri}),
    ]
    assert [outcome(answer) for answer in answers] == [FULL] * 2
    paths = ("/api/sessions/s/messages", "/api/pages/p")
    assert [full.client.get(path).status_code for path in paths] == [404] * 2
    assert (full.listed(), full.total()) == (1, StoredTotal(QUOTA - 1_000, 0))


def test_download_without_room_for_the_file_of_a_url_is_refused(
    full: Project, origin: HostileOrigin
) -> None:
    page = {"modality": "image", "content": f"http://127.0.0.1:{origin.port}/ok.png"}
    full.client.put("/api/pages/p", json=page).raise_for_status()
    large = full.client.get(RESOURCES).json()["items"][0]["uri"]
    assert full.upload(noise_bytes(1_000)).status_code == 201
    assert outcome(full.client.get("/api/pages/p/download")) == FULL
    assert full.total() == StoredTotal(QUOTA, 0)
    full.client.delete(f"{RESOURCES}/{large}").raise_for_status()
    sweep(full.service.settings)
    assert full.client.get("/api/pages/p/download").content == PNG
    assert full.total() == StoredTotal(1_000 + len(PNG), 0)


def test_upload_in_pieces_is_counted_as_it_comes(full: Project) -> None:
    refused = full.client.post(UPLOADS, headers={**TUS, "Upload-Length": "1001"})
    assert (outcome(refused), full.total()) == (FULL, StoredTotal(QUOTA - 1_000, 0))
    path = begin(full.client, 900)
    pieces = [noise_bytes(300), noise_bytes(600)]
    assert send(full.client, path, 0, pieces[0]).status_code == 204
    assert full.total() == StoredTotal(QUOTA - 700, 0)
    damaged = {"Upload-Checksum": checksum("sha256", b"other")}
    assert send(full.client, path, 300, pieces[1][:100], damaged).status_code == 460
    assert full.total() == StoredTotal(QUOTA - 700, 0)
    # The pieces stay until they are swept, so the whole file has to find room beside them.
    last = send(full.client, path, 300, pieces[1])
    assert outcome(last) == FULL
    # The piece itself has been kept, so nobody is told that nothing was stored.
    assert last.json()["detail"].startswith("The bytes of this piece were stored")
    assert full.client.head(path, headers=TUS).status_code == 507
    assert full.total().reserved_bytes == 0
    first = full.client.get(RESOURCES).json()["items"][0]["uri"]
    full.client.delete(f"{RESOURCES}/{first}").raise_for_status()
    sweep(full.service.settings)
    assert offset_of(full.client, path) == 900
    sweep(full.service.settings)
    assert full.total() == StoredTotal(900, 0)


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A bundle without room is refused before any of it is stored",
    kept_by="packages/bundles/src/pagefault_bundles/bundle_imports.py",
    tried="0 bytes",
)
def test_bundle_without_room_for_its_blobs_is_refused_whole(project: Project) -> None:
    make_small_session(project.client)
    bundle, kept = export(project.client), project.total()
    with project_of(project.service) as other:
        filler = QUOTA - kept.stored_bytes + 1
        uri = other.upload(noise_bytes(filler)).json()["uri"]
        refused = take_in(other.client, bundle)
        assert (outcome(refused), other.total()) == (FULL, StoredTotal(filler, 0))
        assert other.client.get(f"/api/sessions/{SESSION}").status_code == 404
        other.client.delete(f"{RESOURCES}/{uri}").raise_for_status()
        sweep(other.service.settings)
        assert take_in(other.client, bundle).status_code == 201
        assert other.total() == kept


def test_smaller_image_that_is_made_for_a_rendering_is_counted(project: Project) -> None:
    body = call(png(64, 48, noise=True))
    result = project.client.post("/api/tool-results", json=body).raise_for_status().json()
    sizes = [file["size"] for file in project.client.get(RESOURCES).json()["items"]]
    assert project.total() == StoredTotal(sum(sizes), 0)
    rendering(
        project.client, f"/api/tool-results/{result['id']}/render", "anthropic", accept="image/jpeg"
    )
    sizes = [file["size"] for file in project.client.get(RESOURCES).json()["items"]]
    assert (len(sizes), project.total()) == (2, StoredTotal(sum(sizes), 0))


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "Files stored before there was a quota are counted",
    kept_by="app/services/quotas/storage_quota.py",
    tried="all of its bytes",
)
def test_what_was_stored_before_there_was_a_quota_is_counted(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = backends.settings(engine, tmp_path_factory.mktemp("switched-on"))
    with serving(settings) as service, project_of(service, "p") as project:
        names: Sequence[str] = ("a.bin", "b.bin")
        for name in names:
            project.client.post(RESOURCES, content=b"x" * 3_000, params={"filename": name})
        project.upload(b"y" * 500)
        send(project.client, begin(project.client, 1_000), 0, b"z" * 250)
        assert project.total() == NOTHING
    with serving(with_quota(settings, 4_000)) as service, project_of(service, "p") as project:
        assert project.total() == StoredTotal(3_750, 0)
        assert outcome(project.upload(b"w" * 251)) == FULL
        assert project.upload(b"w" * 250).status_code == 201
