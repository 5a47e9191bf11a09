"""What a drawing shows, without how it looks: so that kept pictures are compared by that alone."""

import re
from pathlib import Path
from xml.etree import ElementTree

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PLACES = ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "d", "points")


def shown(svg: str) -> list[str]:
    """All that a drawing shows, one thing on each line: what it is, where, and what it says.

    Of what belongs together and says itself where it is, nothing else is looked at but its texts:
    arrow heads, signs and hatchings are a matter of taste, and so are all colours, fonts and
    lines. Places are rounded, for a tenth is not seen.
    """
    return list(_shown(ElementTree.fromstring(svg), placed=False))


def _shown(element: ElementTree.Element, *, placed: bool) -> list[str]:
    tag = element.tag.rpartition("}")[2]
    if tag == "defs":
        return []
    facts = [f"{key}={element.get(key)}" for key in sorted(element.keys()) if _is_fact(key)]
    at = element.get("data-at")
    numbers = " ".join(element.get(key, "") for key in PLACES) if at is None else at
    where = [str(round(float(each))) for each in NUMBER.findall(numbers)]
    said = element.text or "" if tag in ("text", "title") else ""
    lines = []
    if tag in ("g", "text", "title") or not placed:
        lines = [" ".join([tag, *facts, *where, said.strip()]).replace("\n", " / ")]
    inside = placed or at is not None
    return lines + [line for child in element for line in _shown(child, placed=inside)]


def _is_fact(key: str) -> bool:
    return key == "class" or (key.startswith("data-") and key != "data-at")


def compare(kept: Path, drawn: Path, rewrite: bool) -> None:
    """Whether a picture that is kept shows what is drawn now; with `rewrite` it does then."""
    text = drawn.read_text(encoding="utf-8")
    if not rewrite:
        assert shown(kept.read_text(encoding="utf-8")) == shown(text), "make pictures draws it anew"
    elif not kept.is_file() or shown(kept.read_text(encoding="utf-8")) != shown(text):
        kept.write_text(text, encoding="utf-8")
