"""An S3-compatible server in a process of its own, for tests that need a real one.

The child ends when its standard input does, so it never outlives the test run that started it.
"""

import subprocess
import sys
from itertools import count
from types import TracebackType

import httpx
import obstore
from obstore.store import S3Store

from tests.kit.plain_http import TRUSTS_NOBODY

REGION = "us-east-1"
ACCESS_KEY_ID = "testing-key"
SECRET_ACCESS_KEY = "testing-secret"  # noqa: S105 - the server accepts any

_START_TIMEOUT_SECONDS = 60.0

# Moto's application for all services looks through their folders for the right one at every
# request, which takes longer than the request, so that for S3 alone serves most tests.
_CHILD = """
import sys
from threading import Thread

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server


class Handler(MotoRequestHandler):
    protocol_version = "HTTP/1.1"  # A connection is for more than one request.

    def log_request(self, *_):
        pass


if "with-users" in sys.argv:
    application = DomainDispatcherApplication(create_backend_app)
else:
    application = create_backend_app("s3")
server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
Thread(target=server.serve_forever, daemon=True).start()
print(server.port, flush=True)
sys.stdin.read()
"""


class ObjectStoreServer:
    """A server on a free loopback port; start it once per test run, take a bucket per test.

    Args:
        with_users: Whether it has users too, with keys and policies of theirs. It is slower.
    """

    def __init__(self, *, with_users: bool = False) -> None:
        self._options = ["with-users"] if with_users else []
        self._process: subprocess.Popen[str] | None = None
        self._port = 0
        self._bucket_numbers = count(1)

    def __enter__(self) -> "ObjectStoreServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def endpoint_url(self) -> str:
        """The base URL, `http://127.0.0.1:<port>`."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the process and return once it answers."""
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-c", _CHILD, *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the object store did not start"
        self._port = int(line)
        httpx.get(self.endpoint_url, timeout=_START_TIMEOUT_SECONDS).raise_for_status()

    def stop(self) -> None:
        """End the process; its buckets are gone with it."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.communicate()

    def remove_bucket(self, bucket: str) -> None:
        """Remove a bucket and all in it, behind the service's back."""
        objects = S3Store(
            bucket,
            endpoint=self.endpoint_url,
            region=REGION,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=SECRET_ACCESS_KEY,
            client_options={"allow_http": True},
        )
        for batch in obstore.list(objects):
            obstore.delete(objects, [found["path"] for found in batch])
        httpx.delete(f"{self.endpoint_url}/{bucket}").raise_for_status()

    def new_bucket(self) -> str:
        """Create an empty bucket and return its name."""
        name = f"bucket-{next(self._bucket_numbers)}"
        httpx.put(f"{self.endpoint_url}/{name}", verify=TRUSTS_NOBODY).raise_for_status()
        return name

    def keep_versions(self, bucket: str) -> None:
        """Have the bucket keep versions from now on."""
        httpx.put(
            f"{self.endpoint_url}/{bucket}",
            params={"versioning": ""},
            content="<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
            verify=TRUSTS_NOBODY,
        ).raise_for_status()

    def unfinished_uploads(self, bucket: str) -> int:
        """Return the number of open multipart uploads of the bucket."""
        listing = httpx.get(
            f"{self.endpoint_url}/{bucket}", params={"uploads": ""}, verify=TRUSTS_NOBODY
        )
        return listing.raise_for_status().text.count("<UploadId>")
