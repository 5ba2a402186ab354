"""Fixtures: real servers once per test process, fresh stores or a fresh project per test."""

import gc
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

from app.config.settings import Settings
from tests.kit.documented_answers import all_faults
from tests.kit.loaded_command import LoadedCommand
from tests.kit.object_store import ObjectStoreServer
from tests.kit.recorded_answers import answers
from tests.kit.servers import (
    ENGINES,
    MEMORY,
    Backends,
    Engine,
    LiveService,
    Postgres,
    folder_in_memory,
    has_memory_for,
    serving,
)

# All modules are loaded and all tests collected before the first runs, and all of that stays. To
# look through it for garbage, again whenever it has grown, would be a sixth of the work.
gc.disable()

# A shell that starts the tests in the background has them ignore SIGINT, which all programs that
# they start would inherit; a handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Their assertions are to say what differed, as those in the test files do. All of them here, since
# folders take from each other, and what is imported already can no longer be changed.
pytest.register_assert_rewrite(
    "tests.browser.accessibility",
    "tests.browser.shop",
    "tests.contract.alias_requests",
    "tests.contract.content_requests",
    "tests.contract.page_case_checks",
    "tests.contract.page_cases",
    "tests.contract.page_requests",
    "tests.contract.session_requests",
    "tests.kit.event_crowds",
    "tests.kit.event_streams",
    "tests.kit.listening_sockets",
    "web.check.accessible",
)

_BACKENDS = pytest.StashKey[Backends]()

# Of all tests together; most is never there at the same time.
_FOLDERS_BYTES = 4 << 30

# Every run tries the same examples, so that a failure is the fault of a change. To look further:
# `pytest --hypothesis-profile=search`.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--write-documents` writes the pages with results of tests."""
    # `web/check` has all of this as well, and both may be named.
    with suppress(ValueError):
        parser.addoption("--write-documents", action="store_true")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the folders of tests in memory if there is room: whatever a service writes is synced.

    They are gone with the run. Name a folder by `--basetemp` to look into them.
    """
    is_worker = hasattr(config, "workerinput")
    if is_worker or config.option.basetemp is not None or not has_memory_for(_FOLDERS_BYTES):
        return
    folder = tempfile.mkdtemp(prefix="pagefault-tests-", dir=MEMORY)
    config.option.basetemp = f"{folder}/run"
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


class _ByFile(LoadGroupScheduling):
    """Gives a worker the tests of a file together, by engine: what they share is made once."""

    def _split_scope(self, nodeid: str) -> str:
        file_or_group, _, test = super()._split_scope(nodeid).partition("::")
        parameters = test.partition("[")[2]
        return " ".join([file_or_group, *(name for name in ENGINES if name in parameters)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling:
    """Return the scheduler that keeps the tests of a file in one worker."""
    return _ByFile(config, log)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try a test on both engines, or on those that its marker `engines` names.

    Outside of `tests/integration`, tests on the second engine have the marker `second_engine`.
    """
    if "engine" in metafunc.fixturenames:
        named = metafunc.definition.get_closest_marker("engines")
        first, *others = named.args if named else ENGINES
        is_of_stores = "integration" in metafunc.definition.path.parts
        marks = [] if is_of_stores else [pytest.mark.second_engine]
        engines = [first, *(pytest.param(engine, marks=marks) for engine in others)]
        metafunc.parametrize("engine", engines, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Collect the objects of tests from now on, and seldom those that stay."""
    gc.freeze()
    gc.set_threshold(2_000, 10, 50)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test during which a service answered otherwise than the OpenAPI document says."""
    answers().begin_file(item.path)
    yield
    faults = all_faults(answers().take())
    assert not faults, "\n".join(["not as openapi/openapi.json has it:", *faults])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def backends(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Backends:
    """PostgreSQL and an S3 server, each in a process that the first test which needs it starts."""
    if _BACKENDS not in pytestconfig.stash:
        stack = ExitStack()
        pytestconfig.add_cleanup(stack.close)
        folder = stack.enter_context(folder_in_memory(tmp_path_factory.mktemp("postgres")))
        pytestconfig.stash[_BACKENDS] = Backends(
            lambda: stack.enter_context(Postgres(folder)),
            lambda: stack.enter_context(ObjectStoreServer()),
        )
    return pytestconfig.stash[_BACKENDS]


@pytest.fixture(autouse=True)
def databases_of_one_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep no database that was created for the test alone."""
    if "backends" not in request.fixturenames:
        yield
        return
    backends: Backends = request.getfixturevalue("backends")
    with backends.dropping():
        yield


@pytest.fixture(scope="session")
def pagefault() -> LoadedCommand:
    """The command, which is loaded already."""
    return LoadedCommand()


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """SQLite with a local directory, then PostgreSQL with S3."""
    chosen: Engine = request.param
    return chosen


@pytest.fixture
def settings(backends: Backends, engine: Engine, tmp_path: Path) -> Settings:
    """Settings over fresh stores."""
    return backends.settings(engine, tmp_path / "data")


@pytest.fixture(scope="session")
def service(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A live service that tests share, each in a project of its own."""
    data_dir = tmp_path_factory.mktemp("shared-service")
    with serving(backends.settings(engine, data_dir)) as live:
        yield live


@pytest.fixture
def client(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project of its own."""
    with service.client() as client:
        yield client
