"""Uploads in pieces, and the segments that were received."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam

from app.models.upload import ResumableUpload, Segment
from app.stores.records.blob_guard import BlobGuard
from app.stores.records.scope import read_row, values_of
from app.stores.records.statements import scoped_delete, scoped_select, scoped_update
from app.stores.records.tables import upload_segments, uploads
from app.stores.records.unit_of_work import Repository, UnitOfWork

_FIND = scoped_select(uploads, by=["upload_id"])
_SEGMENTS = scoped_select(upload_segments, by=["upload_id"]).order_by(upload_segments.c.start)
_UPDATE = scoped_update(uploads, by={"upload_id": "of_upload"})
_ADVANCE = _UPDATE.where(uploads.c.received_bytes == bindparam("first_byte"))
_SET_BACK = _UPDATE.where(uploads.c.resource_id.is_(None))
_REMOVE = scoped_delete(uploads, by=["upload_id"])
_REMOVE_EXPIRED = scoped_delete(uploads).where(uploads.c.expires_at < bindparam("before"))
_REMOVE_SEGMENTS = scoped_delete(upload_segments, by=["upload_id"]).where(
    upload_segments.c.start >= bindparam("first_byte")
)


class UploadRecords(Repository):
    """The uploads of one project."""

    def __init__(self, unit: UnitOfWork) -> None:
        super().__init__(unit)
        self._blob_guard = unit[BlobGuard]

    def add(self, upload: ResumableUpload) -> None:
        """Store a new upload."""
        self._scope.insert_new(uploads, [values_of(upload)])

    def find(self, upload_id: str) -> ResumableUpload | None:
        """Return the upload with this id."""
        row = self._scope.first(_FIND, upload_id=upload_id)
        return read_row(ResumableUpload, row) if row else None

    def advance(self, upload_id: str, segments: Sequence[Segment], *, expires_at: datetime) -> bool:
        """Add consecutive segments, at least one, that follow the received bytes.

        The caller has put their blobs into the store before.

        Returns:
            False, and nothing is added, if the upload has another offset or was removed.

        Raises:
            BlobSweptError: A sweep has removed one of the blobs.
        """
        # Every transaction acquires the lock of sweeps before it locks rows.
        self._blob_guard.guard([segment.digest for segment in segments])
        first, last = segments[0], segments[-1]
        advanced = self._scope.run(
            _ADVANCE,
            of_upload=upload_id,
            first_byte=first.start,
            received_bytes=last.start + last.size_bytes,
            expires_at=expires_at,
        )
        if not advanced:
            return False
        rows = [values_of(segment, upload_id=upload_id) for segment in segments]
        self._scope.insert_new(upload_segments, rows)
        return True

    def segments(self, upload_id: str) -> Sequence[Segment]:
        """Return the segments of an upload, in order; a complete upload has none."""
        rows = self._scope.all(_SEGMENTS, upload_id=upload_id)
        return [read_row(Segment, row) for row in rows]

    def set_back(self, upload_id: str, start: int) -> None:
        """Remove the segments of an upload that begin at `start` or later."""
        self._scope.run(_REMOVE_SEGMENTS, upload_id=upload_id, first_byte=start)
        self._scope.run(_SET_BACK, of_upload=upload_id, received_bytes=start)

    def complete(self, upload_id: str, resource_id: str) -> bool:
        """Store the resource of an upload and remove its segments. A sweep removes their blobs.

        Returns:
            True if the upload exists.
        """
        stored = self._scope.run(_UPDATE, of_upload=upload_id, resource_id=resource_id)
        self._scope.run(_REMOVE_SEGMENTS, upload_id=upload_id, first_byte=0)
        return stored == 1

    def remove(self, upload_id: str) -> bool:
        """Remove an upload with its segments, but not their blobs; return whether it existed."""
        return self._scope.run(_REMOVE, upload_id=upload_id) == 1

    def remove_expired(self, before: datetime) -> int:
        """Remove the uploads that expired before a time; return their number.

        Resources of complete uploads stay. The blobs of segments become garbage.
        """
        return self._scope.run(_REMOVE_EXPIRED, before=before)
