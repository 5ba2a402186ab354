"""Names and ids that mean to be paths, headers or numbers: no 5xx, and no file but our own.

The data directory lies deep in a folder of the test's own, so that what leads out of it is seen.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.kit.media import png
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

NAMES = (
    "../../../escaped.txt",
    "..\\..\\..\\escaped.txt",
    "{root}/escaped.txt",
    "file://{root}/escaped.txt",
    "....//....//escaped.txt",
    "%2e%2e%2fescaped.txt",
    "..%c0%afescaped.txt",
    "..\uff0fescaped.txt",
    "..",
    ".",
    "/",
    "",
    ".bashrc",
    "NUL",
    "com1.txt",
    "c:escaped.txt:stream",
    "a\x00.txt",
    "a\r\nSet-Cookie: b=c.txt",
    'a"; filename="escaped.exe',
    "\u202egnp.exe",
    "\ud800.png",
    "~root/$(id)`id`;id|id",
    "\x1b[2J*?<>.png",
    "\u00e9" * 300 + ".png",
)
IDS = (
    "../../../escaped",
    "..",
    ".",
    "/",
    "//",
    "\\",
    "%2e%2e",
    "..;/",
    "{root}",
    "\x00",
    "a\x00b",
    "a\r\nb",
    "\ud800",
    "\ufeff",
    "\u202ea",
    " ",
    "a b",
    "a?b#c",
    "-",
    "search",
    "null",
    "undefined",
    "*",
    "'; DROP TABLE sessions; --",
    "9223372036854775808",
    "-1",
    "1e999",
    "NaN",
    "x" * 300,
    "blob:" + "0" * 31,
    "@blob:" + "F" * 32,
    "00000000-0000-0000-0000-00000000000g",
)
BASE64 = base64.b64encode(png(noise=True)).decode()
JSON = {"Content-Type": "application/json"}
CALL = {"toolName": "t", "toolCallId": "c"}
READS = (
    "/api/resources/{0}/content",
    "/api/tool-results/{0}",
    "/api/pages/{0}/representations/{0}",
    "/api/pages/{0}/download",
    "/api/sessions/{0}/messages/{0}",
    "/api/sessions/{0}/interactions/{0}",
    "/api/sessions/{0}/bundle",
    "/api/uploads/{0}",
)
"""A route for each kind of id."""
OURS = re.compile(
    r"pagefault\.db(-shm|-wal)?|signing-key|blobs/[0-9a-f]{16}/([0-9a-f]{2})/\2[0-9a-f]{62}"
)


@dataclass(frozen=True)
class Deep:
    """A service whose data directory lies deep below `root`."""

    root: Path
    service: LiveService
    client: httpx.Client
    plain: str
    """The path of a resource without a name."""

    def strange_files(self) -> list[str]:
        """Every file below the root that the service would not write by itself."""
        folder = self.service.settings.data_dir
        files = [path for path in self.root.rglob("*") if path.is_file()]
        ours = [path for path in files if path.is_relative_to(folder)]
        return [str(path) for path in files if path not in ours] + [
            name for path in ours if not OURS.fullmatch(name := str(path.relative_to(folder)))
        ]


@pytest.fixture(scope="module")
def deep(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deep]:
    root = tmp_path_factory.mktemp("root")
    with (
        serving(backends.settings(engine, root / "a" / "b" / "c" / "data")) as service,
        service.client() as client,
    ):
        plain = client.post("/api/resources", content=b"plain").headers["location"]
        yield Deep(root, service, client, plain)


def spelled(text: str) -> str:
    """The text with every byte escaped, so that no client takes a dot for a folder."""
    return "".join(f"%{byte:02X}" for byte in text.encode(errors="surrogatepass"))


def named(client: httpx.Client, plain: str, name: str) -> list[httpx.Response]:
    """The answers where a name is told: to uploads of every kind, results, pages and downloads."""
    printable = name.encode(errors="surrogatepass").replace(b"\r\n", b"").replace(b"\x00", b"")
    disposition = b'attachment; filename="' + printable + b'"'
    block = {"type": "file", "data": BASE64, "mimeType": "image/png", "filename": name}
    created = [
        client.post(f"/api/resources?filename={spelled(name)}", content=png()),
        client.post("/api/resources", content=png(), headers={b"Content-Disposition": disposition}),
        client.post(
            "/api/tool-results", content=json.dumps({**CALL, "result": block}), headers=JSON
        ),
    ]
    found = [
        client.get(f"{created[0].headers.get('location', '/api/resources/x')}/content"),
        client.get(f"{plain}/content?download=1&filename={spelled(name)}"),
        client.get(f"/{spelled(name)}"),
    ]
    return [*created, *found]


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A file name cannot become a path or a header",
    kept_by="packages/dialects/src/pagefault_dialects/media/file_names.py",
    tried="24 names in 6 places: no 5xx, 0 strange files",
)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_name_of_a_file_is_no_path_and_no_header(deep: Deep, name: str) -> None:
    answers = named(deep.client, deep.plain, name.replace("{root}", str(deep.root)))
    assert [answer.status_code for answer in answers if answer.status_code >= 500] == []
    assert [answer for answer in answers if "set-cookie" in answer.headers] == []
    assert deep.strange_files() == []


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "An id cannot become a path, on any route",
    kept_by="app/models/identity.py",
    tried="32 ids on 8 routes: no 5xx, 0 strange files",
)
@pytest.mark.parametrize("identity", IDS, ids=range(len(IDS)))
def test_id_is_no_path_on_any_route(deep: Deep, identity: str) -> None:
    spelling = spelled(identity.replace("{root}", str(deep.root)))
    answers = [deep.client.get(path.format(spelling)) for path in READS]
    assert [answer.status_code for answer in answers if answer.status_code not in (404, 422)] == []
    assert deep.strange_files() == []


def test_corpora_are_as_large_as_documented() -> None:
    assert (len(set(NAMES)), len(set(IDS))) == (24, 32)
