"""Access: which project a caller belongs to, by the key that it sends."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.errors import UnauthorizedError
from app.models.identity import utc_now
from app.models.project import ApiKey, new_api_key, parse_api_key
from app.stores.records import Records
from app.stores.records.projects import ProjectRecords


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: a project, and the key that was shown, where one is asked for.

    An operator works on the stores themselves, and is asked for none.
    """

    project_id: str
    key_id: str | None = None
    is_operator: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Says which project a request belongs to.

    Args:
        records: Where keys are kept.
        default_project: The project of every request, where no key is asked for; else `None`.
    """

    records: Records
    default_project: str | None

    async def caller_of(self, authorization: str | None) -> Caller:
        """Return who has the key in an `Authorization` header.

        Raises:
            UnauthorizedError: There is no key, or it is unknown or revoked.
        """
        if self.default_project is not None:
            return Caller(self.default_project)
        scheme, _, token = (authorization or "").partition(" ")
        presented = parse_api_key(token.strip()) if scheme.lower() == "bearer" else None
        if presented is None:
            raise UnauthorizedError
        stored = await self.records.read_projects(
            lambda projects: projects.find_secret(presented.key_id)
        )
        if not presented.opens(stored) or stored is None:
            raise UnauthorizedError
        return Caller(stored.project_id, presented.key_id)

    async def check(self, caller: Caller) -> None:
        """Check that a caller that had access once still has it.

        Raises:
            UnauthorizedError: The key is revoked.
        """
        if await self.revoked_callers([caller]):
            raise UnauthorizedError

    async def revoked_callers(self, callers: Iterable[Caller]) -> set[Caller]:
        """Return those of several callers that no longer have access: their keys are revoked."""
        wanted = {each for each in callers if not each.is_operator}
        if self.default_project is not None:
            return wanted - {Caller(self.default_project)}
        valid = await self.records.read_projects(
            lambda projects: projects.valid_keys({each.key_id for each in wanted if each.key_id})
        )
        return {each for each in wanted if each.key_id not in valid}

    async def ensure_project(self, project_id: str) -> None:
        """Create a project unless it is there."""
        await self.records.write_projects(lambda projects: projects.ensure(project_id, utc_now()))

    async def create_key(self, project_id: str, label: str) -> str:
        """Make a key and, if need be, its project; return the key, which is not kept."""
        presented = new_api_key()
        now = utc_now()
        key = ApiKey(presented.key_id, project_id, label, presented.secret_sha256, now, None)

        def add(projects: ProjectRecords) -> None:
            projects.ensure(project_id, now)
            projects.add_key(key)

        await self.records.write_projects(add)
        return str(presented)

    async def list_keys(self) -> list[ApiKey]:
        """Return all keys of all projects, oldest first, revoked ones included."""
        return await self.records.read_projects(lambda projects: projects.list_keys())

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke a key at once; return whether there was a valid one with this id."""
        return await self.records.write_projects(
            lambda projects: projects.revoke_key(key_id, utc_now())
        )
