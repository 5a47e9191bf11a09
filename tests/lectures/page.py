"""docs/lectures.md, made from the items."""

from collections.abc import Iterator

from electorate.lectures import Document, LectureItem, documents

HEAD = """# What the lectures say and ask

Five documents made us write electorate. Here is everything that they say or ask, in the order of
their slides or sections and in our words, with the commands that answer it. `electorate lecture
souto/13` runs the commands of an item and shows the runs; `electorate lecture --all` runs them all.
*Holds* means that we saw what the document says, within the bounds that the command prints;
*refuted*, that a run contradicts it; *needs* names what it takes besides; an assumption is *needed*
if something breaks without it, or *not needed* as far as we looked; *shown* is an example or a
definition. (This page is made from `src/electorate/lectures/`; the tests run the commands.)
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for document in documents().values():
        parts += _document(document)
    return "\n".join(parts)


def _document(document: Document) -> Iterator[str]:
    yield f"## {document.cited}\n"
    where = "slide" if document.kind == "slides" else "section"
    yield f"| item | {where} | what it says or asks | answer | command |\n|---|---|---|---|---|"
    yield "\n".join(_row(document, item) for item in document.item) + "\n"


def _row(document: Document, item: LectureItem) -> str:
    name = f"{document.key}/{item.id}" + (f"<br>{document.key}/{item.name}" if item.name else "")
    says = f"{item.says} *{item.asks}*" if item.asks else item.says
    answer = f"**{item.verdict}**: {item.answer}"
    if item.differs:
        answer += f" (We differ on purpose: {item.differs})"
    commands = "<br>".join(f"`{_shown(run.command)}`" for run in item.run)
    return f"| {' | '.join(_cell(text) for text in (name, item.where, says, answer, commands))} |"


def _shown(command: str) -> str:
    return command if command.startswith("python ") else f"electorate {command}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
