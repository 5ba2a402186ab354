"""What a browser shows where there is nothing: a page, where programs get a problem document.

It has no script, and repeats nothing of the request.
"""

from base64 import b64encode
from hashlib import sha256

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

from app.http.negotiation import prefers

HTML = "text/html"
ON_CONTENT_URL = "on_content_url"
"""In the state of requests to a host that has neither the viewer nor the documentation."""

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}"
)
_STYLE_SHA256 = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_SHA256}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Accept",
}
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>Nothing here · Pagefault</title>'
    f"<style>{_STYLE}</style><h1>There is nothing at this address</h1>"
    "<p>This is Pagefault, the media memory of AI agents. No page and no route of its API has "
    'this path.</p><ul><li><a href="/">The viewer</a> shows sessions, pages and files.</li>'
    '<li><a href="/docs">The documentation of the API</a> lists every route.</li></ul></html>'
)


def is_for_a_browser(connection: HTTPConnection) -> bool:
    """Whether a request for an unknown address comes from somebody who wants to read a page."""
    scope = connection.scope
    is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
    if not is_reading or scope.get("state", {}).get(ON_CONTENT_URL):
        return False
    return prefers(connection.headers, HTML, "application/json")


def lost_page(*, is_head: bool) -> Response:
    """The page, with the status of what it stands for."""
    headers = {**_HEADERS, "Content-Length": str(len(_PAGE.encode()))} if is_head else _HEADERS
    return HTMLResponse("" if is_head else _PAGE, status_code=404, headers=headers)
