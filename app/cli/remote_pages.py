"""`pagefault page show --url`: prints a page of a running service."""

import os
from urllib.parse import quote

import httpx
import typer

from app.cli.terminal import CommandError, one_line

_SECONDS = 30.0


def show_remote_page(url: str, page_id: str) -> None:
    """Print the fields of a page that a service returns.

    Raises:
        CommandError: The service does not respond, or has no such page for this key.
    """
    key = os.environ.get("PAGEFAULT_API_KEY")
    headers = {"Accept": "text/plain"} | ({"Authorization": f"Bearer {key}"} if key else {})
    page_url = f"{url.rstrip('/')}/api/pages/{quote(page_id, safe='')}"
    try:
        response = httpx.get(page_url, headers=headers, timeout=_SECONDS, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise CommandError(f"no service answers at {one_line(url)}: {one_line(str(exc))}") from exc
    if response.status_code != httpx.codes.OK:
        reason = _sentence(response)
        raise CommandError(f"{one_line(url)} answers {response.status_code}: {reason}")
    typer.echo(response.text)


def _sentence(response: httpx.Response) -> str:
    """Return the `detail` of a problem document, or a general sentence."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return one_line(detail) if isinstance(detail, str) else "no page of this id is shown"
