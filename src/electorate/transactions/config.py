"""A cluster as a file: who its members are, and where each keeps its data.

    election = "bully"
    cluster = "bank"
    secret_file = "cluster.secret"

    [members.savings]
    address = "10.0.0.1:7400"
    database = "sqlite:savings.db"

    [members.checking]
    address = "10.0.0.2:7400"
    database = "postgresql://bank@10.0.0.2/checking"

    [members.atm]
    address = "10.0.0.3:7400"

Every member has the same file. Paths in it are relative to it, and so is the folder `data/NAME`
that a member keeps its log in. Instead of a `secret_file` there may be `[tls]` with `ca`,
`certificate` and `key`, in which `{name}` stands for the name of the member; or `insecure = true`.
"""

import os
import tomllib
from pathlib import Path
from typing import Literal, TypedDict

import msgspec

from electorate.runtime.credentials import SECRET_VARIABLE, Tls
from electorate.runtime.identity import DEFAULT_CLUSTER
from electorate.transactions.access import Access
from electorate.transactions.postgres import Postgres
from electorate.transactions.recovery import USUAL
from electorate.transactions.resource import Resource
from electorate.transactions.sqlite import Sqlite


class ConfiguredMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member, as the file has it."""

    address: str
    database: str | None = None
    """`sqlite:FILE`, or a connection URI of PostgreSQL; None for a member that only asks."""
    operations: dict[str, str] = {}
    """Statements that others may call by name, with values bound to them."""
    allow: Literal["sql"] | dict[str, Literal["sql"] | list[str]] | None = None
    """Who may run any statement, or call which operations; see access.py for what else holds."""
    seconds: float = Access().seconds
    rows: int = Access().rows
    size: int = Access().size

    def access(self) -> Access:
        """What others may have its database do."""
        return Access(
            operations=self.operations,
            allow=self.allow,
            seconds=self.seconds,
            rows=self.rows,
            size=self.size,
        )


class TlsFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of each member; `{name}` in a path is its name."""

    ca: str
    certificate: str
    key: str

    def of(self, folder: Path, name: str) -> Tls:
        """Those of one member."""
        paths = (self.ca, self.certificate, self.key)
        return Tls(*(folder / path.replace("{name}", name) for path in paths))


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    members: dict[str, ConfiguredMember]
    election: str = USUAL
    """The protocol that elects the node that finds out decisions."""
    data: str = "data"
    cluster: str = DEFAULT_CLUSTER
    secret_file: str | None = None
    tls: TlsFiles | None = None
    insecure: bool = False

    @classmethod
    def read(cls, path: Path) -> "Config":
        """Read a file; ValueError if it is not like this."""
        try:
            return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), cls)
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            raise ValueError(f"{path}: {error}") from None


class Arguments(TypedDict):
    """The arguments of `Node`."""

    me: str
    members: list[str]
    data_dir: Path
    database: Resource | None
    recovery: str
    cluster: str
    secret: str | Path | None
    tls: Tls | None
    insecure: bool


def arguments(path: Path, me: str) -> Arguments:
    """The arguments of one member: `Node(**arguments(path, me))`."""
    config = Config.read(path)
    if me not in config.members:
        raise ValueError(f"{path}: no member is called {me!r}")
    return {
        "me": me,
        "members": [f"{name}@{member.address}" for name, member in config.members.items()],
        "data_dir": path.parent / config.data / me,
        "database": _database(path, me, config.members[me]),
        "recovery": config.election,
        "cluster": config.cluster,
        "secret": _secret(path.parent, config),
        "tls": None if config.tls is None else config.tls.of(path.parent, me),
        "insecure": config.insecure,
    }


def _secret(folder: Path, config: Config) -> str | Path | None:
    """The secret in a file, or else in the environment; None if something else is used."""
    if config.secret_file is not None:
        return folder / config.secret_file
    return None if config.tls or config.insecure else os.environ.get(SECRET_VARIABLE)


def _database(path: Path, name: str, member: ConfiguredMember) -> Resource | None:
    text = member.database
    if text is None:
        return None
    try:
        access = member.access()
    except ValueError as error:
        raise ValueError(f"{path}: {name}: {error}") from None
    if text.startswith("sqlite:"):
        return Sqlite(path.parent / text.removeprefix("sqlite:"), access=access)
    if text.startswith(("postgresql:", "postgres:")):
        return Postgres(name, text, access=access)
    raise ValueError(f"{name}: a database is sqlite:FILE or postgresql://…, not {text!r}")
