"""The key of a client is only in its requests, not in output, logs and exceptions."""

import logging
import pickle
import traceback
from collections.abc import Callable

import pytest

from clients.python.tests.servers import Reply, ScriptedService, problem
from pagefault_client import AsyncPagefault, Pagefault, PagefaultError
from pagefault_client.options import load_options

KEY = "pf_secret_of_a_project"


def printed(value: object, depth: int = 5) -> str:
    """Return the `repr` of an object and of all members below it, as a debugger shows them."""
    members = getattr(value, "__dict__", {})
    below = [printed(member, depth - 1) for member in members.values()] if depth else []
    return "\n".join([repr(value), *below])


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The key of the Python client is in no `repr`",
    kept_by="clients/python/src/pagefault_client/options.py",
    tried="both clients and all below them",
)
def test_a_client_and_its_options_print_no_key() -> None:
    options = load_options("http://127.0.0.1:9", KEY, 60.0, 3)
    assert "base_url='http://127.0.0.1:9'" in repr(options)
    assert options.headers()["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(options.headers())
    blocking = Pagefault(api_key=KEY, default_headers={"Cookie": KEY})
    for value in (options, blocking, AsyncPagefault(api_key=KEY)):
        assert KEY not in printed(value)


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The key of the Python client is in no error, traceback or log",
    kept_by="clients/python/src/pagefault_client/options.py",
    tried="5 failures, local variables and logs at DEBUG included",
)
@pytest.mark.parametrize(
    "reply",
    [
        problem(401, "unauthorized"),
        problem(500, "internal-error"),
        Reply(502, b"<h1>Bad gateway</h1>"),
        Reply(200, b"no JSON"),
        Reply(0),
    ],
    ids=["refused", "failing", "proxy", "not Pagefault", "cut"],
)
def test_errors_and_logs_have_no_key(
    scripted: Callable[..., ScriptedService], caplog: pytest.LogCaptureFixture, reply: Reply
) -> None:
    service = scripted(reply)
    with (
        caplog.at_level(logging.DEBUG),
        Pagefault(service.url, KEY, max_retries=0) as pf,
        pytest.raises(PagefaultError) as failed,
    ):
        pf.version()
    assert service.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    error = failed.value
    summary = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame for frame in summary.stack if "pagefault_client" in frame.filename]
    assert {frame.name for frame in ours} >= {"version", "send"}
    assert KEY not in str([frame.locals for frame in ours])
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in repr(error) + str(pickle.loads(pickle.dumps(error)))  # noqa: S301
    assert KEY not in caplog.text


def test_a_key_in_the_place_of_the_url_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="`base_url` is not the URL of a service") as refused:
        Pagefault(KEY)
    assert KEY not in str(refused.value)
