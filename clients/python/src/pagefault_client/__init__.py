"""A client of Pagefault, the media memory of AI agents.

`Pagefault` is the blocking client and `AsyncPagefault` the asynchronous one. Both have the same
members.
"""

from pagefault_client import models, operations
from pagefault_client._async.client import AsyncPagefault
from pagefault_client._async.content import AsyncContent
from pagefault_client._async.conversation import AsyncConversation
from pagefault_client._async.event_stream import AsyncEvents
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.memory import AsyncMemory
from pagefault_client._async.sessions import AsyncFitResult, AsyncSession
from pagefault_client._sync.client import Pagefault
from pagefault_client._sync.content import Content
from pagefault_client._sync.content_files import ContentFile
from pagefault_client._sync.conversation import Conversation
from pagefault_client._sync.event_stream import Events
from pagefault_client._sync.lists import Items
from pagefault_client._sync.memory import Memory
from pagefault_client._sync.sessions import FitResult, Session
from pagefault_client._version import VERSION
from pagefault_client.calls import Call
from pagefault_client.errors import (
    ConflictError,
    ConnectionFailedError,
    DigestMismatchError,
    ForbiddenError,
    GoneError,
    HistoryDiverged,
    InvalidRequestError,
    NotFoundError,
    PagefaultError,
    PreconditionFailedError,
    ProblemError,
    ServerError,
    StoreFullError,
    TimedOutError,
    TooManyRequestsError,
    UnauthorizedError,
)
from pagefault_client.events import Event
from pagefault_client.options import Level, RenderOptions, SessionRenderOptions, Target
from pagefault_client.sources import UploadProgress
from pagefault_client.values import UnstorableError

__version__ = VERSION

__all__ = [
    "AsyncContent",
    "AsyncConversation",
    "AsyncEvents",
    "AsyncFitResult",
    "AsyncItems",
    "AsyncMemory",
    "AsyncPagefault",
    "AsyncSession",
    "Call",
    "ConflictError",
    "ConnectionFailedError",
    "Content",
    "ContentFile",
    "Conversation",
    "DigestMismatchError",
    "Event",
    "Events",
    "FitResult",
    "ForbiddenError",
    "GoneError",
    "HistoryDiverged",
    "InvalidRequestError",
    "Items",
    "Level",
    "Memory",
    "NotFoundError",
    "Pagefault",
    "PagefaultError",
    "PreconditionFailedError",
    "ProblemError",
    "RenderOptions",
    "ServerError",
    "Session",
    "SessionRenderOptions",
    "StoreFullError",
    "Target",
    "TimedOutError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnstorableError",
    "UploadProgress",
    "models",
    "operations",
]
