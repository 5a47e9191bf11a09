"""`electorate certs`: a CA for a cluster, certificates for its nodes, and secrets."""

import argparse
import datetime
import json
import os
from pathlib import Path
from typing import Any

from electorate.cli.error import EXIT_DONE, UsageError
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole, Identity
from electorate.runtime.identity import NAME as NAMES
from electorate.runtime.private import make_private_folder, write_private_file

NAME = "certs"
SUMMARY = "Make certificates for the nodes of a cluster, or a secret that stands in for them."
EXAMPLES = """examples:
  electorate certs init certs --cluster prod     a CA: keep certs/ca.key away from the nodes
  electorate certs issue certs a b c             a.pem and a.key, and so on: one for each node
  electorate certs issue certs me --role admin   for a person
  electorate certs renew certs a --days 30       a new key and certificate of the same name and role
  electorate certs show certs/a.pem              whom it names, and until when
  electorate certs secret cluster.secret         no CA: every node gets this file

A node gets ca.pem, and its own two files: Node(…, cluster="prod", tls=Tls("ca.pem", "a.pem",
"a.key")). It uses files that were replaced from its next handshake on; it need not be restarted."""

CA_DAYS, NODE_DAYS = 3650.0, 90.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions of `certs`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    init = _action(actions, "init", "make a CA")
    init.add_argument("folder", type=Path, metavar="FOLDER", help="where it is kept")
    init.add_argument("--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="of which cluster")
    _add_days(init, CA_DAYS)
    for name, told in (
        ("issue", "issue certificates, each with a new key"),
        ("renew", "issue them again, to the same names and roles"),
    ):
        action = _action(actions, name, told)
        action.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the CA")
        action.add_argument(
            "names", nargs="+", metavar="NAME", help="of a node, as members have it"
        )
        if name == "issue":
            action.add_argument(
                "--role",
                choices=[*CertificateRole],
                default=CertificateRole.MEMBER,
                type=CertificateRole,
            )
        _add_days(action, NODE_DAYS)
    show = _action(actions, "show", "say what is in certificates")
    show.add_argument("files", nargs="+", type=Path, metavar="FILE")
    secret = _action(actions, "secret", "make a secret that nobody can guess")
    secret.add_argument("file", type=Path, metavar="FILE")
    for action in (init, secret):
        action.add_argument("--replace", action="store_true", help="replace what is there")


def _action(actions: Any, name: str, told: str) -> argparse.ArgumentParser:
    action: argparse.ArgumentParser = actions.add_parser(name, help=told, description=told)
    action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)
    return action


def _add_days(action: argparse.ArgumentParser, usual: float) -> None:
    action.add_argument(
        "--days", type=_days, default=usual, metavar="DAYS", help=f"how long; default {usual:g}"
    )


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= 36_500:
        raise argparse.ArgumentTypeError(f"must be a number of days up to 36500, not {text}")
    return days


def run(options: argparse.Namespace) -> int:
    """Carry out the command."""
    try:
        told = {
            "init": _init,
            "issue": _issue,
            "renew": _renew,
            "show": _show,
            "secret": _secret,
        }[options.action](options)
    except OSError as error:
        raise UsageError(f"{error.filename or 'certs'}: {error.strerror or error}") from None
    if options.json:
        print(json.dumps({"written" if options.action != "show" else "certificates": told}))
    else:
        for each in told:
            print(_line(each))
    return EXIT_DONE


def _line(told: dict[str, Any]) -> str:
    until = f", valid until {told['expires']}" if "expires" in told else ""
    return f"{told['file']}: {told['what']}{until}"


def _init(options: argparse.Namespace) -> list[dict[str, Any]]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from electorate.runtime.certificate import Validity, make_ca

    if not NAMES.fullmatch(options.cluster):
        raise UsageError(f"{options.cluster!r} is no name of a cluster")
    files = _ca_files(options.folder)
    if not options.replace:
        _expect_none(*files)
    make_private_folder(options.folder)
    ca = make_ca(options.cluster, Ed25519PrivateKey.generate(), Validity.of_days(options.days))
    write_private_file(files[1], ca.key_pem())
    write_private_file(files[0], ca.certificate_pem)
    return [
        _told(files[0], f"the CA of cluster {options.cluster}", ca.certificate.not_valid_after_utc),
        _told(files[1], "its key: who has it can be anybody"),
    ]


def _issue(options: argparse.Namespace) -> list[dict[str, Any]]:
    ca, cluster = _read_ca(options.folder)
    for name in options.names:
        if not NAMES.fullmatch(name):
            raise UsageError(f"{name!r} is no name: use letters, digits, '.', '_' and '-'")
        if name == "ca":
            raise UsageError("a node cannot be called ca: its files would be those of the CA")
        _expect_none(*_own_files(options.folder, name), hint="; `certs renew` replaces them")
    wanted = [Identity(cluster, options.role, name) for name in options.names]
    return [told for each in wanted for told in _write(options, ca, each)]


def _renew(options: argparse.Namespace) -> list[dict[str, Any]]:
    from electorate.runtime.certificate import identity_in, read_certificate

    ca, cluster = _read_ca(options.folder)
    wanted = []
    for name in options.names:
        certificate, _ = _own_files(options.folder, name)
        try:
            before = identity_in(read_certificate(certificate.read_bytes()))
        except FileNotFoundError:
            raise UsageError(f"{certificate} is not there: `certs issue` makes it") from None
        except ValueError as error:
            raise UsageError(f"{certificate}: {error}") from None
        wanted.append(before._replace(cluster=cluster))
    return [told for each in wanted for told in _write(options, ca, each)]


def _write(options: argparse.Namespace, ca: Any, wanted: Identity) -> list[dict[str, Any]]:
    from electorate.runtime.certificate import Validity, issue

    validity = Validity.of_days(options.days)
    if validity.end > ca.certificate.not_valid_after_utc:
        left = (ca.certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)).days
        raise UsageError(f"the CA itself is valid for {left} more days: say --days {max(left, 1)}")
    own = issue(ca, wanted, validity)
    certificate, key = _own_files(options.folder, wanted.name)
    write_private_file(key, own.key_pem())
    write_private_file(certificate, own.certificate_pem)
    return [
        _told(certificate, str(wanted), own.certificate.not_valid_after_utc),
        _told(key, "its key"),
    ]


def _show(options: argparse.Namespace) -> list[dict[str, Any]]:
    from electorate.runtime.certificate import cluster_of_ca, identity_in, read_certificate

    found = []
    for file in options.files:
        try:
            certificate = read_certificate(file.read_bytes())
            cluster = cluster_of_ca(certificate)
            what = str(identity_in(certificate)) if cluster is None else f"the CA of {cluster}"
        except ValueError as error:
            raise UsageError(f"{file}: {error}") from None
        found.append(_told(file, what, certificate.not_valid_after_utc))
    return found


def _secret(options: argparse.Namespace) -> list[dict[str, Any]]:
    from electorate.runtime.credentials import new_secret

    if not options.replace:
        _expect_none(options.file)
    write_private_file(options.file, f"{new_secret()}\n".encode())
    return [_told(options.file, "a secret of 256 random bits: who has it can be anybody")]


def _told(file: Path, what: str, expires: datetime.datetime | None = None) -> dict[str, Any]:
    told = {"file": str(file), "what": what}
    return told if expires is None else {**told, "expires": f"{expires:%Y-%m-%d %H:%M} UTC"}


def _ca_files(folder: Path) -> tuple[Path, Path]:
    return folder / "ca.pem", folder / "ca.key"


def _own_files(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.pem", folder / f"{name}.key"


def _read_ca(folder: Path) -> tuple[Any, str]:
    """The CA in a folder, and the name of its cluster."""
    from electorate.runtime.certificate import cluster_of_ca, read_pair

    certificate, key = _ca_files(folder)
    try:
        ca = read_pair(certificate.read_bytes(), key.read_bytes())
        cluster = cluster_of_ca(ca.certificate)
    except FileNotFoundError:
        raise UsageError(f"there is no CA in {folder}: `certs init` makes one") from None
    except ValueError as error:
        raise UsageError(f"{certificate} and {key}: {error}") from None
    if cluster is None:
        raise UsageError(f"{certificate} is no CA that `certs init` has made")
    return ca, cluster


def _expect_none(*files: Path, hint: str = "; --replace replaces it") -> None:
    """UsageError if one of these is there: what others rely on may hang on it."""
    for file in files:
        if os.path.lexists(file):
            raise UsageError(f"{file} is there already{hint}")
