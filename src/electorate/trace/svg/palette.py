"""Colours that people with any kind of sight can tell apart, as far as there are so many.

Leaders have pale ones, for bands with dark text on them; messages strong ones, for thin lines on
white paper. What a colour says is also said by a text or a shape.
"""

from electorate.core import Stage
from electorate.trace.svg.pen import HALO, Style

INK = "#1d2430"
SOFT = "#6b7280"
GRID = "#d5d9e0"
INSTANT = "#eef1f6"
ALARM = "#b3001b"

LEADERS = (
    *("#8fbbe8", "#f2a67f", "#7fd1b3", "#f0de8a", "#f7b3c8", "#c3d15c"),
    *("#a9e2f5", "#c4b0e3", "#c9c08b", "#d9b99b", "#9fb4c0", "#d8a3c4"),
)
MESSAGES = ("#00788c", "#0060a8", "#00805c", "#a13b8c", "#8a6a00", "#3b2a91", "#7c1d3f", "#c64600")

MIDDLE: Style = {"text_anchor": "middle"}
MARK: Style = {"fill": ALARM, "font_weight": "bold", "font_size": 12}
COLOURS = {
    "ink": INK,
    "soft": SOFT,
    "alarm": ALARM,
    "paper": "#ffffff",
    "none": "none",
    "unknown": "#e7e7e7",
    "election": "url(#electorate-election)",
    "reorganization": "url(#electorate-reorganization)",
    Stage.WORKING: "#ffffff",
    Stage.UNCERTAIN: "#f0de8a",
    Stage.COMMITTABLE: "#c8e6b0",
    Stage.ABORTABLE: "#f7cdb8",
    Stage.COMMITTED: "#7fd1b3",
    Stage.ABORTED: "#f2a67f",
    **{f"leader {number}": colour for number, colour in enumerate(LEADERS)},
    **{f"message {number}": colour for number, colour in enumerate(MESSAGES)},
}
"""What layouts call their colours."""

STYLES: dict[str, tuple[str, Style]] = {
    "title": ("text", {"fill": INK, "font_size": 19, "font_weight": "bold"}),
    "setting": ("text", {"fill": SOFT, "font_size": 12}),
    "axis": ("text", {"fill": SOFT, "font_style": "italic"}),
    "time": ("text", {"fill": INK, "font_size": 13, "font_weight": "bold", **MIDDLE}),
    "tick": ("text", {"fill": SOFT, **MIDDLE}),
    "cut name": ("text", {"fill": ALARM, "font_weight": "bold", **HALO}),
    "mark start": ("text", MARK),
    "mark end": ("text", {**MARK, "text_anchor": "end"}),
    "head name": ("text", {"fill": INK, "font_weight": "bold", "font_size": 14, **MIDDLE}),
    "name on band": ("text", {"fill": INK}),
    "name on hatching": ("text", {"fill": INK, **HALO}),
    "timer name": ("text", {"fill": SOFT, **HALO}),
    "flag": ("text", {"fill": INK, "font_style": "italic", **MIDDLE, **HALO}),
    "label": ("text", {**MIDDLE, **HALO}),
    "meaning": ("text", {"fill": INK}),
    "grid line": ("line", {"stroke": GRID, "stroke_width": 1}),
    "tick line": ("line", {"stroke": GRID, "stroke_dasharray": "2 3"}),
    "down": ("line", {"stroke": SOFT, "stroke_dasharray": "1.5 4", "stroke_width": 1.2}),
    "cut line": ("line", {"stroke": ALARM, "stroke_width": 2.5}),
    "mark line": ("line", {"stroke": ALARM, "stroke_width": 2}),
    "instant": ("rect", {"fill": INSTANT, "rx": 4}),
    "fan": ("rect", {"fill": INSTANT, "stroke": GRID}),
    "long head": ("rect", {"stroke": INK, "stroke_width": 1}),
    "head": ("circle", {"stroke": INK, "stroke_width": 1}),
    "pause": ("rect", {"fill": "url(#electorate-pause)", "stroke": SOFT}),
    "band": ("rect", {}),
    "band edge": ("rect", {"fill": "none", "stroke": "#ffffff", "stroke_width": 1.5}),
    "edge": ("rect", {"fill": "none", "stroke": GRID}),
    "hit": ("circle", {"fill": "#ffffff", "fill_opacity": 0}),
}
"""What the parts of a layout look like, by their roles."""
