"""A PostgreSQL server of one's own: in a temporary folder, on loopback, gone afterwards."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MISSING = "PostgreSQL is not installed here; on Debian: apt-get install postgresql"
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


class NoServer(Exception):
    """A server cannot be started here."""


class Server:
    """Starts, kills and starts again; a context that leaves nothing behind."""

    def __init__(self, *databases: str) -> None:
        self._bin = _binaries()
        self._user = _unprivileged()
        self._folder = Path(tempfile.mkdtemp(prefix="electorate-pg-"))
        self._data = self._folder / "data"
        self._output = (self._folder / "log").open("ab")
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if self._user is not None:
                shutil.chown(self._folder, self._user)
            self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "bank", "-N")
            self.start()
            for name in databases:
                words = ("-h", "127.0.0.1", "-p", str(self._port), "-U", "bank")
                self._run("psql", *words, "-d", "postgres", "-c", f'create database "{name}"')
        except BaseException:
            self.close()
            raise

    def conninfo(self, database: str) -> str:
        """How to reach one of its databases."""
        return f"host=127.0.0.1 port={self._port} user=bank dbname={database}"

    def start(self, **settings: str) -> None:
        """Start, and wait until it answers."""
        words = [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self._port)]
        for name, value in {**SETTINGS, **settings}.items():
            words += ["-c", f"{name}={value}"]
        self._process = subprocess.Popen(words, **self._as_user())
        deadline = time.monotonic() + START_S
        ready = ("-q", "-h", "127.0.0.1", "-p", str(self._port), "-U", "bank", "-d", "postgres")
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


def _binaries() -> Path:
    """The folder of the newest server that is installed."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parts[-2]))
    on_path = shutil.which("postgres")
    places: Sequence[Path] = [*([Path(on_path).resolve().parent] if on_path else []), *debian]
    for place in reversed(places):
        if all((place / name).exists() for name in ("initdb", "postgres", "psql", "pg_isready")):
            return place
    raise NoServer(MISSING)


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
