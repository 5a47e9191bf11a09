"""Certificates: a CA, and what it vouches for.

All keys are Ed25519: small, quick, and made from any 32 bytes, which is what a cluster secret is
turned into. A CA of our own issues certificates for `electorate://CLUSTER/ROLE/NAME`.
"""

import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from electorate.runtime.identity import Identity

BEGINNING = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
FOR_EVER = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
"""RFC 5280 has this date for certificates that do not expire."""


class Validity(NamedTuple):
    """From when until when something is valid."""

    begin: datetime.datetime
    end: datetime.datetime

    @classmethod
    def of_days(cls, days: float, now: datetime.datetime | None = None) -> "Validity":
        """So many days from now; it begins earlier, because clocks differ."""
        now = now or datetime.datetime.now(datetime.UTC)
        return cls(now - datetime.timedelta(hours=1), now + datetime.timedelta(days=days))


WHATEVER_THE_CLOCK = Validity(BEGINNING, FOR_EVER)
"""For certificates that a process makes for itself: no wall clock has to be right."""


class Pair(NamedTuple):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Ed25519PrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as a file has it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self, password: bytes | None = None) -> bytes:
        """The key as a file has it, readable only with the password if there is one."""
        lock: serialization.KeySerializationEncryption = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password)
        )
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock
        )


def read_pair(certificate: bytes, key: bytes) -> Pair:
    """The two from their files; ValueError if they are of another kind, or do not fit."""
    try:
        read = Pair(read_certificate(certificate), _read_key(key))
    except TypeError:
        raise ValueError("the key needs a password") from None
    if read.key.public_key() != read.certificate.public_key():
        raise ValueError("the key is not that of the certificate")
    return read


def _read_key(pem: bytes) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("the key is of another kind than those that are made here")
    return key


def make_ca(cluster: str, key: Ed25519PrivateKey, validity: Validity) -> Pair:
    """The CA of a cluster."""
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, cluster),
            x509.NameAttribute(NameOID.COMMON_NAME, "electorate"),
        ]
    )
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(validity.begin)
        .not_valid_after(validity.end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(own, critical=False)
    )
    return Pair(built.sign(key, None), key)


def issue(ca: Pair, identity: Identity, validity: Validity) -> Pair:
    """A new key, and a certificate by which this CA vouches that its holder is this."""
    key = Ed25519PrivateKey.generate()
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key())
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    uri = x509.UniformResourceIdentifier(identity.uri)
    built = (
        x509.CertificateBuilder(ca.certificate.subject, _name(identity.name), key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.begin)
        .not_valid_after(validity.end)
        .add_extension(x509.SubjectAlternativeName([uri]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(own, critical=False)
        .add_extension(by, critical=False)
    )
    return Pair(built.sign(ca.key, None), key)


def read_certificate(pem: bytes) -> x509.Certificate:
    """The first certificate of a file; ValueError if there is none."""
    return x509.load_pem_x509_certificate(pem)


def identity_in(certificate: x509.Certificate) -> Identity:
    """Whom a certificate names; ValueError if it names nobody that is known here."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Identity.of(())
    return Identity.of(names.get_values_for_type(x509.UniformResourceIdentifier))


def cluster_of_ca(certificate: x509.Certificate) -> str | None:
    """The cluster whose CA this is; None if it is none that was made here."""
    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        names = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    except x509.ExtensionNotFound:
        return None
    return str(names[0].value) if basic.ca and len(names) == 1 else None


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
