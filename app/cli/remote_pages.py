"""`pagefault page show --url`: a page of a service that runs, on the terminal."""

import os
from urllib.parse import quote

import httpx
import typer

from app.cli.terminal import CommandError, one_line

_SECONDS = 30.0


def show_remote_page(url: str, page_id: str) -> None:
    """Print what a service says of a page.

    Raises:
        CommandError: The service does not answer, or has no such page for this key.
    """
    key = os.environ.get("PAGEFAULT_API_KEY")
    headers = {"Accept": "text/plain"} | ({"Authorization": f"Bearer {key}"} if key else {})
    where = f"{url.rstrip('/')}/api/pages/{quote(page_id, safe='')}"
    try:
        answer = httpx.get(where, headers=headers, timeout=_SECONDS, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise CommandError(f"no service answers at {one_line(url)}: {one_line(str(exc))}") from exc
    if answer.status_code != httpx.codes.OK:
        raise CommandError(f"{one_line(url)} answers {answer.status_code}: {_sentence(answer)}")
    typer.echo(answer.text)


def _sentence(answer: httpx.Response) -> str:
    """Return what an answer says is wrong, as far as it says it."""
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    said = problem.get("detail") if isinstance(problem, dict) else None
    return one_line(said) if isinstance(said, str) else "no page of this id is shown"
