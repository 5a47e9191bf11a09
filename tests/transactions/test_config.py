"""How a file of a cluster says what protects its connections."""

from pathlib import Path

import pytest

from electorate import Tls
from electorate.transactions.config import arguments

MEMBERS = '[members.a]\naddress = "10.0.0.1:7400"\n'


def read(folder: Path, text: str) -> tuple[object, object, object, object]:
    path = folder / "bank.toml"
    path.write_text(text + MEMBERS)
    given = arguments(path, "a")
    return given["cluster"], given["secret"], given["tls"], given["insecure"]


def test_files_of_secrets_and_certificates_are_beside_the_file(tmp_path: Path) -> None:
    secret = 'cluster = "bank"\nsecret_file = "cluster.secret"\n'
    assert read(tmp_path, secret) == ("bank", tmp_path / "cluster.secret", None, False)
    files = (
        '[tls]\nca = "certs/ca.pem"\ncertificate = "certs/{name}.pem"\nkey = "certs/{name}.key"\n'
    )
    own = Tls(*(tmp_path / "certs" / name for name in ("ca.pem", "a.pem", "a.key")))
    assert read(tmp_path, files) == ("default", None, own, False)


def test_a_secret_in_the_environment_is_used_where_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELECTORATE_SECRET", "from the environment")
    assert read(tmp_path, "") == ("default", "from the environment", None, False)
    assert read(tmp_path, "insecure = true\n") == ("default", None, None, True)


def test_what_the_file_does_not_know_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"bank\.toml: .*`secret`"):
        read(tmp_path, 'secret = "never in a file that all can read"\n')
