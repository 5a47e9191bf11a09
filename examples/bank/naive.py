"""The same example without a transaction: each step is done at once, and stays done.

    python -m examples.bank.naive FOLDER STEP

does the steps one after the other, and dies after that one.
"""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from examples.bank.drawer import Drawer
from examples.bank.place import ACCOUNTS, DISPENSED, ROOT, Kind, Spec
from examples.bank.server import Server

MOVES = {
    1: ("savings", -100),
    2: ("checking", 100),
    3: ("moneymkt", -300),
    4: ("checking", 300),
    6: ("checking", -DISPENSED),
}
STEPS = range(1, 9)


class Case(msgspec.Struct, frozen=True):
    """What a crash after some step leaves behind."""

    step: int
    lost: int
    """What the customer has lost by then."""
    lost_for_good: int
    """What is still missing once everything was done again."""
    wrong: dict[str, int]
    """By how much each account then differs from what it should be."""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.lost:
            return f"{self.lost} lost"
        if any(self.wrong.values()):
            return "nothing lost, but it cannot be repeated"
        return "nothing lost"


def show(kind: Kind, folder: Path) -> list[Case]:
    """Crash after every step but the last, then try again; each time with new accounts."""
    cases = []
    with ExitStack() as stack:
        server = stack.enter_context(Server(*ACCOUNTS)) if kind == "postgres" else None
        for step in STEPS:
            place = folder / f"after-{step}"
            place.mkdir()
            conninfo = {} if server is None else {n: server.conninfo(n) for n in ACCOUNTS}
            # Of the two customers the second is the poor one, who plays no part here.
            spec = Spec(kind, {}, 2, 0, 0, conninfo)
            spec.write(place)
            spec.clear(place)
            spec.set_up(place)
            cases.append(_case(spec, place, step))
    return cases


def _case(spec: Spec, folder: Path, step: int) -> Case:
    before = _balances(spec, folder)
    _run(folder, step)
    lost = _missing(spec, folder)
    if step < STEPS[-1]:
        _run(folder, STEPS[-1])
    right = dict(before)
    for name, amount in MOVES.values():
        right[name] += amount
    after = _balances(spec, folder)
    wrong = {name: after[name] - right[name] for name in ACCOUNTS}
    return Case(step, lost, _missing(spec, folder), wrong)


def _run(folder: Path, step: int) -> None:
    words = [sys.executable, "-m", "examples.bank.naive", str(folder), str(step)]
    done = subprocess.run(words, cwd=ROOT, check=False)
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the steps ended with {done.returncode}")


def _missing(spec: Spec, folder: Path) -> int:
    """What is neither in the accounts nor in the customer's hands."""
    drawer = Drawer(folder / "drawer.db", jams=False)
    given = sum(drawer.given().values())
    drawer.close()
    return spec.owned_by(1) - given - sum(_balances(spec, folder).values())


def _balances(spec: Spec, folder: Path) -> dict[str, int]:
    look = "select balance from account where id = 1"
    return {name: int(spec.query(folder, name, look)[0][0]) for name in ACCOUNTS}


def main(folder: Path, last: int) -> None:
    """Do the steps, and die after the last one."""
    spec, drawer = Spec.read(folder), Drawer(folder / "drawer.db", jams=False)
    for step in STEPS:
        if step in MOVES:
            name, amount = MOVES[step]
            with spec.look(folder, name) as db:
                move = "update account set balance = balance + ? where id = 1"
                db.execute(spec.sql(move), (amount,))
        elif step == 5:
            assert _balances(spec, folder)["checking"] > DISPENSED
        elif step == 8:
            drawer.give(f"try {os.getpid()}", DISPENSED)
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
