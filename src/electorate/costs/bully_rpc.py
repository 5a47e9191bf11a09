"""What an election by remote calls costs.

P. F. Souto, "Elections", 2021, slides "The Actual Bully Algorithm"; N counts the dead old leader,
and calls to it count. A call is a request and, if it is completed, an answer. Nobody loses
patience with a candidate that has many nodes to call.
"""

from electorate.costs.case import Case
from electorate.trace import Start

PATIENT = ("silence=30N·T",)
ANSWERS = {
    "AreYouThere": "Here",
    "AreYouNormal": "Report",
    "Halt": "Halted",
    "NewLeader": "Noted",
    "Ready": "Begun",
}
CALLS = {
    "completed": tuple(ANSWERS.values()),
    "timed out": (*ANSWERS, *(f"-{answer}" for answer in ANSWERS.values())),
}
MISSED_BY_2 = "phase 2 silence T; tick T; count; fire 2 silence; settle"
MISSED_BY_N = "phase N silence T; tick T; count; fire N silence; settle"


def completed(times: str, *requests: str) -> dict[str, str]:
    """So many of each of these calls, and their answers."""
    return {kind: times for request in requests for kind in (request, ANSWERS[request])}


def election(name: str, script: str, timed_out: int, forms: tuple[str, ...], *stages: str) -> Case:
    """The strongest survivor calls everybody weaker once in each stage."""
    return Case(
        name,
        script,
        {
            "AreYouThere": f"{timed_out}",
            **completed("N-2", *stages),
            "completed": f"{len(stages)}(N-2)",
            "timed out": f"{timed_out}",
            "messages": f"{2 * len(stages)}(N-2)+{timed_out}",
            "time": f"{2 * timed_out}T+{2 * len(stages)}(N-2)T",
        },
        leader="2",
        forms=forms,
        rules=PATIENT,
        start=Start.BOOT,
        tallies=CALLS,
    )


MISSED = ("the strongest survivor misses its leader", f"settle; crash 1; {MISSED_BY_2}", 2)
"""It asks its leader, and then probes it."""
CALLED = (
    "the strongest survivor calls an election at once",
    "settle; crash 1; crash 2; count; recover 2; settle",
    1,
)

CASES = (
    election(*MISSED, ("sound", "paper"), "Halt", "NewLeader", "Ready"),
    election(*MISSED, ("printed",), "Halt", "NewLeader"),
    election(*CALLED, ("paper",), "Halt", "NewLeader", "Ready"),
    election(*CALLED, ("printed",), "Halt", "NewLeader"),
    # The next stronger node is up, so that nothing comes of it.
    Case(
        "the weakest misses its leader",
        f"settle; crash 1; {MISSED_BY_N}",
        {
            "AreYouThere": "2",
            "Here": "1",
            "completed": "1",
            "timed out": "1",
            "messages": "3",
            "time": "4T",
        },
        leader="1",
        rules=PATIENT,
        start=Start.BOOT,
        tallies=CALLS,
    ),
    Case(
        "the old leader recovers and fetches the task",
        f"settle; crash 1; {MISSED_BY_2}; ask 2 Work; count; recover 1; settle",
        {
            **completed("N-1", "AreYouNormal", "Halt", "NewLeader", "Ready"),
            "completed": "4(N-1)",
            "timed out": "0",
            "messages": "8(N-1)",
            "time": "2T+6(N-1)T",
        },
        leader="1",
        forms=("sound",),
        rules=(*PATIENT, "check=30N·T"),
        start=Start.BOOT,
        tallies=CALLS,
    ),
    # It fetches the task and finds somebody stronger; the leader checks and then elects.
    Case(
        "the weakest recovers and is taken in by a check",
        "settle; crash N; count; recover N; settle",
        {
            **completed("2(N-1)", "AreYouNormal"),
            **completed("1", "AreYouThere"),
            **completed("N-1", "Halt", "NewLeader", "Ready"),
            "completed": "5(N-1)+1",
            "timed out": "0",
            "messages": "10(N-1)+2",
        },
        leader="1",
        forms=("sound",),
        rules=PATIENT,
        start=Start.BOOT,
        tallies=CALLS,
    ),
    Case(
        "a check",
        "settle; phase 1 check T; tick T; count; fire 1 check; settle",
        {
            **completed("N-1", "AreYouNormal"),
            "completed": "N-1",
            "timed out": "0",
            "messages": "2(N-1)",
            "time": "2T",
        },
        leader="1",
        rules=PATIENT,
        start=Start.BOOT,
        tallies=CALLS,
    ),
    # Those that are left are reorganised. By the usual rule there is no election.
    Case(
        "a follower dies, and the check calls an election",
        "settle; crash N; phase 1 check T; tick T; count; fire 1 check; settle",
        {
            "AreYouNormal": "N-1",
            "Report": "N-2",
            "Halt": "N-1",
            "Halted": "N-2",
            **completed("N-2", "NewLeader", "Ready"),
            "completed": "4(N-2)",
            "timed out": "2",
            "messages": "8(N-2)+2",
            "time": "4T+6(N-2)T",
        },
        leader="1",
        forms=("sound",),
        rules=(*PATIENT, "missed=follower"),
        start=Start.BOOT,
        tallies=CALLS,
    ),
)
