"""The address of a database: a SQLite file, or PostgreSQL servers in a connection string of libpq.

libpq parses the connection string, so engines and listeners accept the same forms. The errors of
libpq repeat the invalid text, which may contain a password, so they do not leave this module.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from sqlalchemy import URL

DATABASE_FILE = "pagefault.db"
"""The embedded database, in the data directory."""

# SQLAlchemy's form is `postgresql+psycopg://`.
_SCHEME = re.compile(r"^postgres(?:ql)?(?:\+\w+)?://")
_PORTS = re.compile(r"(?:\d{1,5})?(?:,(?:\d{1,5})?)*")
# In SQLAlchemy's form, each server has a parameter `host=name:port`.
_HOST_AND_PORT = re.compile(r"([A-Za-z0-9.-]+):(\d+)")
_EXPECTED_FORM = (
    "must look like postgresql://user:password@host/name, or be another connection string of "
    "libpq, with options that libpq knows; special characters are percent-encoded in a URL"
)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a database."""

    url: URL
    """The URL for SQLAlchemy; for PostgreSQL, only the name of the driver."""
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The parameters of libpq, with the password; empty for SQLite."""

    @property
    def conninfo(self) -> str:
        """The connection string of libpq, with the password."""
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - not loaded for SQLite

        return make_conninfo("", **self.parameters)

    @property
    def display_name(self) -> str:
        """The file, or the hosts and the name of the database, without user and password."""
        if not self.parameters:
            return str(self.url.database)
        hosts, ports = (self.parameters.get(name, "").split(",") for name in ("host", "port"))
        ports += ports[-1:] * (len(hosts) - len(ports))
        servers = ",".join(f"{h}:{p}" if p else h for h, p in zip(hosts, ports, strict=False))
        return f"{servers}/{self.parameters.get('dbname', '')}"


def parse_address(text: str | None, data_dir: Path) -> DatabaseAddress:
    """Return the address in a connection string; for `None`, the SQLite file in the data directory.

    If the string has several servers, the primary is used, unless `target_session_attrs` is set.

    Raises:
        ValueError: The connection string is invalid. The message contains no part of it.
    """
    if text is None:
        return DatabaseAddress(URL.create("sqlite", database=str(data_dir / DATABASE_FILE)))
    parameters = _parse_parameters(text)
    _check_hosts(parameters.get("host", ""), parameters.get("port", ""))
    if "," in parameters.get("host", "") + parameters.get("hostaddr", ""):
        parameters.setdefault("target_session_attrs", "read-write")
    return DatabaseAddress(URL.create("postgresql+psycopg"), parameters)


def _parse_parameters(text: str) -> dict[str, str]:
    # The driver takes long to load, and SQLite does not need it.
    from psycopg import ProgrammingError  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    text, is_url = _SCHEME.subn("postgresql://", text.strip())
    try:
        parameters = {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except ProgrammingError:
        raise ValueError(_EXPECTED_FORM) from None
    # If the password has a slash, libpq reads the part of the password before it as the host.
    is_cut = is_url and "@" in text.partition("?")[0].partition("://")[2].partition("/")[2]
    if is_cut or not (parameters or is_url):
        raise ValueError(_EXPECTED_FORM)
    return parameters | (_parse_sqlalchemy_hosts(text) if is_url else {})


def _parse_sqlalchemy_hosts(url: str) -> dict[str, str]:
    """Return the hosts and ports of `?host=first:5432&host=second:5432`; empty for other forms."""
    hosts = [value for name, value in parse_qsl(url.rpartition("?")[2]) if name == "host"]
    names = ",".join(hosts).split(",")
    matches = [_HOST_AND_PORT.fullmatch(name) for name in names]
    if not any(matches) and len(hosts) < 2:
        return {}
    servers = [
        match.groups() if match else (name, "") for match, name in zip(matches, names, strict=True)
    ]
    return {"host": ",".join(h for h, _ in servers), "port": ",".join(p for _, p in servers)}


def _check_hosts(hosts: str, ports: str) -> None:
    """Raise ValueError if a host or port is invalid, as when a password is not percent-encoded."""
    if "@" in hosts:
        raise ValueError("has an @ before the one behind the password: write it as %40")
    if not _PORTS.fullmatch(ports):
        raise ValueError(_EXPECTED_FORM)
    for host in hosts.split(","):
        if host.startswith("/"):
            continue
        try:
            # The driver encodes host names in the same way.
            host.encode("idna")
        except UnicodeError:
            raise ValueError("has a host that is no name, such as db.internal") from None
