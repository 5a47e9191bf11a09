"""What a node shows to prove who it is, and by what it knows the others.

There is one way: both sides of a connection show certificates of one CA. It comes from files, or
from a secret that all nodes of a cluster know. Of the secret and the name of the cluster everybody
makes the same key of a CA, by scrypt; with it each process issues itself a certificate, for a key
that it has just made and that never leaves it. To show a valid certificate is to know the secret.
"""

import datetime
import hashlib
import logging
import math
import secrets
import ssl
import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from electorate.errors import CredentialsError
from electorate.runtime.identity import Identity
from electorate.runtime.private import is_open_to_others

SECRET_VARIABLE = "ELECTORATE_SECRET"
"""The environment variable in which commands look for a secret."""
SECRET_MIN, DISTINCT_MIN = 20, 8
"""Characters, and different ones. Anybody who can connect is shown a certificate, and can try out
secrets against it at home: each try costs what `SCRYPT` says, and this many random ones are too
many. No rule can see whether they are random: `electorate certs secret` makes some that are."""
SCRYPT = {"n": 1 << 16, "r": 8, "p": 1, "maxmem": 128 << 20, "dklen": 32}
"""64 MiB and a tenth of a second for each try; every process pays for one when it starts."""
SALT = b"electorate cluster secret 1 "
SETTLE_S = 2.0
"""How long files that do not fit each other may still be about to be replaced."""
DAY_S = 86_400.0

log = logging.getLogger("electorate.runtime")


@dataclass(frozen=True)
class Tls:
    """The files that mutual TLS needs, all in PEM; they are read again when they change."""

    ca: Path | str
    """The certificates of one CA or more, by which the others are known."""
    certificate: Path | str
    """The certificate of this node, and those between it and the CA, if there are any."""
    key: Path | str
    """Its private key."""


class Credentials(ABC):
    """Two contexts of OpenSSL, for who calls and for who answers."""

    calling: ssl.SSLContext
    answering: ssl.SSLContext
    hint: str
    """Why a certificate is turned down, usually."""
    expires: datetime.datetime | None = None
    """When the certificate of this node expires; None if it never does."""

    @abstractmethod
    def refresh(self) -> None:
        """Use what has changed from now on, and warn of what is about to expire."""


class SecretCredentials(Credentials):
    """Made from a secret: each process has a certificate of its own, which never expires."""

    hint = "another secret, or another name of the cluster"

    def __init__(self, secret: bytes, me: Identity) -> None:
        # What only this needs is not loaded by a node without certificates.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        from electorate.runtime.certificate import WHATEVER_THE_CLOCK, issue, make_ca

        derived = hashlib.scrypt(secret, salt=SALT + me.cluster.encode(), **SCRYPT)
        key = Ed25519PrivateKey.from_private_bytes(derived)
        ca = make_ca(me.cluster, key, WHATEVER_THE_CLOCK)
        own = issue(ca, me, WHATEVER_THE_CLOCK)
        # OpenSSL takes keys from files only. What is on the disk for a moment is locked.
        password = secrets.token_hex(16)
        with tempfile.TemporaryDirectory(prefix="electorate-") as folder:
            path = Path(folder) / "own.pem"
            path.write_bytes(own.certificate_pem + own.key_pem(password.encode()))
            self.calling, self.answering = contexts(
                ca.certificate_pem.decode(), path, path, password
            )

    def refresh(self) -> None:
        """Nothing ever changes."""


class FileCredentials(Credentials):
    """Files, which may be replaced while the node runs."""

    hint = "another CA, or a certificate that has expired"

    def __init__(self, files: Tls, me: Identity) -> None:
        self._files = [Path(each) for each in (files.ca, files.certificate, files.key)]
        self._me = me
        self._seen = self._look()
        self._load()
        self._broken: tuple[float, str] | None = None
        """Since when the files cannot be used, and why."""
        self._warned_s = math.inf
        """How long the certificate was still valid when that was last said."""
        self.refresh()

    def refresh(self) -> None:
        """Use files that have changed; those that cannot be used change nothing."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            self._reload()
        elif self._broken is not None and time.monotonic() > self._broken[0] + SETTLE_S:
            log.error(
                "%s goes on with the certificate that it had: %s", self._me.name, self._broken[1]
            )
            self._broken = None
        self._warn()

    def _reload(self) -> None:
        try:
            self._load()
        except CredentialsError as error:
            # Of three files one is replaced first: the others may be about to follow.
            self._broken = time.monotonic(), str(error)
        else:
            self._broken, self._warned_s = None, math.inf
            log.info("%s uses new certificates, valid until %s", self._me.name, self._until)

    def _look(self) -> list[tuple[int, int, int] | None]:
        """By what it can be seen that files have changed."""
        found: list[tuple[int, int, int] | None] = []
        for path in self._files:
            try:
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                found.append(None)
        return found

    def _load(self) -> None:
        from electorate.runtime.certificate import identity_in, read_certificate

        ca, certificate, key = self._files
        try:
            own = read_certificate(certificate.read_bytes())
            named = identity_in(own)
            if named != self._me:
                raise CredentialsError(f"{certificate} is for {named}, not for {self._me}")
            loaded = contexts(ca.read_text(encoding="ascii"), certificate, key)
            begins, ends = own.not_valid_before_utc, own.not_valid_after_utc
        except ssl.SSLError as error:
            why = (error.reason or str(error)).lower().replace("_", " ")
            wrong = f"{certificate} and {key} cannot be used together with {ca}: {why}"
            raise CredentialsError(wrong) from None
        except OSError as error:
            raise CredentialsError(f"{error.filename}: {error.strerror}") from None
        except ValueError as error:
            raise CredentialsError(f"{certificate}: {error}") from None
        if is_open_to_others(key):
            log.warning("%s is open to others: chmod 600 %s", key, key)
        self.calling, self.answering = loaded
        self._begins, self.expires = begins, ends

    @property
    def _until(self) -> str:
        return "for ever" if self.expires is None else f"{self.expires:%Y-%m-%d %H:%M} UTC"

    def _warn(self) -> None:
        """Say that the certificate expires: in the last third, and whenever half of it is over."""
        assert self.expires is not None
        left_s = self.expires.timestamp() - time.time()
        whole_s = (self.expires - self._begins).total_seconds()
        if left_s <= 0:
            if self._warned_s > 0:
                self._warned_s = 0.0
                log.error(
                    "the certificate of %s has expired at %s: nobody lets it in anew",
                    *(self._me.name, self._until),
                )
        elif left_s < whole_s / 3 and left_s < self._warned_s / 2:
            self._warned_s = left_s
            log.warning(
                "the certificate of %s expires in %.1f days, at %s: renew it",
                *(self._me.name, left_s / DAY_S, self._until),
            )


def contexts(
    ca: str, certificate: Path, key: Path, password: str | None = None
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For who calls, and for who answers: both show a certificate, and ask for one of this CA."""
    calling = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    answering = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for context in (calling, answering):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
        # Names of hosts prove nothing here; who is meant is compared with who is named.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=ca)
        # A key that needs a password is refused, and not asked for on the terminal.
        context.load_cert_chain(certificate, key, password or "")
    # Every connection proves everything anew.
    answering.num_tickets = 0
    return calling, answering


def expect_secret(secret: str | Path) -> bytes:
    """The secret, or what is in its file; ValueError if it is too easily guessed."""
    where = "the secret"
    if isinstance(secret, Path):
        where = f"the secret in {secret}"
        try:
            text = secret.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ValueError(f"{where} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{where} is no text") from None
        if is_open_to_others(secret):
            log.warning("%s is open to others: chmod 600 %s", secret, secret)
    elif isinstance(secret, str):
        text = secret
    else:
        raise TypeError(f"a secret is a text, or the Path of a file: not {type(secret).__name__}")
    if len(text) < SECRET_MIN or len(set(text)) < DISTINCT_MIN:
        raise ValueError(
            f"{where} is too easily guessed: it needs {SECRET_MIN} characters, {DISTINCT_MIN} of "
            "them different; `electorate certs secret FILE` makes one"
        )
    return text.encode()


def new_secret() -> str:
    """A secret that nobody can guess: 256 random bits."""
    return secrets.token_urlsafe(32)
