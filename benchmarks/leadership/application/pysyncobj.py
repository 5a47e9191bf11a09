"""An application of PySyncObj: it leads while its node is the leader of the Raft group.

There is no lease: a leader that is cut off takes itself for the leader for a while longer.

python -m benchmarks.leadership.application.pysyncobj 0.4 1.4 0.1 127.0.0.1:7001 127.0.0.1:7002 …
"""

import sys
import threading

from pysyncobj import SyncObj, SyncObjConf

from benchmarks.leadership.application.voice import obey, say

LEADER = 2


def main(timings: dict[str, float], me: str, others: list[str]) -> None:
    """Be one node of a group until killed."""
    found: list[SyncObj] = []

    def changed(before: int, now: int) -> None:
        if LEADER in (before, now):
            say("held" if now == LEADER else "over", found[0].raftCurrentTerm if found else 0)

    obey(lambda _: None)
    found.append(SyncObj(me, others, SyncObjConf(**timings, onStateChanged=changed)))
    say("ready")
    threading.Event().wait()


if __name__ == "__main__":
    _, shortest_s, longest_s, period_s, me, *others = sys.argv
    timings = {
        "raftMinTimeout": float(shortest_s),
        "raftMaxTimeout": float(longest_s),
        "appendEntriesPeriod": float(period_s),
    }
    main(timings, me, others)
