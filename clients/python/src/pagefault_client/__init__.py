"""A client of Pagefault, the media memory of AI agents.

`Pagefault` is the blocking client and `AsyncPagefault` the asynchronous one. Both have the same
members.
"""

from pagefault_client import models, operations
from pagefault_client._async.client import AsyncPagefault
from pagefault_client._async.content import AsyncContent
from pagefault_client._async.conversation import AsyncConversation
from pagefault_client._async.event_stream import AsyncEvents
from pagefault_client._async.lists import AsyncItems, AsyncManifest
from pagefault_client._async.memory import AsyncMemory
from pagefault_client._async.sessions import AsyncFitResult, AsyncSession
from pagefault_client._sync.client import Pagefault
from pagefault_client._sync.content import Content
from pagefault_client._sync.content_files import ContentFile
from pagefault_client._sync.conversation import Conversation
from pagefault_client._sync.event_stream import Events
from pagefault_client._sync.lists import Items, Manifest
from pagefault_client._sync.memory import Memory
from pagefault_client._sync.sessions import FitResult, Session
from pagefault_client._version import VERSION
from pagefault_client.calls import Call
from pagefault_client.entries import TurnEntry, TurnToolResult
from pagefault_client.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    DigestMismatchError,
    GoneError,
    HistoryDiverged,
    InternalServerError,
    NotFoundError,
    PagefaultError,
    PermissionDeniedError,
    PreconditionFailedError,
    RateLimitError,
    StoreFullError,
)
from pagefault_client.events import Event
from pagefault_client.options import Level, RenderOptions, SessionRenderOptions, Target
from pagefault_client.responses import APIResponse
from pagefault_client.sources import UploadProgress
from pagefault_client.values import UnstorableError

__version__ = VERSION

__all__ = [
    "APIConnectionError",
    "APIResponse",
    "APIStatusError",
    "APITimeoutError",
    "AsyncContent",
    "AsyncConversation",
    "AsyncEvents",
    "AsyncFitResult",
    "AsyncItems",
    "AsyncManifest",
    "AsyncMemory",
    "AsyncPagefault",
    "AsyncSession",
    "AuthenticationError",
    "BadRequestError",
    "Call",
    "ConflictError",
    "Content",
    "ContentFile",
    "Conversation",
    "DigestMismatchError",
    "Event",
    "Events",
    "FitResult",
    "GoneError",
    "HistoryDiverged",
    "InternalServerError",
    "Items",
    "Level",
    "Manifest",
    "Memory",
    "NotFoundError",
    "Pagefault",
    "PagefaultError",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "RateLimitError",
    "RenderOptions",
    "Session",
    "SessionRenderOptions",
    "StoreFullError",
    "Target",
    "TurnEntry",
    "TurnToolResult",
    "UnstorableError",
    "UploadProgress",
    "models",
    "operations",
]
