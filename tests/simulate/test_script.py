"""Scripts say what to do and what comes of it; what is wrong with one is said with its place."""

import pytest

from electorate.simulate import ScriptError, run_script
from electorate.trace import script_of
from tests.simulate.machines import find

HEAD = "cluster probe 1 2 3 T=2\n\n"
DOWN = "cluster probe 1 2 start=any\n\n"


def outcome(commands: str, head: str = HEAD) -> list[str]:
    """What some commands have to say."""
    text = run_script(f"{head}{commands}\n----\n", find).text
    return text.split("----\n")[-1].splitlines()


def problem(text: str) -> str:
    with pytest.raises(ScriptError) as caught:
        run_script(text, find, name="mine.txt")
    return str(caught.value)


def test_outcomes_are_written_anew_and_all_else_is_kept() -> None:
    text = "# A story.\ncluster probe 1 2\n\n# Why.\ncrash 1\n# Then.\nrecover 1\n----\nold\n"
    again = run_script(text, find).text
    assert again == (
        "# A story.\ncluster probe 1 2\n\n# Why.\ncrash 1\n# Then.\nrecover 1\n----\n"
        "1 crashes\n1 recovers\n  1 stable: NoteStable(0)\n  1 heard: ()\n  1 holds: no\n"
        "  1 waiting: no\n  1 alive: {}\n  1 alive: {} => {1, 2}\n"
    )
    assert run_script(again, find).text == again


def test_a_block_without_a_rule_is_run_and_not_shown() -> None:
    text = "cluster probe 1 2\n\ncrash 1\n\nstandings\n----\n1 down\n2 election\n"
    assert run_script(text, find).text == text


def test_quietly_keeps_a_command_from_being_shown() -> None:
    assert outcome("quietly crash 1\ncrash 2") == ["2 crashes"]


def test_the_boots_are_shown_where_a_run_begins_with_them() -> None:
    said = outcome("cluster probe 1 start=boot", head="")
    assert said[0] == "1 boots"


def test_standings_and_claims() -> None:
    assert outcome(
        "quietly crash 2\nquietly ask 1 Hold\nquietly pause 1\nstandings\nclaims A2 S2"
    ) == [
        "1 normal, follows 1, paused",
        "2 down",
        "3 election",
        "A2 violated: 3 is in election",
        "S2 holds",
    ]


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ("tick", ["time 1"]),
        ("tick 2T", ["time 2T"]),
        ("view 1 1 2", ["1 suspects 3", "  1 alive: {1, 2, 3} => {1, 2}"]),
        ("suspect 1 3", ["1 suspects 3", "  1 alive: {1, 2, 3} => {1, 2}"]),
        ("pause 1\nresume 1", ["1 is paused", "1 is resumed"]),
        ("cut 1->2\nheal 1->2", ["1->2 is cut", "1->2 is healed"]),
        ("cut 1 2", ["1<->2 is cut"]),
        ("quietly cut 1 2\nheal 2 1", ["2<->1 is healed"]),
        ("quietly ask 1 Wait\nphase 1 long 1", ["1 long has 1 left"]),
        ("quietly ask 1 Shout(2)\nlose 1->2 #1", ["1->2 Note(1) lost"]),
        ("quietly ask 1 Shout(2)\nquietly lose 1->2\ndouble 1->2", None),
        ("quietly ask 1 Wait\nquietly tick 6\nfire 1 long", ["1 long fires"]),
        ("settle", []),
    ],
)
def test_every_command(commands: str, said: list[str] | None) -> None:
    found = outcome(commands)
    assert said is None or found == said


@pytest.mark.parametrize(
    "commands",
    [
        "ask 1 Shout(2) torn 2:1 3:0",
        "ask 1 Shout(2) torn #1",
        "ask 1 Mutter(3)",
        "cut 1->2\nask 1 Shout(2)",
        "ask 1 Shout(2)\ncrash 2\ntick 2\ndeliver 1->3\ndeliver 1->3\ntick",
        "crash 1\nrecover 1 torn",
        "ask 1 Wait\nphase 1 long 1\ntick\nfire 1 long torn",
        "ask 1 Shout(2)\ndouble 1->2\nlose 1->2 #1",
    ],
)
def test_what_a_trace_prints_is_a_script_that_leads_to_the_same_trace(commands: str) -> None:
    trace = run_script(HEAD + commands, find).trace
    script = script_of(trace, ["Why this is here."])
    replayed = run_script(script, find)
    assert replayed.text == script
    assert replayed.trace == trace


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "mine.txt:1: a script begins with `cluster PROTOCOL ID…`"),
        ("# Only a story.\n", "mine.txt:1: a script begins with `cluster PROTOCOL ID…`"),
        ("crash 1\n", "mine.txt:1: a run begins with `cluster PROTOCOL ID…`, not 'crash 1'"),
        ("cluster probe 1 1\n", "mine.txt:1: "),
        ("cluster probe 1 colour=red\n", "mine.txt:1: unknown key 'colour'"),
        ("cluster probe 1 2 rule:a=1\n", "mine.txt:1: unknown rule 'a'"),
        ("cluster deaf 1 2\n", "mine.txt:1: without any fault deaf misses A2"),
        (HEAD + "cluster probe 1 2\n", "mine.txt:3: a script has one cluster"),
        (HEAD + "----\n", "mine.txt:3: ---- follows a command"),
        (HEAD + "# A word.\n----\n", "mine.txt:4: ---- follows a command"),
        (HEAD + "dance 1\n", "mine.txt:3: unknown command 'dance'; the commands are: deliver, "),
        (HEAD + "quietly\n", "mine.txt:3: quietly what?"),
        (HEAD + "\n# One.\ntick\ncrash\n", "mine.txt:6: write: crash NODE"),
        (HEAD + "crash 1 2\n", "mine.txt:3: write: crash NODE"),
        (HEAD + "crash one\n", "mine.txt:3: write: crash NODE"),
        (HEAD + "crash 7\n", "mine.txt:3: 7 is not a member"),
        (HEAD + "deliver 1 2\n", "mine.txt:3: write: deliver FROM->TO [#PLACE] [torn …]"),
        (HEAD + "deliver 1->2 1\n", "mine.txt:3: write: deliver FROM->TO"),
        (HEAD + "deliver 1->7\n", "mine.txt:3: 7 is not a member"),
        (HEAD + "deliver 1->2\n", "mine.txt:3: 1->2 #0 is not on its way"),
        (HEAD + "fire 1\n", "mine.txt:3: write: fire NODE TIMER [torn …]"),
        (HEAD + "fire 1 long\n", "mine.txt:3: 1 long is not armed"),
        (HEAD + "view\n", "mine.txt:3: write: view NODE ALIVE…"),
        (HEAD + "suspect 1\n", "mine.txt:3: 1 follows nobody that it could suspect"),
        (HEAD + "ask 1 Dance\n", "mine.txt:3: 1 may be asked for Shout(2), Hold, "),
        (HEAD + "ask 1 Shout(2) torn 2\n", "mine.txt:3: after torn comes node:count, not '2'"),
        (HEAD + "ask 1 Shout(2) torn 2:9\n", "mine.txt:3: 1 sends 2 messages to 2, not 9"),
        (HEAD + "tick soon\n", "mine.txt:3: 'soon' is not a span"),
        (HEAD + "tick 1 2\n", "mine.txt:3: write: tick [TIME]"),
        (HEAD + "cut 1\n", "mine.txt:3: write: cut FROM->TO, or cut NODE NODE"),
        (HEAD + "cut\n", "mine.txt:3: write: cut FROM->TO, or cut NODE NODE"),
        (HEAD + "heal 1 2 3\n", "mine.txt:3: write: heal FROM->TO"),
        (HEAD + "settle now\n", "mine.txt:3: write: settle"),
        (DOWN + "place 1 down null view=1\n", "mine.txt:3: write: place NODE up|down JSON"),
        (DOWN + "place 1 down null ->2=[]\n", "mine.txt:3: 1 cannot be in this state: "),
        (DOWN + "place 1 down null ->2@x=[]\n", "mine.txt:3: write: place NODE up|down JSON"),
        (HEAD + "claims A9\n", "mine.txt:3: unknown claim 'A9'; the claims are: A1, A2"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, wrong: str) -> None:
    assert problem(text).startswith(wrong)


def test_what_cannot_be_asked_for_is_said_as_it_is_written() -> None:
    assert problem(HEAD + "ask 1 Dance(3, yes)\n").endswith(" now, not Dance(3, yes)")


def test_a_protocol_that_breaks_the_contract_is_named() -> None:
    assert "mine.txt:3: Endless: a node never stops" in problem(
        "cluster endless 1\n\nask 1 Mutter(3)"
    )
