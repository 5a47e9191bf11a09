"""Five nodes share out work, and the network falls apart: in the simulator, or on TCP."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from electorate.core import NodeId, Timing, Turns, text_of
from electorate.runtime.config import NodeConfig
from electorate.runtime.tcp import now_ms
from electorate.runtime.thread import NodeThread
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import Partition
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import Cut, Healed, Setting, Start, Step, Trace
from electorate.trace.merge import Occurrence, merged, rerun
from electorate.trace.record import RecordFile
from examples.shared_work.protocol import SharedWork, SharedWorkRules

IDS = (1, 2, 3, 4, 5)
SIDES = (frozenset({1, 2}), frozenset({3, 4, 5}))
APART, TOGETHER, END = 16, 36, 90
"""When the network falls apart, when it is whole again, and when a simulation is over; in T."""
REAL_T_MS = 50
PATIENCE_S = 60.0


def simulated(seed: int) -> Trace:
    """A run in the simulator; the seed decides how long each message takes."""
    T = Scenario().timing.T
    fault = Partition(APART * T, TOGETHER * T, tuple(SIDES[0]))
    scenario = Scenario(ids=IDS, start=Start.BOOT, faults=Faults(), listed=(fault,), safety=END * T)
    experiment = Experiment(Subject("shared-work", scenario), lambda _: (SharedWork, "sound"))
    return experiment.run(seed, record=True).trace


def real() -> Trace:
    """A run on TCP: five nodes in this process, each of which writes down what happens to it."""
    setting = Setting("shared-work", IDS, timing=Timing(REAL_T_MS))
    machine = setting.machine(SharedWork, "sound")
    with TemporaryDirectory() as folder, ExitStack() as running:
        addresses = dict(zip(IDS, _free_addresses(len(IDS)), strict=True))
        records = {node: Path(folder) / f"{node}.jsonl" for node in IDS}
        threads: dict[NodeId, NodeThread] = {}
        for node in IDS:
            data = Path(folder) / str(node)
            config = NodeConfig(node, setting, addresses, data, records[node], first_wait_ms=5000)
            threads[node] = NodeThread(config, machine, lambda _: None)
            threads[node].start()
            running.callback(threads[node].stop)
        happened: list[Step] = []
        for at, is_whole in ((APART, False), (TOGETHER, True)):
            _wait(records[1], at)
            for node, thread in threads.items():
                other = next(side for side in SIDES if node not in side)
                cut = frozenset() if is_whole else other
                thread.call(setattr, thread.node.network, "cut", cut)
            kind = Healed if is_whole else Cut
            pairs = ((a, b) for a in SIDES[0] for b in SIDES[1])
            happened += (Step(at * REAL_T_MS, kind(a, b, both=True)) for a, b in pairs)
        deadline = time.monotonic() + PATIENCE_S
        while not all(map(_is_complete, records.values())) and time.monotonic() < deadline:
            time.sleep(0.1)
        running.close()
        for thread in threads.values():
            if thread.error is not None:
                raise thread.error
        trace = merged(setting, {node: _rerun(path) for node, path in records.items()})
    return replace(trace, steps=tuple(sorted((*trace.steps, *happened), key=lambda s: s.at)))


def _wait(record: Path, until: int) -> None:
    """Wait until so many T have passed since a node booted."""
    while (first := next(RecordFile(record).lines(), None)) is None:
        time.sleep(0.01)
    booted = first.entry.at
    time.sleep(max(0.0, (booted + until * REAL_T_MS - now_ms()) / 1000))


def _rerun(record: Path) -> list[Occurrence]:
    def turns_of(cluster: str) -> Turns:
        return Turns(Setting.parse(cluster).machine(SharedWork, "sound"))

    return rerun(RecordFile(record).lines(), turns_of)


def _is_complete(record: Path) -> bool:
    """Whether a node knows everything, by what it wrote down last."""
    turns = [o.turn for o in _rerun(record)]
    last = turns[-1] if turns else None
    return last is not None and text_of(last.state).count("Part(") == SharedWorkRules().items


def _free_addresses(count: int) -> list[tuple[str, int]]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [("127.0.0.1", each.getsockname()[1]) for each in sockets]
