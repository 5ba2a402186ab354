"""`pagefault page show --url`: print a page of a running service."""

import os
from urllib.parse import quote

import httpx
import typer

from app.cli.terminal import CommandError, to_one_line

_TIMEOUT_SECONDS = 30.0


def show_remote_page(url: str, page_id: str) -> None:
    """Print the fields of a page that a service returns.

    Raises:
        CommandError: The service does not respond, or has no such page for this key.
    """
    key = os.environ.get("PAGEFAULT_API_KEY")
    headers = {"Accept": "text/plain"} | ({"Authorization": f"Bearer {key}"} if key else {})
    page_url = f"{url.rstrip('/')}/api/pages/{quote(page_id, safe='')}"
    try:
        response = httpx.get(page_url, headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise CommandError(
            f"no service answers at {to_one_line(url)}: {to_one_line(str(exc))}"
        ) from exc
    if response.status_code != httpx.codes.OK:
        reason = _find_reason(response)
        raise CommandError(f"{to_one_line(url)} answers {response.status_code}: {reason}")
    typer.echo(response.text)


def _find_reason(response: httpx.Response) -> str:
    """Return the `detail` of a problem document, or a general sentence."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return to_one_line(detail) if isinstance(detail, str) else "no page of this id is shown"
