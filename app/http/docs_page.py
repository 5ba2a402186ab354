"""HTML pages: the API at `/docs/plain`, its errors, and the 404 for browsers.

The pages load no scripts and nothing from other hosts. FastAPI's pages would load scripts from a
CDN into the origin that receives the keys. The pages contain no data of the request.
`app/routers/viewer` serves the explorer of the API at `/docs`, or the page `/docs/plain` if the
explorer is not built.
"""

import html
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from fastapi import FastAPI
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response

from app.http.conditions import prefers_media_type
from app.http.problem_pages import INTRODUCTION, get_subcodes, list_problem_types

CONTENT_HOST_STATE_KEY = "on_content_url"
"""The key in `scope["state"]` that marks requests to the content host, which serves only the bytes
of resources. A 404 of that host must not link to the viewer, which it does not serve."""

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_API_PAGE_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h3{font:600 1rem ui-monospace,monospace;border-top:1px solid #ccc;padding-top:1rem}"
    "p{white-space:pre-line}pre{overflow:auto;background:#f4f4f4;padding:1rem}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}"
    "pre{background:#222}}"
)
_VIEWER_STYLE = (
    # The colours and the header of the viewer (web/src/styles).
    ":root{color-scheme:light dark;--line:light-dark(#d5d9e0,#323843)}"
    "body{margin:0;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;"
    "background:light-dark(#fff,#14171c);color:light-dark(#1a1e25,#e4e7ec)}"
    "header{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:8px 16px;"
    "border-bottom:1px solid var(--line);background:light-dark(#f5f6f8,#1b1f26)}"
    "nav a{display:inline-block;padding:4px 8px;color:inherit;text-decoration:none}"
    "main{max-width:72rem;margin:auto;padding:16px}h1{font-size:1.125rem}"
    "main a{color:light-dark(#1a56b0,#86b7ff)}"
)
_VIEWS = ("Sessions", "Search", "Compare", "Doctor", "Pages", "Upload")
_NOT_FOUND_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>Nothing here · Pagefault</title>'
    f'<style>{_VIEWER_STYLE}</style><header><b>Pagefault</b><nav aria-label="Views">'
    + "".join(f'<a href="/{name.lower()}">{name}</a>' for name in _VIEWS)
    + "</nav></header><main><h1>There is nothing at this address</h1>"
    "<p>This is Pagefault, the media memory of AI agents. No page and no route of its API has "
    'this path.</p><ul><li><a href="/">The viewer</a> shows sessions, pages and files.</li>'
    '<li><a href="/docs">The documentation of the API</a> lists every route.</li></ul></main>'
    "</html>"
)


def _build_headers(style: str) -> dict[str, str]:
    """Return the headers of an HTML page: only this style is allowed, and no scripts."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


_NOT_FOUND_HEADERS = {
    **_build_headers(_VIEWER_STYLE),
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Accept",
}


def prefers_html(connection: HTTPConnection) -> bool:
    """Return whether a 404 is sent to a browser, as HTML with links to the viewer."""
    scope = connection.scope
    is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
    if not is_reading or scope.get("state", {}).get(CONTENT_HOST_STATE_KEY):
        return False
    return prefers_media_type(connection.headers, "text/html", "application/json")


def build_not_found_page(*, is_head: bool) -> Response:
    """Return the HTML page of a 404; its body is empty for HEAD."""
    response = HTMLResponse(_NOT_FOUND_PAGE, status_code=404, headers=_NOT_FOUND_HEADERS)
    if is_head:
        # Content-Length is still the length of the page.
        response.body = b""
    return response


async def get_problems_page(_: Request) -> Response:
    """Return the page of all error codes. The `type` of a problem document links to its section."""
    sections = "".join(
        f'<h2 id="{kind.code}">{kind.code}</h2>'
        f"<p><b>{kind.status}</b> · {html.escape(kind.title)}</p>"
        f"<p>{html.escape(kind.meaning)}</p>"
        + "".join(
            f"<p><code>{code}</code>: {html.escape(meaning)}</p>"
            for code, meaning in get_subcodes(kind.code).items()
        )
        for kind in list_problem_types()
    )
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Errors</title>'
        f"<style>{_VIEWER_STYLE}</style>"
        f"<h1>Errors</h1><p>{html.escape(INTRODUCTION)}</p>{sections}</html>",
        headers=_build_headers(_VIEWER_STYLE),
    )


async def get_api_page(request: Request) -> Response:
    """Return the page that lists the routes of the application."""
    return HTMLResponse(_format_api_page(request.app), headers=_build_headers(_API_PAGE_STYLE))


@cache
def _format_api_page(app: FastAPI) -> str:
    """Return the OpenAPI document as HTML: its operations by tag, then its schemas."""
    document = app.openapi()
    title = html.escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>API · {title}</title><style>{_API_PAGE_STYLE}</style>'
        f"<h1>{title}</h1><p>{html.escape(document['info'].get('description', ''))}</p>"
        '<p>For programs: <a href="/openapi.json">openapi.json</a>. '
        '<a href="/docs/errors">Errors</a> have a page of their own.</p>'
        f"{''.join(_format_tags(document))}<h2>Schemas</h2>{''.join(_format_schemas(document))}</html>"
    )


def _format_tags(document: Mapping[str, Any]) -> Iterator[str]:
    for tag in document.get("tags", ()):
        name = tag["name"]
        yield f"<h2>{html.escape(name.capitalize())}</h2><p>{html.escape(tag['description'])}</p>"
        for path, item in document["paths"].items():
            for method in _METHODS:
                if name in item.get(method, {}).get("tags", ()):
                    yield _format_operation(method, path, item[method])


def _format_operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    anchor = html.escape(operation["operationId"])
    parts = [
        f'<h3 id="{anchor}">{method.upper()} {html.escape(path)}</h3>',
        f"<p>{html.escape(operation.get('description') or operation.get('summary', ''))}</p>",
        _format_items("Parameters", map(_format_parameter, operation.get("parameters", ()))),
        _format_items("Body", _format_contents(operation.get("requestBody", {}))),
        _format_items(
            "Responses",
            map(_format_response, operation["responses"], operation["responses"].values()),
        ),
    ]
    return "".join(parts)


def _format_items(heading: str, items: Iterator[str]) -> str:
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f"<b>{heading}</b><ul>{rows}</ul>" if rows else ""


def _format_parameter(parameter: Mapping[str, Any]) -> str:
    required = ", required" if parameter.get("required") else ""
    text = html.escape(parameter.get("description", ""))
    return f"<code>{html.escape(parameter['name'])}</code> ({parameter['in']}{required}) {text}"


def _format_response(status: str, response: Mapping[str, Any]) -> str:
    contents = "; ".join(_format_contents(response))
    return f"<b>{status}</b> {html.escape(response['description'])} {contents}"


def _format_contents(body: Mapping[str, Any]) -> Iterator[str]:
    for media_type, content in body.get("content", {}).items():
        link = _format_schema_link(content.get("schema", {}))
        yield f"<code>{html.escape(media_type)}</code> {link}"


def _format_schema_link(schema: Mapping[str, Any]) -> str:
    name = html.escape(str(schema.get("$ref", "")).rpartition("/")[2])
    return f'<a href="#{name}">{name}</a>' if name else ""


def _format_schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        text = html.escape(json.dumps(schema, indent=2, ensure_ascii=False))
        yield f'<h3 id="{html.escape(name)}">{html.escape(name)}</h3><pre>{text}</pre>'
