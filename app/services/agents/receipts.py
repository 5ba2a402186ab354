"""Receipts: responses to requests that append to a session, with a rendering of the session."""

from typing import Protocol

from app.errors import ConflictError
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.wire.shape import GAP
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.model.render_options import Rendering, joined_pieces


class Receipt(Protocol):
    """The part of a receipt that these functions use."""

    rendering: object
    """The rendering, or `GAP` in its place."""
    problem: str | None
    """The reason why there is no rendering."""

    def encode(self) -> bytes:
        """Return the receipt as JSON."""

    def split_at_gap(self) -> tuple[bytes, bytes]:
        """Return the JSON before the rendering, and the JSON after it."""


def check_expected_seq(expected_seq: int | None, last_seq: int, *, sent: str) -> None:
    """Check that the last `seq` of a session is the one that a client expects, if it expects one.

    Args:
        expected_seq: The `seq` that the client expects.
        last_seq: The last `seq` of the session.
        sent: The name of the body, for the text of the error.

    Raises:
        ConflictError: The session has another last `seq`; nothing was appended.
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

    The entries are stored already. So an error of the rendering does not fail the request: its text
    is the `problem` of the receipt.
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
