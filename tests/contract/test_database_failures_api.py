"""Causes of database failures in answers, probes, commands and the log."""

import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import make_url

from tests.kit.event_streams import listening
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import ROOT, PagefaultProcess
from tests.kit.servers import SIGNING_KEY, Backends, serving

PASSWORD = "p@ss/w0rd:100%"  # noqa: S105 - of a role that the test makes
SENTENCE = (
    "pagefault: the database refuses the user or the password in PAGEFAULT_DB__URL: correct them; "
    "special characters are percent-encoded there\n"
)


def settings_of(backends: Backends, role: str, password: str, database: str) -> dict[str, str]:
    """Settings that lead to a database as a role, the password encoded as the documents say."""
    folder = quote(str(backends.postgres.folder / "cluster"), safe="")
    secret = quote(password, safe="")
    return {
        "PAGEFAULT_DB__URL": f"postgresql://{role}:{secret}@/{database}?host={folder}",
        "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY.get_secret_value(),
    }


def test_password_that_is_changed_is_named_to_callers_and_probes_and_in_the_log(
    backends: Backends, tmp_path: Path
) -> None:
    postgres = backends.postgres
    role, database = postgres.new_role(PASSWORD), postgres.new_database(migrated=True)
    postgres.execute(f"GRANT pg_read_all_data, pg_write_all_data TO {role}")
    env = settings_of(backends, role, PASSWORD, database)
    with PagefaultProcess(tmp_path / "data", env=env) as process, process.client() as client:
        assert client.get("/readyz").json()["status"] == "ready"
        postgres.execute(f"ALTER ROLE {role} PASSWORD 'another'")
        with postgres.away(database):
            # All connections were ended, and the next ones need the password.
            pass
        answers = [client.get("/readyz"), client.get("/api/resources")]
        process.stop()
        logs = process.logs
    for answer in answers:
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["cause"]) == (
            503,
            "store-misconfigured",
            "wrong-password",
        )
        assert answer.headers["retry-after"] == "60"
        for part in (PASSWORD, quote(PASSWORD, safe=""), role, database, str(postgres.folder)):
            assert part not in answer.text
            assert part not in logs
    lines = [json.loads(line) for line in logs.splitlines() if line.startswith("{")]
    failed = [line for line in lines if line["event"] == "database failed"]
    assert {(line["cause"], line["level"]) for line in failed} == {("wrong-password", "error")}


def test_role_and_database_of_the_documents_are_all_that_is_needed(
    pagefault: LoadedCommand, backends: Backends, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "deployment.md").read_text().partition("### The database")[2]
    statements = page.partition("```sql\n")[2].partition("```")[0].split(";")[:-1]
    postgres = backends.postgres
    for statement in statements:
        postgres.execute(statement)
    try:
        env = settings_of(backends, "pagefault", "PASSWORD", "pagefault")
        done = pagefault.run("migrate", "--data-dir", str(tmp_path), env=env)
        assert (done.returncode, done.stderr) == (0, "")
        done = pagefault.run(
            "keys", "create", "--project", "p", "--data-dir", str(tmp_path), env=env
        )
        assert done.stdout.startswith("pf_")
    finally:
        postgres.execute("DROP DATABASE IF EXISTS pagefault WITH (FORCE)")
        postgres.execute("DROP ROLE pagefault")


def test_password_is_encoded_as_the_documents_say() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    (command,) = re.findall(r"^ *(python3 -c 'import sys, urllib.*)$", page, re.MULTILINE)
    _, *arguments = shlex.split(command)
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=True)  # noqa: S603
    assert done.stdout == b"p%40ss%2Fw0rd\n"
    assert "`p@ss/w0rd` is `p%40ss%2Fw0rd`" in page


@pytest.mark.slow
def test_process_has_no_more_connections_than_the_documents_count(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    assert settings.db.url is not None
    database = make_url(settings.db.url.get_secret_value()).database
    db = settings.db.model_copy(update={"pool_size": 2})
    with serving(settings.model_copy(update={"db": db})) as service, service.client() as client:

        def use(number: int) -> int:
            page = {"content": f"page {number}", "session_id": "s"}
            client.put(f"/api/pages/p{number}", json=page).raise_for_status()
            return client.get("/api/search", params={"q": "page"}).status_code

        with listening(client, "/api/events", after=0), ThreadPoolExecutor(16) as threads:
            assert set(threads.map(use, range(64))) == {200}
            counted = backends.postgres.execute(
                "SELECT count(*), count(*) FILTER (WHERE application_name = 'pagefault') "  # noqa: S608
                f"FROM pg_stat_activity WHERE datname = '{database}'"
            )
    # The pool, the one that writes, and the two that notify of events and listen for them.
    assert counted == [(5, 5)]


@pytest.mark.parametrize(
    "command",
    [
        "serve --port 0",
        "migrate",
        "keys list",
        "keys create --project p",
        "gc",
        "tail",
        "page show x",
    ],
)
def test_command_that_the_database_refuses_says_why(
    pagefault: LoadedCommand, backends: Backends, tmp_path: Path, command: str
) -> None:
    role = backends.postgres.new_role(PASSWORD)
    env = settings_of(backends, role, "another", "postgres")
    done = pagefault.run(*command.split(), "--data-dir", str(tmp_path), env=env)
    assert (done.returncode, done.stdout) == (1, "")
    logged, _, sentence = done.stderr.partition("\n")
    assert (json.loads(logged)["cause"], sentence) == ("wrong-password", SENTENCE)
    assert "another" not in done.stderr
    assert role not in done.stderr
