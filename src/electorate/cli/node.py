"""`electorate node`: run one node in this process."""

import argparse
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from electorate.cli.error import EXIT_DONE, UsageError
from electorate.cli.protocol import add_rule_arguments, find
from electorate.core import ProtocolError, Standing, Timing
from electorate.net.config import NodeConfig
from electorate.net.node import DETECTORS
from electorate.net.store import StoreError
from electorate.net.thread import NodeThread
from electorate.trace import Connections, Setting

NAME = "node"
SUMMARY = "Run one node of a cluster in this process."
EXAMPLES = """example:
  electorate node bully --id 1 --member 1@127.0.0.1:7401 --member 2@127.0.0.1:7402 --data node-1

It prints one JSON object per change of its standing, until it is stopped with Ctrl-C."""

STATUS_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a node is told."""
    parser.add_argument("protocol", metavar="P", help="a name from `protocols`, or path.py:Class")
    add_rule_arguments(parser)
    parser.add_argument("--id", type=int, required=True, help="which of the members this is")
    parser.add_argument(
        "--member",
        action="append",
        required=True,
        type=_member,
        metavar="ID@HOST:PORT",
        help="every member, this one included; repeat it",
    )
    parser.add_argument("--data", type=Path, required=True, help="folder for what must survive")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write every event down")
    add_timing_arguments(parser)
    parser.add_argument("--tethered", action="store_true", help=argparse.SUPPRESS)


def add_timing_arguments(parser: argparse.ArgumentParser) -> None:
    """The durations of a deployment."""
    parser.add_argument("--T", type=_ms, default=100, metavar="MS", help="message bound; 100")
    parser.add_argument("--beat", type=_ms, default=50, metavar="MS", help="heartbeat period; 50")
    parser.add_argument("--timeout", type=_ms, default=400, metavar="MS", help="suspect after; 400")
    parser.add_argument("--detector", choices=sorted(DETECTORS), default="heartbeat")


def _ms(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3_600_000:
        raise argparse.ArgumentTypeError(f"must be 1 to 3600000 milliseconds, not {text}")
    return int(text)


def _member(text: str) -> tuple[int, tuple[str, int]]:
    node, at, address = text.partition("@")
    host, colon, port = address.rpartition(":")
    if not (at and colon and host and node.isdecimal() and port.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be ID@HOST:PORT, not {text}")
    return int(node), (host, int(port))


def run(options: argparse.Namespace) -> int:
    """Run the node until Ctrl-C, SIGTERM, or a failure that it must not survive."""
    logging.basicConfig(level=logging.WARNING, format="electorate: %(message)s", stream=sys.stderr)
    protocol = find(options.protocol, options.form)
    config = _config(options, protocol.spelled(), protocol.kind.strongest)
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    reporter = _Reporter(options.id)
    try:
        thread = NodeThread(config, protocol.machine(config.setting), reporter.changed)
    except (StoreError, OSError) as error:
        raise UsageError(f"node {options.id}: {error}") from None
    reporter.thread = thread
    if thread.node.store.first_start:
        print(f"electorate: node {options.id} starts with an empty store", file=sys.stderr)
    thread.start()
    if options.tethered:
        threading.Thread(target=_obey, args=(thread, ending), daemon=True).start()
    while not (ending.wait(STATUS_S) or thread.ended.is_set()):
        reporter.tell()
    thread.stop()
    if thread.error is not None:
        if not isinstance(thread.error, StoreError | OSError | ProtocolError):
            raise thread.error
        raise UsageError(f"node {options.id} stops: {thread.error}")
    return EXIT_DONE


def _config(options: argparse.Namespace, name: str, strongest: Any) -> NodeConfig:
    addresses = dict(options.member)
    if len(addresses) != len(options.member):
        raise UsageError("two --member arguments share one id")
    if options.id not in addresses:
        raise UsageError(f"--id {options.id} is not among the members")
    if options.timeout <= options.beat:
        raise UsageError("--timeout must be longer than --beat")
    setting = Setting(
        name,
        tuple(sorted(addresses)),
        tuple(options.rule),
        options.strongest or strongest,
        Timing(options.T),
        connections=Connections.DIE,
    )
    return NodeConfig(
        options.id,
        setting,
        addresses,
        options.data,
        options.record,
        options.beat,
        options.timeout,
        options.detector,
    )


def _obey(thread: NodeThread, ending: threading.Event) -> None:
    """Take orders from whoever started this process, and end when it is gone."""
    for line in sys.stdin:
        order = json.loads(line)
        if "cut" in order:
            thread.call(setattr, thread.node, "cut", frozenset(order["cut"]))
    ending.set()


class _Reporter:
    """Prints the node's standing whenever it changes, and its counters now and then."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._standing: Standing | None = None
        self.thread: NodeThread | None = None

    def changed(self, standing: Standing | None) -> None:
        self._standing = standing
        self.tell()

    def tell(self) -> None:
        standing = self._standing
        counters = {} if self.thread is None else dict(self.thread.node.counters)
        told = {
            "node": self._node,
            "pid": os.getpid(),
            "status": None if standing is None else standing.status,
            "leader": None if standing is None else standing.leader,
            "group": None if standing is None else standing.group,
            "counters": counters,
        }
        with self._lock:
            print(json.dumps(told), flush=True)
