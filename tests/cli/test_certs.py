"""`electorate certs`: what it makes is for its owner alone, works, and replaces nothing unasked."""

import asyncio
import stat
from pathlib import Path

import pytest

from electorate import Tls
from electorate.runtime.credentials import FileCredentials, expect_secret
from electorate.runtime.identity import CertificateRole, Identity
from tests.cli.run import runner
from tests.runtime.test_tls import Answerer, call


def test_nodes_with_its_certificates_know_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = runner(capsys), tmp_path / "certs"
    assert run("certs", "init", str(folder), "--cluster", "prod").code == 0
    issued = run("certs", "issue", str(folder), "a", "b", "--days", "30")
    assert f"{folder / 'a.pem'}: member a of cluster prod, valid until" in issued.out
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (modes, stat.S_IMODE(folder.stat().st_mode)) == ({0o600}, 0o700)
    assert {path.name for path in folder.iterdir()} == {
        *("ca.pem", "ca.key", "a.pem", "a.key", "b.pem", "b.key")
    }

    def of(name: str) -> FileCredentials:
        files = Tls(*(folder / each for each in ("ca.pem", f"{name}.pem", f"{name}.key")))
        return FileCredentials(files, Identity("prod", CertificateRole.MEMBER, name))

    async def meet() -> None:
        async with Answerer(of("b")).open() as b:
            stream = await call(of("a"), b.address)
            assert stream.proven == Identity("prod", CertificateRole.MEMBER, "b")
            stream.drop()
            await asyncio.sleep(0)

    asyncio.run(meet())


def test_what_is_there_is_replaced_only_if_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = runner(capsys), tmp_path / "certs"
    run("certs", "init", str(folder))
    run("certs", "issue", str(folder), "a", "--role", "admin")
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    for words, told in (
        (("init", str(folder)), "ca.pem is there already; --replace replaces it"),
        (("issue", str(folder), "b", "a"), "a.pem is there already; `certs renew` replaces them"),
        (("secret", str(folder / "a.key")), "a.key is there already; --replace replaces it"),
    ):
        ran = run("certs", *words)
        assert ran.code == 2
        assert ran.err.endswith(f"{told}\n")
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept
    renewed = run("certs", "renew", str(folder), "a", "--json").object["written"]
    assert renewed[0]["what"] == "admin a of cluster default", "the same name and role"
    assert (folder / "a.key").read_bytes() != kept[folder / "a.key"]
    assert "admin a" in run("certs", "show", str(folder / "a.pem")).out
    assert run("certs", "init", str(folder), "--replace").code == 0
    assert (folder / "ca.key").read_bytes() != kept[folder / "ca.key"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("issue", "{0}/none", "a"), "there is no CA in {0}/none: `certs init` makes one"),
        (("issue", "{0}", "a/b"), "'a/b' is no name"),
        (("issue", "{0}", "ca"), "a node cannot be called ca"),
        (("issue", "{0}", "a", "--days", "400"), "the CA itself is valid for"),
        (("issue", "{0}", "a", "--days", "-1"), "must be a number of days"),
        (("renew", "{0}", "a"), "a.pem is not there: `certs issue` makes it"),
        (("show", "{0}/ca.key"), "{0}/ca.key: "),
        (("show", "{0}/none"), "{0}/none: No such file"),
        (("init", "{0}/new", "--cluster", "a b"), "'a b' is no name of a cluster"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    run = runner(capsys)
    run("certs", "init", str(tmp_path), "--days", "100")
    ran = run("certs", *(word.format(tmp_path) for word in words))
    assert ran.code == 2
    assert told.format(tmp_path) in ran.err
    assert ran.err.count("\n") == 1


def test_a_secret_is_in_a_file_and_on_no_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "secret"
    ran = runner(capsys)("certs", "secret", str(path))
    assert ran.code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = expect_secret(path).decode()
    assert len(secret) == 43
    assert secret not in ran.out + ran.err
