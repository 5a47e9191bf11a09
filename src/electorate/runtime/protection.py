"""How the connections of one node are protected: by a secret, by certificates, or not at all."""

import datetime
import logging
from collections.abc import Iterable
from pathlib import Path

from electorate.runtime.credentials import (
    Credentials,
    FileCredentials,
    SecretCredentials,
    Tls,
    expect_secret,
)
from electorate.runtime.environment import Address, Environment, Transport
from electorate.runtime.identity import DEFAULT_CLUSTER, NAME, CertificateRole, Identity
from electorate.runtime.tcp import Tcp, is_local, real
from electorate.runtime.tls import TlsTransport

log = logging.getLogger("electorate")


class Protection:
    """What a node was told about its connections; all that is wrong with it is said at once.

    Nothing is read or opened before `open`, but a secret that is in a file.
    """

    def __init__(
        self,
        name: str,
        addresses: Iterable[Address],
        *,
        cluster: str = DEFAULT_CLUSTER,
        secret: str | Path | None = None,
        tls: Tls | None = None,
        insecure: bool = False,
    ) -> None:
        if not isinstance(cluster, str) or not NAME.fullmatch(cluster):
            raise ValueError(
                f"{cluster!r} is no name of a cluster: use letters, digits, '.', '_' and '-'"
            )
        if tls is not None and not isinstance(tls, Tls):
            raise TypeError(f"tls is an electorate.Tls(ca=, certificate=, key=), not {tls!r}")
        if secret is not None and tls is not None:
            raise ValueError("a secret stands in for certificates: give secret or tls, not both")
        if insecure and not (secret is None and tls is None):
            raise ValueError("insecure says that there is neither a secret nor tls: leave it out")
        self.cluster = cluster
        self.credentials: Credentials | None = None
        """What proves who this node is; None before `open`, or if nothing does."""
        self._me = Identity(cluster, CertificateRole.MEMBER, name)
        self._secret = None if secret is None else expect_secret(secret)
        self._tls = tls
        self._insecure = insecure
        self._addresses = list(addresses)
        self.expect_allowed(self._addresses)
        self._transport: Transport = (
            TlsTransport(Tcp()) if self.proves else Tcp(local_only=not insecure)
        )

    @property
    def proves(self) -> bool:
        """Whether both sides of a connection prove who they are."""
        return self._secret is not None or self._tls is not None

    def expect_allowed(self, addresses: Iterable[Address]) -> None:
        """ValueError if a connection with one of these needs more protection than there is."""
        far = next((each for each in addresses if not _is_local(each)), None)
        if far is not None and not self.proves and not self._insecure:
            host, port = far
            raise ValueError(
                f"{host}:{port} is not on this machine, and nothing would prove who is there: give "
                "all nodes the same secret, or certificates (tls), or say insecure if everybody "
                "on that network may do what a member does"
            )

    def environment(self) -> Environment:
        """What a node lives on whose connections are protected like this."""
        return real(self._transport)

    def open(self) -> None:
        """Read the files, or derive what comes of the secret; CredentialsError if that fails."""
        if self._secret is not None:
            self.credentials = SecretCredentials(self._secret, self._me)
            self._secret = b""
        elif self._tls is not None:
            self.credentials = FileCredentials(self._tls, self._me)
        if isinstance(self._transport, TlsTransport) and self.credentials is not None:
            self._transport.credentials = self.credentials
        if self._insecure and not all(map(_is_local, self._addresses)):
            log.warning(
                "%s is insecure: nothing proves who the others are, so everybody on the network "
                "may do what a member does, and read along",
                self._me.name,
            )

    @property
    def expires(self) -> datetime.datetime | None:
        """When the certificate of this node expires; None if it has none, or one that does not."""
        return None if self.credentials is None else self.credentials.expires


def _is_local(address: Address) -> bool:
    """Whether a host is this machine, and no other; names are not looked up."""
    host, _ = address
    return host == "localhost" or is_local(host)
