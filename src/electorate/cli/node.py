"""`electorate node`: run one node in this process."""

import argparse
import ctypes
import json
import logging
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Literal

from electorate.cli.error import EXIT_DONE, UsageError
from electorate.cli.protection import add_protection_arguments, protection_of
from electorate.cli.protocol import add_rule_arguments, attributes_of, find
from electorate.core import ProtocolError, Standing, Timing
from electorate.errors import CredentialsError, IdTaken, StoreError
from electorate.runtime.config import NodeConfig
from electorate.runtime.network import DETECTORS
from electorate.runtime.protection import Protection
from electorate.runtime.thread import NodeThread
from electorate.trace import Connections, Setting

NAME = "node"
SUMMARY = "Run one node of a cluster in this process."
EXAMPLES = """examples:
  electorate node bully --id 1 --member 1@127.0.0.1:7401 --member 2@127.0.0.1:7402 --data node-1

  electorate node bully --id 1 --member 1@10.0.0.1:7400 --member 2@10.0.0.2:7400 \\
    --data node-1 --secret-file cluster.secret

Nodes that are not all on one machine need a secret (`electorate certs secret FILE` makes one) or
certificates.

It prints one JSON object per change of its standing, until it is stopped with Ctrl-C."""

STATUS_S = 0.5
PR_SET_PDEATHSIG = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `node`."""
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
    add_protection_arguments(parser)
    parser.add_argument(
        "--first-wait",
        type=_ms,
        default=1,
        metavar="MS",
        help="on its very first start, wait so long for the others to be started too",
    )
    parser.add_argument("--tethered", action="store_true", help=argparse.SUPPRESS)


def add_timing_arguments(parser: argparse.ArgumentParser) -> None:
    """The durations of a deployment."""
    parser.add_argument("--T", type=_ms, default=100, metavar="MS", help="message bound; 100")
    parser.add_argument("--beat", type=_ms, default=50, metavar="MS", help="heartbeat period; 50")
    parser.add_argument("--timeout", type=_ms, default=400, metavar="MS", help="suspect after; 400")
    parser.add_argument("--detector", choices=sorted(DETECTORS), default="heartbeat")


def timing_words(options: argparse.Namespace) -> list[str]:
    """The same durations, to be handed on to a node."""
    words = ["--T", str(options.T), "--beat", str(options.beat)]
    return [*words, "--timeout", str(options.timeout), "--detector", options.detector]


def _ms(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3_600_000:
        raise argparse.ArgumentTypeError(f"must be 1 to 3600000 milliseconds, not {text}")
    return int(text)


def _member(text: str) -> tuple[int, tuple[str, int]]:
    node, at, address = text.partition("@")
    host, colon, port = address.rpartition(":")
    if not (at and colon and host and node.isdecimal() and port.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be ID@HOST:PORT, not {text}")
    if not 1 <= int(port) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is 1 to 65535, not {port}")
    return int(node), (host.strip("[]"), int(port))


def run(options: argparse.Namespace) -> int:
    """Run the node until Ctrl-C, SIGTERM, or a failure that it must not survive."""
    if options.tethered:
        _die_with_parent()
    logging.basicConfig(level=logging.WARNING, format="electorate: %(message)s", stream=sys.stderr)
    protocol = find(options.protocol, options.form)
    config = _config(options, protocol.spelled())
    machine = protocol.machine(config.setting)
    protocol.verify_that_it_begins_by_itself(machine)
    if not options.tethered:
        protocol.warn(machine)
    protection = protection_of(options, str(options.id), config.addresses.values())
    reporter = _Reporter(options.id, protection)
    thread = NodeThread(config, machine, reporter.changed, protection.environment())
    _end_on_signals(reporter)
    try:
        protection.open()
        thread.start()
    except (CredentialsError, StoreError, OSError) as error:
        raise UsageError(f"node {options.id}: {error}") from None
    if thread.node.store.first_start:
        # Not by print: its end of line may come after what the node's own thread has to say.
        logging.getLogger("electorate").warning("node %d starts with an empty store", options.id)
    if options.tethered:
        threading.Thread(target=_obey, args=(thread, reporter), daemon=True).start()
    try:
        reporter.report(thread)
    finally:
        thread.stop()
    if thread.error is not None:
        if not isinstance(thread.error, StoreError | OSError | ProtocolError | IdTaken):
            raise thread.error
        raise UsageError(f"node {options.id} stops: {thread.error}")
    return EXIT_DONE


def _config(options: argparse.Namespace, name: str) -> NodeConfig:
    addresses = dict(options.member)
    if len(addresses) != len(options.member):
        raise UsageError("two --member arguments share one id")
    if options.id not in addresses:
        raise UsageError(f"--id {options.id} is not among the members")
    if options.timeout <= options.beat:
        raise UsageError("--timeout must be longer than --beat")
    ids = tuple(sorted(addresses))
    setting = Setting(
        name,
        ids,
        tuple(options.rule),
        options.strongest,
        Timing(options.T),
        connections=Connections.DIE,
        attributes=attributes_of(options.attribute, ids),
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
        options.first_wait,
        cluster_name=options.cluster,
    )


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, even while it is paused."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_on_signals(reporter: "_Reporter") -> None:
    """End in an orderly way on the first signal, and at once on the second."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        reporter.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _obey(thread: NodeThread, reporter: "_Reporter") -> None:
    """Take orders from the process that started this one, and end when that ends."""
    for line in sys.stdin:
        order = json.loads(line)
        if "cut" in order:
            thread.call(setattr, thread.node.network, "cut", frozenset(order["cut"]))
    reporter.end()


class _Reporter:
    """Prints the node's standing whenever it changes, and its counters now and then.

    It prints in a thread of its own: a slow reader must not hold up the node.
    """

    def __init__(self, node: int, protection: Protection) -> None:
        self._node = node
        self._protection = protection
        self._standing: Standing | None = None
        self._changes: queue.SimpleQueue[Standing | Literal["the end"] | None] = queue.SimpleQueue()

    def changed(self, standing: Standing | None) -> None:
        self._changes.put(standing)

    def end(self) -> None:
        self._changes.put("the end")

    def report(self, thread: NodeThread) -> None:
        """Print until the node ends or has failed."""
        while not (thread.ended.is_set() and self._changes.empty()):
            try:
                change = self._changes.get(timeout=STATUS_S)
            except queue.Empty:
                change = self._standing
            if change == "the end":
                return
            self._standing = change
            self._tell(change, thread.node.tally())

    def _tell(self, standing: Standing | None, counters: dict[str, int]) -> None:
        told: dict[str, Any] = {
            "node": self._node,
            "pid": os.getpid(),
            "status": None if standing is None else standing.status,
            "leader": None if standing is None else standing.leader,
            "group": None if standing is None else standing.group,
            "token": None if standing is None else standing.token,
            "counters": counters,
        }
        expires = self._protection.expires
        if expires is not None:
            told["certificate_expires"] = expires.isoformat()
        print(json.dumps(told), flush=True)
