"""An application of PySyncObj: it leads while its node is the leader of the Raft group.

There is no lease: a leader that is cut off takes itself for the leader for a while longer.

python -m benchmarks.leadership.application.pysyncobj 0.4 1.4 0.1 127.0.0.1:7001 127.0.0.1:7002 …
"""

import sys
import threading

from pysyncobj import SyncObj, SyncObjConf

from benchmarks.leadership.application.voice import obey, say

LEADER = 2


def main(timings: list[float], me: str, others: list[str]) -> None:
    """Be one node of a group until killed."""
    found: list[SyncObj] = []

    def changed(before: int, now: int) -> None:
        if LEADER in (before, now):
            say("held" if now == LEADER else "over", found[0].raftCurrentTerm if found else 0)

    shortest, longest, period = timings
    conf = SyncObjConf(
        raftMinTimeout=shortest,
        raftMaxTimeout=longest,
        appendEntriesPeriod=period,
        onStateChanged=changed,
    )
    obey(lambda _: None)
    found.append(SyncObj(me, others, conf))
    say("ready")
    threading.Event().wait()


if __name__ == "__main__":
    _, *timings, me, others = [*sys.argv[:4], sys.argv[4], sys.argv[5:]]
    main([float(each) for each in timings], str(me), list(others))
