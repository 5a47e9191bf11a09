"""A CA for tests, what it issues, and a secret."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from electorate.runtime.certificate import Validity, issue, make_ca
from electorate.runtime.credentials import Credentials, SecretCredentials, Tls
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole, Identity
from electorate.runtime.private import write_private_file

SECRET = "correct horse battery staple 17"


class Authority:
    """A CA with a folder for what it issues."""

    def __init__(self, folder: Path, cluster: str = DEFAULT_CLUSTER) -> None:
        self.folder = folder
        self.cluster = cluster
        self.ca = make_ca(cluster, Ed25519PrivateKey.generate(), Validity.of_days(10))
        folder.mkdir(mode=0o700, exist_ok=True)
        write_private_file(folder / "ca.pem", self.ca.certificate_pem)

    def issue(
        self,
        name: str,
        days: float = 1.0,
        role: CertificateRole = CertificateRole.MEMBER,
        file: str = "",
    ) -> Tls:
        """The files of a node, under this name or another."""
        own = issue(self.ca, Identity(self.cluster, role, name), Validity.of_days(days))
        certificate, key = (self.folder / f"{file or name}.{end}" for end in ("pem", "key"))
        write_private_file(certificate, own.certificate_pem)
        write_private_file(key, own.key_pem())
        return Tls(self.folder / "ca.pem", certificate, key)


def member(name: str, cluster: str = DEFAULT_CLUSTER) -> Identity:
    return Identity(cluster, CertificateRole.MEMBER, name)


def from_secret(name: str, secret: str = SECRET, cluster: str = DEFAULT_CLUSTER) -> Credentials:
    return SecretCredentials(secret.encode(), member(name, cluster))
