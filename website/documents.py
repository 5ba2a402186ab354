"""Write the documents that are generated from the code, or check that they are up to date.

`python -m website.documents` writes them, `--check` only compares.
"""

import json
import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from app.config.settings import Settings, list_variables
from app.http.problem_pages import format_errors_markdown
from app.main import create_app
from website.dialects_page import update_dialects_table
from website.metrics_table import update_metrics_table

ROOT = Path(__file__).resolve().parents[1]
DIALECTS = ROOT / "docs" / "dialects.md"
TELEMETRY = ROOT / "docs" / "telemetry.md"
CORPUS = ROOT / "packages" / "dialects" / "tests" / "dialects"


def generated_documents() -> dict[Path, str]:
    """Return the text of each generated document by its path."""
    document = create_app(Settings(auth="none", host="127.0.0.1")).openapi()
    return {
        ROOT / "openapi" / "openapi.json": json.dumps(document, indent=2, ensure_ascii=False)
        + "\n",
        DIALECTS: update_dialects_table(DIALECTS.read_text(), CORPUS),
        TELEMETRY: update_metrics_table(TELEMETRY.read_text()),
        ROOT / "docs" / "errors.md": format_errors_markdown(),
        ROOT / "docs" / "settings.md": settings_markdown(),
    }


def settings_markdown() -> str:
    """Return the page of settings, with variables, defaults and meanings."""
    rows = "\n".join(
        f"| `{variable}` | {_default(field)} | {_meaning(field)} |"
        for variable, field in list_variables(Settings)
    )
    return f"""# Settings

Settings are environment variables, read once when the service starts. The options of
`pagefault serve` (`--host`, `--port`, `--data-dir`, `--workers`) override them. Sizes are in bytes
and times in seconds. A request beyond a limit is refused with 408, 413 or 422, and nothing of it
is stored. Everything has a default. Most deployments set these:

- `PAGEFAULT_DATA_DIR`: the directory of the database, the files and the signing key.
- `PAGEFAULT_AUTH`: `api-key` before a proxy or another machine can reach the service.
- `PAGEFAULT_PUBLIC_URL`: the URL at which clients reach the service; signed links begin with it.
- `PAGEFAULT_CORS_ORIGINS` and `PAGEFAULT_ALLOWED_HOSTS`:
  [web pages](deployment.md#calls-from-web-pages) and [host names](deployment.md#i-get-a-421) that
  may call the API.
- `PAGEFAULT_CONTENT_URL`: a [second host name](deployment.md#content-on-a-host-of-its-own) for
  files.
- `PAGEFAULT_DB__URL` and `PAGEFAULT_BLOBS__URL`: PostgreSQL and S3 in place of SQLite and a
  directory.

## Settings in a file

Settings may also be in a file, which every command reads for variables that the environment does
not set:

- the file that `--env-file` names; or, without that option,
- `.env` in the data directory, if `--data-dir` or `PAGEFAULT_DATA_DIR` names that directory.

A `.env` in the working directory is never read, so a command that is started in a foreign folder
does not use that folder's settings. The file may hold secrets, so make it readable by the
service only (`chmod 600`).

The file is read by [python-dotenv](https://pypi.org/project/python-dotenv/); variables in values
are not expanded. It may also set `AWS_*`, which the client of the object store reads, and
`OTEL_*`, for [OpenTelemetry](telemetry.md#opentelemetry). Other names are ignored. The service does
not start if a setting is misspelt or set twice, or if a line is not `NAME=value`.

## All settings

| variable | default | meaning |
|---|---|---|
{rows}
"""


def _default(field: FieldInfo) -> str:
    return "" if field.default in (None, ()) else f"`{field.default}`"


def _meaning(field: FieldInfo) -> str:
    """Return the docstring of a setting as one line."""
    return " ".join((field.description or "").split())


def main(arguments: list[str]) -> int:
    """Write or check the documents, and return the exit status."""
    outdated = []
    for path, text in generated_documents().items():
        if "--check" not in arguments:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            outdated.append(path.relative_to(ROOT))
    for path in outdated:
        sys.stderr.write(f"{path} is out of date: run `make openapi` and read the difference\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
