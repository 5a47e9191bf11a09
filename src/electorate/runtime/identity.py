"""Who is at the other end of a connection, as its certificate says.

A certificate names its holder by a URI, `electorate://CLUSTER/ROLE/NAME`: whoever issued it vouches
that the holder is called so, and has that role, in the cluster of that name.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote, unquote

SCHEME = "electorate"
DEFAULT_CLUSTER = "default"
"""The name of a cluster that was given none."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")


class CertificateRole(StrEnum):
    """What the holder of a certificate may be to a cluster."""

    MEMBER = "member"  # speaks and votes under its name
    CLIENT = "client"  # may ask for what members offer to others
    ADMIN = "admin"  # may also ask for what operators do


class Identity(NamedTuple):
    """Who somebody is, as far as the issuer of a certificate vouches for it."""

    cluster: str
    role: CertificateRole
    name: str

    @classmethod
    def of(cls, uris: Iterable[str]) -> "Identity":
        """The one that a certificate names; ValueError if it names none, or several."""
        found = [uri for uri in uris if uri.startswith(f"{SCHEME}://")]
        if len(found) != 1:
            raise ValueError("its certificate does not name a node of electorate")
        cluster, _, rest = found[0].removeprefix(f"{SCHEME}://").partition("/")
        role, _, name = rest.partition("/")
        cluster, name = unquote(cluster), unquote(name)
        if role not in set(CertificateRole) or not (
            NAME.fullmatch(cluster) and NAME.fullmatch(name)
        ):
            raise ValueError("its certificate names a node in a way that cannot be read")
        return cls(cluster, CertificateRole(role), name)

    @property
    def uri(self) -> str:
        """The same as it stands in a certificate."""
        return f"{SCHEME}://{quote(self.cluster)}/{self.role}/{quote(self.name)}"

    def __str__(self) -> str:
        return f"{self.role} {self.name} of cluster {self.cluster}"


class NotAuthenticated(ConnectionError):
    """Nobody knows who is at the other end, or it is not the node that was meant."""


def expect_member(proven: Identity | None, cluster: str, name: str) -> None:
    """Raise NotAuthenticated unless this is the member of that name, or nobody proves anything.

    `proven` is None only where a network has no certificates at all: where it has some, nobody that
    shows none has come as far as this.
    """
    if proven is not None and proven != (cluster, CertificateRole.MEMBER, name):
        raise NotAuthenticated(
            f"it is {proven}, not {Identity(cluster, CertificateRole.MEMBER, name)}"
        )
