"""The verdicts in the docs: tables between two marks, made from the reviewed table."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from electorate.claims import CLAIMS
from electorate.protocols.registry import REGISTRY
from tests.verdicts import plan
from tests.verdicts.ask import Answer, is_broken, is_kept
from tests.verdicts.plan import SITUATIONS, TIMINGS, Page, claims_of, page_of
from tests.verdicts.table import Table

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

BEGIN = "<!-- Made by `make verdicts`: change tests/verdicts, not what is between these marks. -->"
END = "<!-- So far `make verdicts`. -->"

DOT = " · "
DASH = "–"


def pages(table: Table) -> dict[Path, str]:
    """Every page that has verdicts, as it should be."""
    wanted = {DOCS / "protocols" / f"{name}.md": _page(name, table) for name in plan.pages()}
    wanted[DOCS / "verdicts.md"] = _overview(table)
    return {file: _between(file, made) for file, made in wanted.items()}


def _between(file: Path, made: str) -> str:
    text = file.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{file.name} lacks the marks between which its verdicts go")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


# --- one page ---


def _page(name: str, table: Table) -> str:
    asked = plan.pages()[name]
    parts = [_situations(protocol, table) for protocol in REGISTRY if page_of(protocol) == name]
    parts += _repairs(name, asked, table)
    parts += _choices(asked, table)
    parts += _assumptions(name, asked, table)
    parts += _further(asked, table)
    how = "[How to read this](../verdicts.md#how-to-read-a-verdict)."
    return "\n\n".join([how, *parts])


def _situations(protocol: str, table: Table) -> str:
    """All that one protocol was put through; a line for every timing and fault."""
    claims = claims_of(protocol)
    lines = []
    for timing in TIMINGS:
        for faults in SITUATIONS:
            answers = _answers(protocol, timing, faults, table)
            if answers:
                cells = [_joined(_cell(a.claims[claim]) for a in answers) for claim in claims]
                extent = _joined(_extent(answer) for answer in answers)
                lines.append([timing, faults, *cells, extent])
    machine, form = REGISTRY[protocol]
    promised = _listed(machine.promised(form))
    title = f"**`{protocol}`** promises {promised}."
    return f"{title}\n\n{_table(['timing', 'faults', *claims, 'states'], lines)}"


def _answers(protocol: str, timing: str, faults: str, table: Table) -> list[Answer]:
    """For every number of nodes, what was found."""
    found = []
    for situation in plan.situations(protocol):
        if (situation.timing, situation.faults) == (timing, faults):
            answers = [table[line] for line in situation.commands()]
            claims = {name: text for each in answers for name, text in each.claims.items()}
            found.append(Answer(claims, answers[0].extent))
    return found


def _repairs(name: str, asked: Page, table: Table) -> Iterable[str]:
    if not asked.repairs:
        return
    lines = []
    for repair in asked.repairs:
        fate = table[repair.commands(asked.sound)[1]].claims[repair.breaks]
        rules = ", ".join(f"`{rule}`" for rule in repair.without.split())
        run = _run(name, repair.run)
        lines.append([rules, repair.breaks, _cell(fate), _options(repair.under), run])
    yield (
        f"**Every repair of `{asked.sound}` is needed, and every timer is long enough but no "
        "longer.** With this put in its place alone a claim breaks; without it, the claim holds "
        "under the same options:\n\n"
        + _table(["instead", "breaks", "how", "options", "run"], lines)
    )


def _choices(asked: Page, table: Table) -> Iterable[str]:
    if not asked.choices:
        return
    lines = []
    for choice in asked.choices:
        found = table[choice.command(asked.sound)]
        fates = ", ".join(f"{name} {_cell(text)}" for name, text in found.claims.items())
        lines.append([f"`{choice.rule}`", fates, _options(choice.under), _extent(found)])
    yield "**No claim notices** these:\n\n" + _table(
        ["instead", "found", "options", "states"], lines
    )


def _assumptions(name: str, asked: Page, table: Table) -> Iterable[str]:
    if not asked.assumptions:
        return
    lines = []
    for dropped in asked.assumptions:
        protocols = dropped.of or (asked.sound,)
        fates = [
            table[dropped.commands(protocol)[1]].claims[dropped.breaks] for protocol in protocols
        ]
        names = ", ".join(f"`{protocol}`" for protocol in protocols)
        broken = f"{dropped.breaks} {_joined(map(_cell, fates))}"
        given, by = _options(dropped.under), f"`{dropped.by}`"
        lines.append([f"`{dropped.assumption}`", names, broken, given, by, _run(name, dropped.run)])
    yield (
        "**Every assumption is needed.** What falls without it, and holds with it:\n\n"
        + _table(["without", "of", "what falls", "options", "dropped by", "run"], lines)
    )


def _further(asked: Page, table: Table) -> Iterable[str]:
    if not asked.more:
        return
    present = {claim for more in asked.more for claim in more.claims}
    claims = [claim for claim in CLAIMS if claim in present]
    lines = []
    for more in asked.more:
        found = table[more.command]
        cells = [_cell(found.claims[c]) if c in found.claims else "" for c in claims]
        lines.append([f"`{_short(more.ask)}`", *cells, _extent(found)])
    yield "**Further checks**, with three nodes unless they say otherwise:\n\n" + _table(
        ["`electorate check …`", *claims, "states"], lines
    )


# --- all protocols at a glance ---


def _overview(table: Table) -> str:
    parts = []
    for timing in TIMINGS:
        lines = [
            [f"[`{protocol}`](protocols/{page_of(protocol)}.md)"]
            + [_glance(protocol, timing, faults, table) for faults in SITUATIONS]
            for protocol in REGISTRY
        ]
        title = f"**{timing.capitalize()} timing**, two and three nodes:"
        parts.append(f"{title}\n\n{_table(['protocol', *SITUATIONS], lines)}")
    return "\n\n".join(parts)


def _glance(protocol: str, timing: str, faults: str, table: Table) -> str:
    """The claims that are kept, those that break in bold, those that nobody knows with a mark."""
    answers = _answers(protocol, timing, faults, table)
    if not answers:
        return DASH
    return " ".join(_sign(c, [a.claims[c] for a in answers]) for c in claims_of(protocol))


def _sign(claim: str, fates: Sequence[str]) -> str:
    if any(map(is_broken, fates)):
        return f"~~{claim}~~"
    if not all(map(is_kept, fates)):
        return f"{claim}?"
    return f"{claim}\\*" if any("up to" in fate for fate in fates) else claim


# --- cells ---


def _cell(fate: str) -> str:
    """A fate as a table shows it: `8T`, `holds`, **broken in 15**."""
    return f"**{fate}**" if is_broken(fate) else fate.removeprefix("live, ")


def _extent(answer: Answer) -> str:
    states = answer.states
    if states is not None:
        return f"{states:,}"
    return re.sub(r" \(--states-max\)", "", answer.extent).replace(" states", "")


def _joined(cells: Iterable[str]) -> str:
    """One cell for two nodes, three, and so on; once, if they are all the same."""
    found = list(cells)
    return found[0] if len(set(found)) == 1 else DOT.join(found)


def _options(text: str) -> str:
    return f"`{_short(text)}`" if text else ""


def _short(text: str) -> str:
    """Without the limit of the search, which says nothing about what is searched."""
    return re.sub(r" ?--states-max \d+", "", text)


def _run(name: str, stem: str) -> str:
    return f"`tests/golden/{name}/{stem}.txt`" if stem else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows).replace("|  |", "| |")
