"""Numbers with their nouns."""

from electorate.trace.word import counted


def test_one_of_a_thing_is_not_told_as_many() -> None:
    assert [counted(n, "crashes") for n in (0, 1, 2)] == ["0 crashes", "1 crash", "2 crashes"]
    kinds = ("recoveries", "losses", "lies", "pauses", "asks", "nodes", "deliveries")
    told = [counted(1, kind).removeprefix("1 ") for kind in kinds]
    assert told == ["recovery", "loss", "lie", "pause", "ask", "node", "delivery"]
    assert counted(1000, "seeds") == "1,000 seeds"
