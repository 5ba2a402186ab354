"""`/docs`: the OpenAPI document as a page to read.

It is one document without a script and with nothing of another host: the usual pages for this load
theirs from a CDN, into the origin that keys are sent to.
"""

import html
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

API_PAGE_PATH = "/docs"

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h3{font:600 1rem ui-monospace,monospace;border-top:1px solid #ccc;padding-top:1rem}"
    "p{white-space:pre-line}pre{overflow:auto;background:#f4f4f4;padding:1rem}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}"
    "pre{background:#222}}"
)
_STYLE_SHA256 = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_SHA256}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def install_api_page(app: FastAPI) -> None:
    """Serve the page of `app`; its own, which load scripts, have to be off."""

    @cache
    def made() -> str:
        return api_page(app.openapi())

    async def get_api_page(_: Request) -> Response:
        return HTMLResponse(made(), headers=_HEADERS)

    app.add_route(API_PAGE_PATH, get_api_page, methods=["GET"], include_in_schema=False)


def api_page(document: Mapping[str, Any]) -> str:
    """An OpenAPI document as HTML: its operations by tag, then its schemas."""
    title = html.escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>API · {title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1><p>{html.escape(document['info'].get('description', ''))}</p>"
        '<p>For programs: <a href="/openapi.json">openapi.json</a>. '
        '<a href="/docs/errors">Errors</a> have a page of their own.</p>'
        f"{''.join(_tags(document))}<h2>Schemas</h2>{''.join(_schemas(document))}</html>"
    )


def _tags(document: Mapping[str, Any]) -> Iterator[str]:
    for tag in document.get("tags", ()):
        name = tag["name"]
        yield f"<h2>{html.escape(name.capitalize())}</h2><p>{html.escape(tag['description'])}</p>"
        for path, item in document["paths"].items():
            for method in _METHODS:
                if name in item.get(method, {}).get("tags", ()):
                    yield _operation(method, path, item[method])


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    anchor = html.escape(operation["operationId"])
    parts = [
        f'<h3 id="{anchor}">{method.upper()} {html.escape(path)}</h3>',
        f"<p>{html.escape(operation.get('description') or operation.get('summary', ''))}</p>",
        _items("Parameters", map(_parameter, operation.get("parameters", ()))),
        _items("Body", _contents(operation.get("requestBody", {}))),
        _items("Answers", map(_answer, operation["responses"], operation["responses"].values())),
    ]
    return "".join(parts)


def _items(heading: str, items: Iterator[str]) -> str:
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<b>{heading}</b><ul>{listed}</ul>" if listed else ""


def _parameter(parameter: Mapping[str, Any]) -> str:
    needed = ", required" if parameter.get("required") else ""
    said = html.escape(parameter.get("description", ""))
    return f"<code>{html.escape(parameter['name'])}</code> ({parameter['in']}{needed}) {said}"


def _answer(status: str, answer: Mapping[str, Any]) -> str:
    contents = "; ".join(_contents(answer))
    return f"<b>{status}</b> {html.escape(answer['description'])} {contents}"


def _contents(holder: Mapping[str, Any]) -> Iterator[str]:
    for media_type, content in holder.get("content", {}).items():
        yield f"<code>{html.escape(media_type)}</code> {_schema_link(content.get('schema', {}))}"


def _schema_link(schema: Mapping[str, Any]) -> str:
    name = html.escape(str(schema.get("$ref", "")).rpartition("/")[2])
    return f'<a href="#{name}">{name}</a>' if name else ""


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        shown = html.escape(json.dumps(schema, indent=2, ensure_ascii=False))
        yield f'<h3 id="{html.escape(name)}">{html.escape(name)}</h3><pre>{shown}</pre>'
