"""Receipts: the responses to requests that append a turn or a conversation to a session.

A receipt has the `seq` of the new entries, and a rendering of the session if the client wants one,
so that an agent needs one request for each step.
"""

from typing import Protocol

from app.errors import ConflictError
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.wire.shape import GAP
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.render_options import Rendering, joined_pieces


class Receipt(Protocol):
    """The members and methods that the receipts of all requests have in common."""

    rendering: object
    """`GAP` if a rendering is inserted into the JSON, `None` otherwise."""
    problem: str | None
    """The reason why a requested rendering is absent."""

    def encode(self) -> bytes:
        """Return the receipt as JSON."""

    def split_at_gap(self) -> tuple[bytes, bytes]:
        """Return the JSON before the rendering, and the JSON after it."""


def check_expected_seq(expected_seq: int | None, last_seq: int, *, sent: str) -> None:
    """Raise an error if a client expects another last `seq` than the session has.

    Args:
        expected_seq: The `seq` that the client expects; `None` to expect nothing.
        last_seq: The last `seq` of the session.
        sent: The name of the body that was sent, such as `turn`, for the text of the error.

    Raises:
        ConflictError: The session has another last `seq`. The client has not seen the new entries.
    """
    if expected_seq not in (None, last_seq):
        raise ConflictError(
            f"The session is at seq {last_seq} by now; nothing was appended. Read the new entries, "
            f"and send the {sent} again with that number.",
            code="session-moved-on",
        )


async def write_receipt(
    renders: SessionRenders,
    project_id: str,
    session_id: str,
    receipt: Receipt,
    query: RenderQuery | None,
    *,
    since: int,
) -> RenderedBody:
    """Return a receipt as JSON, with a rendering of the session if there is a query.

    If the session cannot be rendered, the request succeeds nevertheless, because the entries are
    stored already. The receipt then has the text of the error as its `problem`.

    Args:
        renders: Renders the session.
        project_id: The caller's project.
        session_id: The session.
        receipt: The receipt; `rendering` or `problem` is set in it.
        query: The target and the options of the rendering; `None` for no rendering.
        since: See `SessionRenders.render_session`.
    """
    blobs = renders.tool_results.blobs
    if query is not None:
        try:
            rendered = await renders.render_session(
                project_id, session_id, query, since=since, stores_frontier=True
            )
        except PagefaultError as exc:
            receipt.problem = exc.detail
        else:
            receipt.rendering = GAP
            head, tail = receipt.split_at_gap()
            pieces = joined_pieces([head, *rendered.rendering.pieces, tail])
            return RenderedBody(blobs, project_id, Rendering(pieces))
    return RenderedBody(blobs, project_id, Rendering([receipt.encode()]))
