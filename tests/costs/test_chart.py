"""The chart of growth shows every case with its formulas, and every row."""

from collections.abc import Iterator
from xml.etree import ElementTree

from electorate.costs import Case, CostRow, Measure, MeasuredProtocol, cases_of, chart_of
from electorate.protocols.registry import REGISTRY
from electorate.trace.svg.pen import ALARM

SVG = "{http://www.w3.org/2000/svg}"


def rows(name: str, *sizes: int, rules: tuple[str, ...] = ()) -> list[CostRow]:
    kind, form = REGISTRY[name]
    measure = Measure(MeasuredProtocol(name, kind, form, rules), samples=30)
    return list(measure.rows(cases_of(kind), sizes))


def drawn(found: list[CostRow]) -> ElementTree.Element:
    return ElementTree.fromstring(chart_of("growth", found))


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def groups(root: ElementTree.Element, kind: str) -> Iterator[ElementTree.Element]:
    return (group for group in root.iter(f"{SVG}g") if group.get("class") == kind)


def test_every_case_is_named_with_its_formulas() -> None:
    found = rows("bully", 3, 4)
    said = texts(drawn(found))
    for case in {row.case.name: row.case for row in found}.values():
        assert {case.name, case.formulas["messages"], case.formulas["time"]} <= set(said)


def test_axes_name_the_sizes_and_round_numbers() -> None:
    said = texts(drawn(rows("bully", 3, 5, 16)))
    assert said.count("N nodes") == 2
    for tick in ("3", "5", "16", "2", "10", "100"):
        assert tick in said


def test_each_row_has_a_mark_on_both_panels() -> None:
    found = rows("park", 3, 5, 8)
    for curve in groups(drawn(found), "curve"):
        signs = [e for e in curve if e.tag in (f"{SVG}circle", f"{SVG}rect")]
        assert len(signs) == 3


def test_what_differs_is_marked_in_the_colour_of_alarm() -> None:
    assert ALARM not in chart_of("growth", rows("bully", 3, 4))
    assert ALARM in chart_of("growth", rows("bully", 3, 4, rules=("settle=T+1",)))


def test_bounds_are_shaded_and_means_of_samples_have_bars() -> None:
    root = drawn(rows("chang-roberts", 3, 9))
    shaded = [e for e in root.iter(f"{SVG}path") if e.get("opacity") == "0.1"]
    assert shaded
    average = next(g for g in groups(root, "curve") if g[0].text == "all start, any order")
    assert any(line.get("x1") == line.get("x2") for line in average.iter(f"{SVG}line"))


def test_a_case_without_formulas_is_drawn_too_and_so_is_a_single_size() -> None:
    kind, form = REGISTRY["bully"]
    case = Case("a & b", "crash leader; notice; agree")
    found = list(Measure(MeasuredProtocol("bully", kind, form)).rows([case], [3]))
    assert "measured" in texts(drawn(found))
    assert "a & b" in texts(drawn(found))


def test_a_row_that_could_not_be_played_leaves_a_gap() -> None:
    case = Case("odd", "crash 9", {"messages": "0"})
    kind, form = REGISTRY["bully"]
    found = list(Measure(MeasuredProtocol("bully", kind, form)).rows([case], [3, 4]))
    assert found[0].problem == "9 is not a member"
    assert "odd" in texts(drawn(found))
