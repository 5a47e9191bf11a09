"""Space-time diagrams show every message with its fate, and come out the same in every process."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from electorate.core import (
    Send,
    Timing,
)
from electorate.trace import Connections, Crashed, Delivered, Doubled, Lost, Reset
from electorate.trace.diagram import layout_of
from electorate.trace.diagram.flight import BEFORE, flights_of
from electorate.trace.diagram.layout import DiagramLayout
from electorate.trace.svg import svg_of
from electorate.trace.svg.pen import STYLES
from tests.script import GOLDEN, SCRIPTS
from tests.trace.run import SVG, A, Note, drawn, golden_trace, of_class, starts, trace_of, view

# --- whole drawings ---


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_drawing_has_a_lane_for_each_node_and_an_arrow_for_each_message(script: Path) -> None:
    trace, machine = golden_trace(script)
    svg = drawn(trace, machine.view, script.stem)
    lanes = [lane.get("data-node") for lane in of_class(svg, "lane")]
    assert lanes == [str(node) for node in trace.setting.ids]
    fates = Counter(message.get("data-fate") for message in of_class(svg, "message"))
    effects = [effect for step in trace.steps for turn in step.turns for effect in turn.effects]
    copies = sum(isinstance(step.happening, Doubled) for step in trace.steps)
    # Protocols that are never at rest have messages on their way when the run begins.
    before = sum(flight.sent == BEFORE for flight in flights_of(trace))
    assert fates.total() == sum(isinstance(effect, Send) for effect in effects) + copies + before
    kinds = Counter(type(step.happening) for step in trace.steps)
    assert fates["arrived"] == kinds[Delivered] + kinds[Doubled]
    if kinds[Reset]:
        assert fates["lost"] > kinds[Lost]
    elif trace.setting.connections is Connections.OUTLIVE:
        assert fates["lost"] == kinds[Lost]


def test_every_loss_has_a_cross_and_says_why() -> None:
    lost = Lost(1, 2, A, "2 is down")
    svg = drawn(trace_of(starts(0, 1, Send(2, A)), (0, Crashed(2)), (2, lost)), view)
    [message] = of_class(svg, "message")
    title = message.findtext(f"{SVG}title") or ""
    assert message.findall(f"{SVG}path")
    assert "1->2 Note(a), sent at 0, lost: 2 is down" in title


def test_tooltips_tell_what_the_trace_tells() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    svg = drawn(trace, machine.view)
    titles = [turn.findtext(f"{SVG}title") or "" for turn in of_class(svg, "turn")]
    assert any("2 probe fires\n  2 phase: probing => halting" in title for title in titles)
    assert any(title.startswith("at 3T\n2->3 Yes\n") for title in titles)


def test_the_same_run_is_drawn_with_the_same_bytes_in_every_process() -> None:
    script = "\n".join(
        [
            "import sys",
            "from electorate.protocols.registry import REGISTRY",
            "from electorate.simulate import run_script",
            "from electorate.trace.diagram import layout_of",
            "from electorate.trace.svg import svg_of",
            "trace = run_script(sys.stdin.read(), REGISTRY.__getitem__).trace",
            "machine = trace.setting.machine(*REGISTRY[trace.setting.protocol])",
            "picture = layout_of(trace, machine.view, 'the same', [(3, 'here')])",
            "sys.stdout.write(svg_of(picture))",
        ]
    )
    golden = (GOLDEN / "bully" / "weakest_starts.txt").read_text(encoding="utf-8")
    drawings = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", script],
            input=golden,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("0", "1")
    ]
    assert drawings[0] == drawings[1]
    assert drawings[0].startswith("<svg ")


def test_a_layout_says_all_that_is_drawn_and_survives_a_journey_as_json() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    layout = layout_of(trace, machine.view, "all of it", [(3, "here")])
    again = msgspec.json.decode(msgspec.json.encode(layout), type=DiagramLayout)
    assert again == layout
    root = ElementTree.fromstring(svg_of(again))
    written = sorted(text.text or "" for text in root.iter(f"{SVG}text"))
    parts = [*layout.parts]
    for part in parts:
        parts += part.parts
    texts = [part for part in parts if STYLES.get(part.role, ("", {}))[0] == "text"]
    assert sorted(part.text for part in texts) == written
    groups = Counter(part.role for part in parts if part.parts)
    assert Counter(group.get("class") for group in root.iter(f"{SVG}g")) == groups
    turns = {part.at for part in parts if part.role == "turn"}
    steps = [step for step in trace.steps if step.happening.where is not None]
    assert {x for x, _ in turns} <= {part.at[0] for part in parts if part.role == "sign"}
    assert len([part for part in parts if part.role == "turn"]) == len(steps)


def test_a_run_without_steps_is_drawn() -> None:
    svg = drawn(trace_of(), view, marks=[])
    assert len(of_class(svg, "lane")) == 3
    assert not of_class(svg, "message")


def test_twelve_nodes_are_drawn_below_each_other() -> None:
    sends = [Send(node, A) for node in range(2, 13)]
    arrivals = [(2 + node, Delivered(1, node, A)) for node in range(2, 13)]
    svg = drawn(trace_of(starts(0, 1, *sends), *arrivals, nodes=12, timing=Timing(4)), view)
    heads = [lane.find(f"{SVG}circle") for lane in of_class(svg, "lane")]
    heights = [float(head.get("cy", "")) for head in heads if head is not None]
    assert len(heights) == 12
    assert all(below - above > 50 for above, below in pairwise(heights))
    assert len(of_class(svg, "message")) == 11


def test_special_characters_are_escaped() -> None:
    odd = Note("<&\"\x00'>")
    trace = trace_of(starts(0, 1, Send(2, odd)), (1, Delivered(1, 2, odd)))
    svg = drawn(trace, view, title='a <b> & "c" \x01', marks=[(1, "<&>")])
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert 'a <b> & "c" �' in texts
    assert "<&>" in texts
    assert "Note(<&\"�'>)" in texts


def test_a_drawing_needs_nothing_from_outside() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    root = ElementTree.fromstring(drawn(trace, machine.view))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not tags & {"script", "image", "style", "use", "foreignObject"}
    urls = {
        value for element in root.iter() for value in element.attrib.values() if "url(" in value
    }
    assert urls
    assert all(url.startswith("url(#electorate-") for url in urls)


def test_no_text_is_too_small_to_read() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    root = ElementTree.fromstring(drawn(trace, machine.view, "sizes"))
    sizes = {float(element.get("font-size", "11")) for element in root.iter()}
    assert min(sizes) >= 11
