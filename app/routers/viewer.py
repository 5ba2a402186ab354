"""`/` and `/docs`: the viewer and the explorer of the API, served from the files of `make web`.

    web/dist
     ├─ index.html     the document for every path of the application
     ├─ docs.html      the explorer of the API
     ├─ favicon.svg
     ├─ assets/        scripts and styles, with their hash in the name
     └─ ….br, ….gz     compressed copies of the text files of 1 KiB or more

The viewer is public, and calls the API with the user's key. The Content-Security-Policy of its
document permits only scripts of the build. Files are read for every request, so a new build is
served immediately. Files outside of the folder are not served, even if links in it lead to them.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from app.errors import NotFoundError
from app.http.conditions import (
    REVALIDATE,
    build_unchanged_response,
    choose_encoding,
    join_repeated_headers,
    make_strong_etag,
)
from app.http.docs_page import get_api_page
from app.shipped_files import BUILT_VIEWER

VIEW_PATHS = (
    "/",
    "/sessions",
    "/sessions/{session_id}",
    "/sessions/{session_id}/model",
    "/compare",
    "/doctor",
    "/file",
    "/pages",
    "/pages/{page_id}",
    "/search",
    "/upload",
)
"""The paths of the application's views."""

_READ_METHODS = ["GET", "HEAD"]
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_CODING_SUFFIXES = {"br": ".br", "gzip": ".gz"}
"""The file name suffix of each content coding, in the order of preference."""
# File names of a build never begin with a dot, and have no slash.
_ASSET_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
EXPLORER_POLICY = (
    # Swagger UI writes styles into its elements.
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the explorer. It permits its own files, and the API."""
_SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_NOT_BUILT_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The viewer is not built · Pagefault</title>
<h1>The viewer is not built</h1>
<p>Run <code>make web</code> in the folder of the service, then load this page again. It takes about
a minute and needs a registry of npm packages.</p>
<p>The API is served all the same: <a href="/docs">/docs</a> is its documentation.</p>
</html>
"""


def build_viewer_policy(content_url: str | None = None) -> str:
    """Return the Content-Security-Policy of the document. It permits its own files, and media.

    Args:
        content_url: The origin of signed links, if it differs from that of the API.
    """
    media = "'self'" if content_url is None else f"'self' {content_url}"
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {media} data: blob:; "
        f"media-src {media} blob:; connect-src 'self'; frame-src {media}; font-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def create_viewer_router(folder: Path | None = None, content_url: str | None = None) -> APIRouter:
    """Create the router of the viewer.

    Args:
        folder: The folder of the build; by default `BUILT_VIEWER`. If it does not exist, the
            document is a 503 that explains how to build it.
        content_url: The origin of signed links, if it differs from that of the API.
    """
    policy = build_viewer_policy(content_url)
    root = folder or BUILT_VIEWER
    router = APIRouter(include_in_schema=False)

    async def get_viewer(request: Request) -> Response:
        """Return the application's document, the same for all its paths."""
        try:
            return await _serve_file(request, root, "index.html", REVALIDATE, policy=policy)
        except NotFoundError:
            headers = {
                "Content-Type": _TYPES[".html"],
                "Cache-Control": "no-store",
                "Content-Security-Policy": _DENY_ALL_POLICY,
                **_SECURITY_HEADERS,
            }
            return _build_file_response(request, _NOT_BUILT_PAGE.encode(), headers, status=503)

    async def get_explorer(request: Request) -> Response:
        """Return the explorer of the API, or a plain page if it is not built."""
        try:
            return await _serve_file(request, root, "docs.html", REVALIDATE, policy=EXPLORER_POLICY)
        except NotFoundError:
            return await get_api_page(request)

    async def get_viewer_asset(request: Request, name: str) -> Response:
        """Return a script or a style of the application; its name changes with its content."""
        if not _ASSET_NAME.fullmatch(name):
            raise _build_missing_file_error()
        return await _serve_file(request, root, f"assets/{name}", _CACHE_FOREVER)

    async def get_viewer_icon(request: Request) -> Response:
        """Return the application's icon."""
        return await _serve_file(request, root, "favicon.svg", REVALIDATE)

    for path in VIEW_PATHS:
        router.add_api_route(path, get_viewer, methods=_READ_METHODS)
    router.add_api_route("/docs", get_explorer, methods=_READ_METHODS)
    router.add_api_route("/assets/{name}", get_viewer_asset, methods=_READ_METHODS)
    router.add_api_route("/favicon.svg", get_viewer_icon, methods=_READ_METHODS)
    return router


async def _serve_file(
    request: Request, root: Path, name: str, cache_control: str, *, policy: str = _DENY_ALL_POLICY
) -> Response:
    """Return a file of the build, compressed if the client accepts it, or a 304."""
    body, coding_headers = await anyio.to_thread.run_sync(
        _read_file, root, name, join_repeated_headers(request.headers)
    )
    headers = {
        **coding_headers,
        "Content-Type": _TYPES[Path(name).suffix],
        "ETag": make_strong_etag(hashlib.sha256(body).hexdigest()),
        "Cache-Control": cache_control,
        "Content-Security-Policy": policy,
        **_SECURITY_HEADERS,
    }
    unchanged = build_unchanged_response(request, headers)
    return unchanged or _build_file_response(request, body, headers)


def _read_file(
    root: Path, name: str, request_headers: Mapping[str, str]
) -> tuple[bytes, dict[str, str]]:
    """Read a file of the build, if it is in the build's folder and has a known type.

    Returns:
        The bytes in the content coding that `Accept-Encoding` prefers, and the headers that
        describe the coding.

    Raises:
        NotFoundError: There is no such file.
    """
    if Path(name).suffix not in _TYPES:
        raise _build_missing_file_error()
    try:
        viewer_dir = root.resolve(strict=True)
        encoded = {
            coding: viewer_dir / f"{name}{suffix}" for coding, suffix in _CODING_SUFFIXES.items()
        }
        available = [coding for coding, path in encoded.items() if path.is_file()]
        coding = choose_encoding(request_headers, available) if available else None
        path = (viewer_dir / name if coding is None else encoded[coding]).resolve(strict=True)
        if not path.is_relative_to(viewer_dir):
            raise _build_missing_file_error()
        headers = {"Vary": "Accept-Encoding"} if available else {}
        return path.read_bytes(), headers | ({"Content-Encoding": coding} if coding else {})
    except (OSError, RuntimeError) as exc:
        # Folders, circular links and unreadable files raise these as well.
        raise _build_missing_file_error() from exc


def _build_file_response(
    request: Request, body: bytes, headers: dict[str, str], status: int = 200
) -> Response:
    headers["Content-Length"] = str(len(body))
    content = b"" if request.method == "HEAD" else body
    return Response(content, status_code=status, headers=headers)


def _build_missing_file_error() -> NotFoundError:
    return NotFoundError("file", detail="The viewer has no such file.")
