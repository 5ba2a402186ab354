"""The address of a database: a file of SQLite, or servers of PostgreSQL as libpq names them.

Engines and listeners connect with the same parameters, so that each form works for both. libpq
itself reads them. Its errors repeat the text that it cannot read, which may contain a password,
and do not leave this module.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from sqlalchemy import URL

DATABASE_FILE = "pagefault.db"
"""The embedded database, in the data directory."""

# `postgresql+psycopg://` is SQLAlchemy's.
_SCHEME = re.compile(r"^postgres(?:ql)?(?:\+\w+)?://")
_PORTS = re.compile(r"(?:\d{1,5})?(?:,(?:\d{1,5})?)*")
# SQLAlchemy has a parameter `host` for each server, with its port.
_HOST_AND_PORT = re.compile(r"([A-Za-z0-9.-]+):(\d+)")
_FORM = (
    "must look like postgresql://user:password@host/name, or be another connection string of "
    "libpq, with options that libpq knows; special characters are percent-encoded in a URL"
)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a database.

    `url` is SQLAlchemy's, without the parameters of libpq, which are `parameters`.
    """

    url: URL
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def conninfo(self) -> str:
        """The connection string of libpq, with the password."""
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - not loaded for SQLite

        return make_conninfo("", **self.parameters)

    @property
    def place(self) -> str:
        """The file, or the hosts and the name of the database, for the operator."""
        if not self.parameters:
            return str(self.url.database)
        hosts, ports = (self.parameters.get(name, "").split(",") for name in ("host", "port"))
        ports += ports[-1:] * (len(hosts) - len(ports))
        places = ",".join(f"{h}:{p}" if p else h for h, p in zip(hosts, ports, strict=False))
        return f"{places}/{self.parameters.get('dbname', '')}"


def parse_address(text: str | None, data_dir: Path) -> DatabaseAddress:
    """Return the address in a connection string, or of the file in the data directory for `None`.

    Of several servers, the one that can be written to is taken, unless the string says otherwise.

    Raises:
        ValueError: The connection string is invalid. The message has no part of it.
    """
    if text is None:
        return DatabaseAddress(URL.create("sqlite", database=str(data_dir / DATABASE_FILE)))
    parameters = _parse_parameters(text)
    _check_hosts(parameters.get("host", ""), parameters.get("port", ""))
    if "," in parameters.get("host", "") + parameters.get("hostaddr", ""):
        parameters.setdefault("target_session_attrs", "read-write")
    return DatabaseAddress(URL.create("postgresql+psycopg"), parameters)


def _parse_parameters(text: str) -> dict[str, str]:
    # The driver takes a while to load, and SQLite does not need it.
    from psycopg import ProgrammingError  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    text, is_url = _SCHEME.subn("postgresql://", text.strip())
    try:
        parameters = {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except ProgrammingError:
        raise ValueError(_FORM) from None
    # An @ behind the first slash is part of a password with a slash, which is no host then.
    is_cut = is_url and "@" in text.partition("?")[0].partition("://")[2].partition("/")[2]
    if is_cut or not (parameters or is_url):
        raise ValueError(_FORM)
    return parameters | (_servers_of_sqlalchemy(text) if is_url else {})


def _servers_of_sqlalchemy(url: str) -> dict[str, str]:
    """Return the hosts and ports of `?host=first:5432&host=second:5432`, else nothing."""
    hosts = [value for name, value in parse_qsl(url.rpartition("?")[2]) if name == "host"]
    named = [_HOST_AND_PORT.fullmatch(host) for name in hosts for host in name.split(",")]
    if not any(named) and len(hosts) < 2:
        return {}
    servers = [
        match.groups() if match else (host, "")
        for match, host in zip(named, ",".join(hosts).split(","), strict=True)
    ]
    return {"host": ",".join(h for h, _ in servers), "port": ",".join(p for _, p in servers)}


def _check_hosts(hosts: str, ports: str) -> None:
    """Refuse parts of a user or password that a driver would resolve as a host."""
    if "@" in hosts:
        raise ValueError("has an @ before the one behind the password: write it as %40")
    if not _PORTS.fullmatch(ports):
        raise ValueError(_FORM)
    for host in hosts.split(","):
        try:
            # As the driver does.
            _ = host.encode("idna") if not host.startswith("/") else None
        except UnicodeError:
            raise ValueError("has a host that is no name, such as db.internal") from None
