"""The application as it describes itself, made once for all tests of a worker that read it only."""

from functools import cache
from typing import Any

from fastapi import FastAPI

from app.config.settings import Settings
from app.main import create_app


@cache
def application() -> FastAPI:
    """An application that is not served."""
    return create_app(Settings(_env_file=None, auth="none", host="127.0.0.1"))


@cache
def api_document() -> dict[str, Any]:
    """Its OpenAPI document, not to be changed."""
    return application().openapi()
