"""Aliases: names of resources, for example the ids that their files have in other systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from app.errors import ConflictError, NotFoundError
from app.models.identity import decode_time_cursor, encode_time_cursor, utc_now
from app.models.resource_descriptor import Alias, check_alias, is_alias
from app.services.media.media_keeper import MediaKeeper
from app.services.requests.validation import WriteCondition, require_found
from app.services.resources.link_files import MAX_LINK_BYTES, is_link, make_link_file
from app.stores.blobs.store import BlobStore
from app.stores.records.aliases import AliasRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.resources import encode_alias
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.model.resource import LINK_TYPE, Resource, parse_resource_id
from pagefault_dialects.results.parts import find_url_filename


@dataclass(frozen=True, slots=True, eq=False)
class Aliases:
    """Reads and writes the aliases of resources."""

    records: Records
    blobs: BlobStore

    async def get(self, project_id: str, alias: str) -> Alias:
        """Return an alias with its resource.

        Raises:
            NotFoundError: The project has no such alias.
        """
        found = None
        if is_alias(alias):
            found = await self.records.read(project_id, lambda unit: unit[AliasRecords].find(alias))
        return require_found(found, "alias")

    async def list(
        self, project_id: str, *, uri: str | None, cursor: str | None, limit: int
    ) -> tuple[Sequence[Alias], str | None]:
        """Return up to `limit` aliases, newest first, and the next cursor.

        Args:
            project_id: The caller's project.
            uri: Return only aliases of this resource.
            cursor: The cursor that the previous list has returned.
            limit: The maximum number of aliases.

        Raises:
            InvalidPayloadError: `uri` is not the URI or id of a resource.
            InvalidCursorError: The cursor belongs to another list.
        """
        resource_id = None if uri is None else _parse_resource_id(uri, pointer="/query/uri")
        before = decode_time_cursor("aliases", cursor)
        found = await self.records.read(
            project_id,
            lambda unit: unit[AliasRecords].list(
                before=before, resource_id=resource_id, limit=limit + 1
            ),
        )
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], encode_time_cursor("aliases", last.created_at, last.alias)

    async def put(
        self,
        project_id: str,
        alias: str,
        uri: str,
        *,
        condition: WriteCondition,
        replaces_version: bool,
    ) -> tuple[Alias, bool]:
        """Assign an alias to a resource.

        Args:
            project_id: The caller's project.
            alias: The alias.
            uri: The URI or bare id of the resource. If it is an `https` URL, a link file with the
                URL is stored, and the alias is assigned to this file. The URL is not fetched.
            condition: The conditions of the request (`If-Match`, `If-None-Match`).
            replaces_version: True if `If-Match` names the version to replace.

        Returns:
            The alias, and True if it is new.

        Raises:
            InvalidPayloadError: The alias is invalid, or the resource does not exist.
            ConflictError: The alias belongs to another resource, and `replaces_version` is false.
                Or the resource has the maximum number of aliases.
            PreconditionFailedError: The condition is false.
        """
        check_alias(alias)
        link = await self._store_link(project_id, uri) if is_link(uri) else None
        resource_id = link.resource_id if link else _parse_resource_id(uri, pointer="/uri")

        def assign(unit: UnitOfWork) -> tuple[Alias, bool]:
            resource = link or unit[ResourceRecords].find(resource_id)
            if resource is None:
                raise _no_resource_error("/uri")
            # `ensure` locks the row. If the resource is derived from another one, `ensure` also
            # makes it independent, so that it is not removed together with its source.
            resource, _ = unit[ResourceRecords].ensure(resource)
            return assign_alias(
                unit, alias, resource, condition=condition, replaces_version=replaces_version
            )

        return await self.records.write(project_id, assign)

    async def _store_link(self, project_id: str, url: str) -> Resource:
        """Store a link file with a URL. Equal URLs have the same file."""
        keeper = MediaKeeper(self.blobs, project_id, limit_bytes=MAX_LINK_BYTES, now=utc_now())
        return await keeper.store(
            make_link_file(url), LINK_TYPE, safe_file_name(find_url_filename(url))
        )

    async def delete(self, project_id: str, alias: str, *, condition: WriteCondition) -> None:
        """Remove an alias. Its resource and the entries that use the alias do not change.

        Raises:
            NotFoundError: The project has no such alias.
            PreconditionFailedError: The condition is false.
        """
        if not is_alias(alias):
            raise NotFoundError("alias")

        def remove(unit: UnitOfWork) -> None:
            condition(_digest(require_found(unit[AliasRecords].find_and_lock(alias), "alias")))
            unit[AliasRecords].remove(alias)

        await self.records.write(project_id, remove)


def assign_alias(
    unit: UnitOfWork,
    alias: str,
    resource: Resource,
    *,
    condition: WriteCondition = lambda _: None,
    replaces_version: bool = False,
) -> tuple[Alias, bool]:
    """Assign an alias to a resource whose row the transaction has locked; see `Aliases.put`.

    If transactions for one alias run at the same time, each waits for the one before it.
    """
    now = utc_now()
    existing, is_new = unit[AliasRecords].ensure(alias, resource.resource_id, now=now)
    if existing.resource_id == resource.resource_id:
        written = Alias(alias, resource, existing.created_at)
        condition(None if is_new else _digest(written))
        if not is_new:
            return written, False
    else:
        other = unit[AliasRecords].find(alias)
        condition(None if other is None else _digest(other))
        if not replaces_version:
            raise _alias_taken_error()
        unit[AliasRecords].move(alias, resource.resource_id, now=now)
        written = Alias(alias, resource, now)
    unit[AliasRecords].check_count([resource.resource_id])
    return written, is_new


def check_alias_size(unit: UnitOfWork, alias: str, size_bytes: int) -> None:
    """Check, before a file is uploaded, that its alias does not belong to a file of another size.

    Files of the same size are compared after the upload.

    Raises:
        ConflictError: The sizes differ.
    """
    existing = unit[AliasRecords].find(alias)
    if existing is not None and existing.resource.size_bytes != size_bytes:
        raise _alias_taken_error()


def _alias_taken_error() -> ConflictError:
    return ConflictError(
        "The alias names another resource already. To make it name this one, send PUT "
        "/api/aliases/{alias} with `If-Match` and the ETag of GET, or delete it first. "
        "Nothing was stored.",
        code="alias-taken",
    )


def _digest(alias: Alias) -> str:
    """Return the digest from which the ETag of an alias is made."""
    return sha256(encode_alias(alias)).hexdigest()


def _parse_resource_id(uri: str, *, pointer: str) -> str:
    resource_id = parse_resource_id(uri)
    if resource_id is None:
        raise _no_resource_error(pointer)
    return resource_id


def _no_resource_error(pointer: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        "`uri` has to be the `blob:` URI or the bare id of a resource of this project, or an "
        "`https` address of at most 2,048 characters. Upload the file with POST /api/resources, "
        "and send the `uri` of the response. Nothing was stored.",
        faults=[Fault(pointer, "is no resource of this project")],
    )
