"""How the connections of a node are protected, as options; a secret is never one itself."""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from electorate.cli.error import UsageError
from electorate.runtime.credentials import SECRET_VARIABLE, Tls
from electorate.runtime.environment import Address
from electorate.runtime.identity import DEFAULT_CLUSTER
from electorate.runtime.protection import Protection


def add_secret_arguments(parser: argparse.ArgumentParser) -> None:
    """The name of a cluster, and its secret."""
    parser.add_argument(
        "--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="its name; default 'default'"
    )
    parser.add_argument(
        "--secret-file",
        type=Path,
        metavar="FILE",
        help=f"a secret that all nodes share; or {SECRET_VARIABLE} has it",
    )


def add_protection_arguments(parser: argparse.ArgumentParser) -> None:
    """The same, certificates, and that there is nothing of the kind."""
    add_secret_arguments(parser)
    for name, told in (
        ("ca", "the CA by which the others are known"),
        ("cert", "the certificate of this node"),
        ("key", "its private key"),
    ):
        parser.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help=told)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="on other addresses than loopback, prove nothing: everybody there is believed",
    )


def secret_words(options: argparse.Namespace) -> list[str]:
    """Cluster and secret, to be handed on to a node."""
    words = ["--cluster", options.cluster]
    if options.secret_file is not None:
        words += ["--secret-file", str(options.secret_file)]
    return words


def protection_of(
    options: argparse.Namespace, name: str, addresses: Iterable[Address]
) -> Protection:
    """What these options say about a node; UsageError if they do not fit together."""
    files = [options.tls_ca, options.tls_cert, options.tls_key]
    if any(files) and not all(files):
        raise UsageError("--tls-ca, --tls-cert and --tls-key belong together")
    secret = options.secret_file
    if secret is None and not any(files) and not options.insecure:
        secret = os.environ.get(SECRET_VARIABLE)
    try:
        return Protection(
            name,
            addresses,
            cluster=options.cluster,
            secret=secret,
            tls=Tls(*files) if any(files) else None,
            insecure=options.insecure,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
