"""The verdicts in the docs: tables between two marks, made from the reviewed table."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from electorate.claims import CLAIMS, Kind
from electorate.cli.dossier import UNSHOWN, WITHIN, RowAnswer, fates_of, is_broken, rows_of
from electorate.dossier import Dossier, Dropped, Highlight, row
from electorate.protocols.registry import REGISTRY
from tests.verdicts import plan
from tests.verdicts.plan import ROOT
from tests.verdicts.robust import Answer as Moved
from tests.verdicts.robust import situations
from tests.verdicts.table import Table

DOCS = ROOT / "docs"

BEGIN = "<!-- Made by `make verdicts`: change the dossier, not what is between these marks. -->"
END = "<!-- So far `make verdicts`. -->"

ROBUST_BEGIN = BEGIN.replace("make verdicts", "make robust")
ROBUST_END = END.replace("make verdicts", "make robust")
OVERVIEW = DOCS / "verdicts.md"

DOT = " · "
DASH = "–"


def pages(table: Table) -> dict[Path, str]:
    """Every page that has verdicts, as it should be."""
    wanted = {DOCS / "protocols" / f"{name}.md": _page(name, table) for name in plan.pages()}
    wanted[DOCS / "verdicts.md"] = _overview(table)
    return {file: _between(file, made) for file, made in wanted.items()}


def _between(file: Path, made: str, first: str = BEGIN, last: str = END) -> str:
    text = file.read_text(encoding="utf-8")
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"{file.name} lacks the marks between which its verdicts go")
    return f"{before}{first}\n\n{made}\n\n{last}{after}"


# --- one page ---


def _page(name: str, table: Table) -> str:
    page = plan.pages()[name]
    how = "[How to read these tables](../verdicts.md#how-to-read-a-verdict)."
    parts = [_situations(protocol, page, table) for protocol in plan.protocols(name)]
    parts += _repairs(name, page, table)
    parts += _choices(page, table)
    parts += _assumptions(name, page, table)
    parts += _further(page, table)
    return "\n\n".join([how, *parts])


def _situations(protocol: str, page: Dossier, table: Table) -> str:
    """All that one protocol was put through: a line for every timing and fault."""
    lines = []
    suite = plan.suite_of(protocol)
    for timing in suite.timings:
        for faults in suite.situations:
            found = _answers(protocol, timing, faults, table)
            if found:
                title = _title(protocol, timing, faults)
                cells = (_joined(_cell(claim, each) for each in found) for claim in page.claims)
                lines.append([title, *cells, DOT.join(map(_extent, found))])
    machine, form = REGISTRY[protocol]
    title = f"**`{protocol}`** promises {_listed(machine.promised(form))}. {suite.heading}:"
    return f"{title}\n\n{_table(['situation', *page.claims, 'states'], lines)}"


def _title(protocol: str, timing: str, faults: str) -> str:
    situation = plan.Situation(protocol, timing, faults, nodes=2)
    boot = ", from boot" if situation.is_moved_to_boot else ""
    return ("" if timing == "bounded" else f"{timing}: ") + faults + boot


def _answers(protocol: str, timing: str, faults: str, table: Table) -> list[RowAnswer]:
    """What was found with two nodes, three, and four where they were tried."""
    return [
        table[each.row]
        for each in plan.situations(protocol)
        if (each.timing, each.faults) == (timing, faults)
    ]


def _repairs(name: str, page: Dossier, table: Table) -> Iterable[str]:
    if not page.repairs:
        return
    lines = []
    for repair in page.repairs:
        _, without = repair.rows(page.sound)
        rules = ", ".join(f"`{rule}`" for rule in repair.without.split())
        claim = repair.breaks.split()[0]
        fate = f"{claim} {_cell(claim, table[without])}"
        lines.append([rules, fate, _options(repair.under, repair.of), _run(name, repair.run)])
    yield (
        f"**Each repair is needed.** This in its place breaks what `{page.sound}` keeps:\n\n"
        + _table(["instead", "breaks", "options", "run"], lines)
    )


def _choices(page: Dossier, table: Table) -> Iterable[str]:
    if not page.choices:
        return
    lines = []
    for choice in page.choices:
        found = table[choice.row(page.sound)]
        rules = ", ".join(f"`{rule}`" for rule in choice.rule.split())
        fates = [_cell(claim, found) for claim in promised(page)]
        lines.append([rules, *fates, _options(choice.under), _extent(found)])
    yield f"**No promise notices** if `{page.sound}` has instead:\n\n" + _table(
        ["instead", *promised(page), "options", "states"], lines
    )


def promised(page: Dossier) -> list[str]:
    """What the sound form of a page promises, in the order of the page's claims."""
    machine, form = REGISTRY[page.sound]
    return [claim for claim in page.claims if claim in machine.promised(form)]


def _assumptions(name: str, page: Dossier, table: Table) -> Iterable[str]:
    if not page.assumptions:
        return
    lines = []
    for dropped in page.assumptions:
        protocols = dropped.of or (page.sound,)
        of = ", ".join(f"`{protocol}`" for protocol in protocols)
        options = (_options(dropped.under), f"`{dropped.by}`")
        fate = _fallen(dropped, page, [table[rows_of(dropped, each)[1]] for each in protocols])
        lines.append([f"`{dropped.assumption}`", of, fate, *options, _run(name, dropped.run)])
    yield (
        "**What falls without an assumption**, and is kept with it:\n\n"
        + _table(["assumption", "of", "falls", "options", "dropped by", "run"], lines)
    )


def _fallen(dropped: Dropped, page: Dossier, found: Sequence[RowAnswer]) -> str:
    [claim] = {breaks.partition(" ")[0] for breaks in fates_of(dropped, page.sound).values()}
    return f"{claim} {_joined(_cell(claim, each) for each in found)}" if claim else "nothing"


def _further(page: Dossier, table: Table) -> Iterable[str]:
    """A table for every set of claims: a protocol over others may promise more there."""
    title = "**Further checks**, with three nodes unless they say otherwise:"
    for claims, rows in groupby(page.more, key=partial(plan.claims_of, page)):
        lines = []
        for more in rows:
            found = table[row(more)]
            cells = [_cell(claim, found) for claim in claims]
            lines.append([f"`{_short(more)}`", *cells, _extent(found)])
        head = _table(["`electorate check …`", *claims, "states"], lines)
        yield f"{title}\n\n{head}"
        title = "**The same over elections**:"


# --- all protocols at a glance ---


def _overview(table: Table) -> str:
    parts = [
        "## At a glance",
        "Which promises break with two nodes, three or four (**A1**), or are not known to be kept "
        "(A1?). Otherwise all are kept, perhaps only up to the bounds of the search (kept\\*). "
        "Commit protocols may be blocked though they do not promise otherwise: C4, or C5 even with "
        "a majority that follows one leader.",
    ]
    for suite in (plan.ELECTIONS, plan.COMMITS):
        parts += [_compared(suite, timing, table) for timing in suite.timings]
    return "\n\n".join([*parts, "## Worth showing", _findings(table)])


def _compared(suite: plan.Suite, timing: str, table: Table) -> str:
    """All protocols of one kind, in one timing."""
    lines = []
    tried = [faults for faults in suite.situations if suite.sizes(timing, faults)]
    for protocol in plan.protocols():
        if plan.suite_of(protocol) is suite:
            link = f"[`{protocol}`](protocols/{plan.page_of(protocol)}.md)"
            cells = (_glance(protocol, timing, faults, table) for faults in tried)
            machine, form = REGISTRY[protocol]
            lines.append([link, ", ".join(machine.promised(form)), *cells])
    head = ["protocol", "promises", *tried]
    title = f"{suite.glance}{timing} timing"
    return f"**{title[0].upper()}{title[1:]}**\n\n{_table(head, lines)}"


def _findings(table: Table) -> str:
    lines = []
    for page in plan.pages().values():
        for finding in page.findings:
            found = table[row(finding.row)]
            fates = ", ".join(f"{claim} {_cell(claim, found)}" for claim in finding.claims)
            lines.append([finding.says, f"`{command(finding)}`", fates])
    return _table(["finding", "`electorate check …`", "says"], lines)


def command(finding: Highlight) -> str:
    """What to type to see a finding, and nothing else that the form may also promise or break."""
    words = [_short(finding.row), *(f"--claim {claim}" for claim in finding.claims)]
    if len(finding.claims) > 1 and any(CLAIMS[c].kind is Kind.GOAL for c in finding.claims):
        # Otherwise the search ends with the first claim that breaks, and no goal is judged.
        words.append("--keep-going")
    return " ".join(words)


def _glance(protocol: str, timing: str, faults: str, table: Table) -> str:
    """Which promises are broken, and which of the others nobody knows."""
    found = _answers(protocol, timing, faults, table)
    if not found:
        return "no detector"
    machine, form = REGISTRY[protocol]
    promised = [claim for claim in machine.promised(form) if claim in found[0].claims]
    if machine.promised(form) and not promised:
        return "not promised"
    fates = {claim: [each.claims[claim] for each in found] for claim in promised}
    broken = [claim for claim in fates if any(map(is_broken, fates[claim]))]
    unsure = [claim for claim in fates if {"unknown", "undecided"} & {*fates[claim]}]
    signs = [f"**{claim}**" for claim in broken]
    signs += [f"{claim}?" for claim in unsure if claim not in broken]
    if not signs and all(UNSHOWN in found for found in fates.values()):
        return DASH
    star = "\\*" if any(WITHIN in each for each in fates.values()) else ""
    blocked = [
        claim
        for claim in plan.suite_of(protocol).besides
        if claim not in machine.promised(form)
        and any(is_broken(each.claims.get(claim, "")) for each in found)
    ]
    also = f" ({', '.join(blocked)} blocked)" if blocked else ""
    return (", ".join(signs) or f"kept{star}") + also


# --- what the promises hang on ---


def robust(found: dict[str, Moved], states: int) -> str:
    """The overview with the tables of what the promises hang on made anew."""
    parts = [
        f"Within {states:,} states for each check, in bounded timing with three nodes (commit "
        "protocols: with three who vote, or two where three have too many states). **ties both** "
        "(A1): with `--ties both` A1 breaks. T 2?: it is not known what becomes of the promises "
        f"with T = 2. nothing: nothing that was moved breaks a promise. {DASH}: there is nothing "
        "to try, because nothing is promised, or there is no detector to be wrong, or a promise "
        "does not hold, or not within so many states, or the search says nothing.",
    ]
    parts += [_hanging(suite, found) for suite in (plan.ELECTIONS, plan.COMMITS)]
    return _between(OVERVIEW, "\n\n".join(parts), ROBUST_BEGIN, ROBUST_END)


def _hanging(suite: plan.Suite, found: dict[str, Moved]) -> str:
    """All protocols of one kind."""
    asked = [each for each in situations() if each.suite is suite]
    lines = []
    for protocol in dict.fromkeys(each.protocol for each in asked):
        of = {each.faults: each.row for each in asked if each.protocol == protocol}
        cells = (_hangs_on(found[of[name]]) if name in of else DASH for name in suite.situations)
        lines.append([f"[`{protocol}`](protocols/{plan.page_of(protocol)}.md)", *cells])
    return _table(["protocol", *suite.situations], lines)


def _hangs_on(found: Moved) -> str:
    if not found.is_kept:
        return DASH
    signs = [
        f"**{_moved(option)}** ({re.sub(r' [0-9]+', '', broken)})"
        for option, broken in found.broken.items()
    ]
    return ", ".join([*signs, *(f"{_moved(option)}?" for option in found.unknown)]) or "nothing"


def _moved(option: str) -> str:
    """`detection 3` of `--detection 3`; a longer delay by its T."""
    longer = re.fullmatch(r"--delay 0\.\.(\d+)", option)
    return f"T {longer[1]}" if longer else option.removeprefix("--").replace("-turns", " turns")


# --- cells ---


def _cell(claim: str, answer: RowAnswer) -> str:
    """A fate as a table shows it: `holds`, `8T`, `holds*`, **broken in 15**."""
    fate = answer.claims.get(claim, "")
    if is_broken(fate):
        return f"**{fate}**"
    if fate == UNSHOWN:
        return DASH
    return "holds\\*" if fate == WITHIN else fate.removeprefix("live, ")


def _extent(answer: RowAnswer) -> str:
    if answer.states is not None:
        return f"{answer.states:,}"
    return answer.extent.replace("more than ", "> ").removesuffix(" states")


def _joined(cells: Iterable[str]) -> str:
    """One cell for two nodes, three and four: once if all are alike, and no word twice in a row."""
    found = list(cells)
    if len(set(found)) == 1:
        return found[0]
    return DOT.join(_numbers(words, [*group]) for words, group in groupby(found, key=_words))


def _words(cell: str) -> str:
    return cell.strip("*").rstrip("0123456789")


def _numbers(words: str, group: Sequence[str]) -> str:
    if not is_broken(words):
        return DOT.join(group)
    numbers = DOT.join(cell.strip("*").removeprefix(words) for cell in group)
    return f"**{words}{numbers}**"


def _options(text: str, of: str = "") -> str:
    words = _short(f"{of} {text}".strip())
    return f"`{words}`" if words else ""


def _short(text: str) -> str:
    """Without the limit of the search, which says nothing about what is searched."""
    return re.sub(r" ?--states-max \d+", "", text)


def _run(name: str, stem: str) -> str:
    return f"`{name}/{stem}`" if stem else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [f"| {' | '.join(row)} |" for row in (head, *lines)]
    rows.insert(1, "|---" * len(head) + "|")
    # Twice, for two empty cells in a row share the line between them.
    return "\n".join(rows).replace("|  |", "| |").replace("|  |", "| |")
