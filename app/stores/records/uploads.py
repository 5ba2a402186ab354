"""Uploads in pieces, and the segments that have come of them."""

from collections.abc import Sequence
from datetime import datetime

from app.models.upload import ResumableUpload, Segment
from app.stores.records.blob_guard import BlobGuard
from app.stores.records.scope import read_row, values_of
from app.stores.records.tables import upload_segments, uploads
from app.stores.records.unit_of_work import Repository, UnitOfWork


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
        row = self._scope.find(uploads, upload_id=upload_id)
        return read_row(ResumableUpload, row) if row else None

    def advance(self, upload_id: str, segments: Sequence[Segment], *, expires_at: datetime) -> bool:
        """Count segments, at least one, that follow on each other and on what has come so far.

        The caller has put their blobs into the store before. Of two that begin at one offset only
        the first counts.

        Returns:
            Whether they count: not if the upload is elsewhere by now, or gone.

        Raises:
            BlobSweptError: A sweep has removed one of the blobs meanwhile.
        """
        # The lock of the sweep comes before that of the row, as everywhere.
        self._blob_guard.guard([segment.digest for segment in segments])
        first, last = segments[0], segments[-1]
        advanced = self._scope.set_values(
            uploads,
            uploads.c.upload_id == upload_id,
            uploads.c.received_bytes == first.start,
            received_bytes=last.start + last.size_bytes,
            expires_at=expires_at,
        )
        if not advanced:
            return False
        rows = [values_of(segment, upload_id=upload_id) for segment in segments]
        self._scope.insert_new(upload_segments, rows)
        return True

    def segments(self, upload_id: str) -> Sequence[Segment]:
        """Return what has come of an upload, in order; nothing any more once it is complete."""
        of_upload = self._scope.select(upload_segments, upload_segments.c.upload_id == upload_id)
        rows = self._scope.all(of_upload.order_by(upload_segments.c.start))
        return [read_row(Segment, row) for row in rows]

    def set_back(self, upload_id: str, start: int) -> None:
        """Forget what has come of an upload from the segment on that begins at `start`."""
        self._drop_segments(upload_id, start)
        self._scope.set_values(
            uploads,
            uploads.c.upload_id == upload_id,
            uploads.c.resource_id.is_(None),
            received_bytes=start,
        )

    def complete(self, upload_id: str, resource_id: str) -> bool:
        """Note what became of an upload and drop its segments; their blobs stay, as garbage.

        Returns:
            Whether there is such an upload.
        """
        noted = self._scope.set_values(
            uploads, uploads.c.upload_id == upload_id, resource_id=resource_id
        )
        self._drop_segments(upload_id)
        return noted == 1

    def remove(self, upload_id: str) -> bool:
        """Remove an upload with its segments; their blobs stay. Says whether there was one."""
        return self._scope.remove(uploads, uploads.c.upload_id == upload_id) == 1

    def remove_expired(self, before: datetime) -> int:
        """Remove the uploads whose time was over before a moment; says how many there were.

        What they became stays. The blobs of their segments are garbage from then on.
        """
        return self._scope.remove(uploads, uploads.c.expires_at < before)

    def _drop_segments(self, upload_id: str, start: int = 0) -> None:
        of_upload, starts = upload_segments.c.upload_id == upload_id, upload_segments.c.start
        self._scope.remove(upload_segments, of_upload, starts >= start)
