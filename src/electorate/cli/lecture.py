"""`electorate lecture`: what five documents say and ask about elections, answered by live runs."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import msgspec

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.rehearsal import Rehearsed, rehearsed
from electorate.lectures import Document, LectureError, LectureItem, documents, item_of
from electorate.trace.word import counted

NAME = "lecture"
SUMMARY = "Answer what five documents say and ask about elections, by live runs."
EXAMPLES = """examples:
  electorate lecture                     the documents
  electorate lecture souto               the items of one of them
  electorate lecture souto/13            run what answers an item, and show the run
  electorate lecture souto/stoller       some items have a name as well
  electorate lecture souto/33 --changes  change a rule, too, and see another answer
  electorate lecture souto/75 --svg DIR  draw the runs into a folder
  electorate lecture --all --json        run everything, and compare

exit code: 0 all came out as written down, 1 something came out differently, 2 bad usage"""
JSON_HELP = "print one JSON object on stdout, with everything that the commands print"
WIDTH = 96
FoundItem = tuple[Document, LectureItem]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lecture`."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="ITEM",
        help="a document (souto) or an item of one (souto/13)",
    )
    parser.add_argument(
        "--all", action="store_true", help="run every item of the documents, a line for each"
    )
    parser.add_argument(
        "--changes", action="store_true", help="run each answer under a changed rule, too"
    )
    parser.add_argument("--svg", type=Path, metavar="DIR", help="draw the runs into this folder")


def run(options: argparse.Namespace) -> int:
    """List, or run and compare."""
    try:
        known = documents()
        found = [each for name in options.names for each in _named(name)]
    except LectureError as error:
        raise UsageError(str(error)) from None
    if options.svg:
        try:
            options.svg.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--svg {options.svg}: {error.strerror}") from None
    if options.all:
        every = found or [(document, item) for document in known.values() for item in document.item]
        return _run_all(every, options)
    if options.changes and all(name in known for name in options.names):
        raise UsageError("--changes goes with an item, or with --all")
    if options.svg and all(name in known for name in options.names):
        raise UsageError("--svg goes with an item, or with --all")
    if not options.names:
        return _list_documents(known.values(), options.json)
    if all(name in known for name in options.names):
        return _list_items(found, options.json)
    return _answer(found, options)


def _named(name: str) -> Iterator[FoundItem]:
    if name in documents():
        document = documents()[name]
        yield from ((document, item) for item in document.item)
    else:
        yield item_of(name)


# --- lists ---


def _list_documents(every: Iterable[Document], json: bool) -> int:
    told: list[dict[str, Any]] = [
        {
            "document": document.key,
            "cited": document.cited,
            "items": len(document.item),
            "verdicts": dict(sorted(Counter(item.verdict_word for item in document.item).items())),
        }
        for document in every
    ]
    if json:
        _print_json({"documents": told})
        return EXIT_DONE
    for each in told:
        print(f"{each['document']:<7} {each['cited']}")
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in each["verdicts"].items())
        print(f"        {each['items']} items: {verdicts}")
    print("\nelectorate lecture souto lists the items of a document, souto/2 answers one.")
    return EXIT_DONE


def _list_items(found: Iterable[FoundItem], json: bool) -> int:
    if json:
        _print_json({"items": [_item_object(document, item) for document, item in found]})
        return EXIT_DONE
    cited = ""
    for document, item in found:
        if document.cited != cited:
            cited = document.cited
            print(f"{cited}\n")
        name = f"{document.key}/{item.id}"
        text = f"{item.asks or item.says} {_called(item)}".rstrip()
        for line in wrap(text, WIDTH, initial_indent=f"{name:<11} ", subsequent_indent=" " * 12):
            print(line)
        print(f"{'':<12}{item.verdict}")
    return EXIT_DONE


def _called(item: LectureItem) -> str:
    return f"({item.name})" if item.name else ""


# --- answers ---


def _answer(found: Iterable[FoundItem], options: argparse.Namespace) -> int:
    objects: list[dict[str, Any]] = []
    good = True
    for document, item in found:
        if not options.json:
            print("\n".join(_head(document, item)))
        for each in _runs(document, item, options):
            good &= each.is_good
            if options.json:
                objects.append(each.as_object())
                continue
            print(f"\n$ {each.command}")
            for line in _shown(each.text):
                print(f"  {line}".rstrip())
            print(each.told())
        if not options.json:
            print("\n" + "\n".join(_tail(item)))
    if options.json:
        told = [_item_object(document, item) for document, item in found]
        _print_json({"items": told, "runs": objects, "good": good})
    return EXIT_DONE if good else EXIT_BROKEN


def _shown(text: str) -> Iterator[str]:
    """What a command prints, without the script of a run that it has told in sentences."""
    told, _, _ = text.partition("\n\n# ")
    yield from told.splitlines()


def _head(document: Document, item: LectureItem) -> Iterator[str]:
    yield f"{document.key}/{item.id}  {document.cited}, {item.where}"
    yield from wrap(item.says, WIDTH)
    if item.asks:
        yield from wrap(f"Question: {item.asks}", WIDTH)


def _tail(item: LectureItem) -> Iterator[str]:
    verdict = item.verdict[0].upper() + item.verdict[1:]
    yield from wrap(f"{verdict}: {item.answer}", WIDTH)
    if item.differs:
        yield from wrap(f"Here we differ on purpose: {item.differs}", WIDTH)


def _runs(
    document: Document, item: LectureItem, options: argparse.Namespace
) -> Iterator[Rehearsed]:
    folder = options.svg
    stem = f"{document.key}_{item.name or item.id}"
    for number, each in enumerate(item.run, start=1):
        suffix = f"_{number}" if len(item.run) > 1 else ""
        picture = folder / f"{stem}{suffix}.svg" if folder else None
        yield rehearsed(f"{document.key}/{item.id}", each.command, each, picture=picture)
        if options.changes and each.change:
            changed = each.change.applied(each.command)
            yield rehearsed(f"{document.key}/{item.id}", changed, each.change, unlike=each)


def _run_all(found: list[FoundItem], options: argparse.Namespace) -> int:
    done: list[Rehearsed] = []
    bad: list[str] = []
    for document, item in found:
        name = f"{document.key}/{item.id}"
        runs = list(_runs(document, item, options))
        done += runs
        good = all(each.is_good for each in runs)
        if not good:
            bad.append(name)
        if not options.json:
            took = f"{sum(each.seconds for each in runs):6.1f} s"
            text = f"{name:<11} {item.verdict_word:<10} {took}  {item.asks or item.says}"
            print(text[:WIDTH])
            for each in runs:
                if not each.is_good or each.missing:
                    print(f"{'':<12}$ {each.command}\n{'':<12}{each.told()}")
            sys.stdout.flush()
    seconds = sum(each.seconds for each in done)
    if options.json:
        told = [_item_object(document, item) for document, item in found]
        objects = [each.as_object() for each in done]
        _print_json({"items": told, "runs": objects, "good": not bad, "seconds": round(seconds, 1)})
    else:
        missing = sum(bool(each.missing) for each in done)
        left_out = f", {missing} of them not run" if missing else ""
        items = counted(len(found), "items")
        print(f"{items}, {len(done)} runs{left_out}, {seconds:.0f} s")
        print(f"came out differently: {', '.join(bad)}" if bad else "all came out as written down")
    return EXIT_BROKEN if bad else EXIT_DONE


def _item_object(document: Document, item: LectureItem) -> dict[str, Any]:
    told = msgspec.to_builtins(item)
    return {**told, "id": f"{document.key}/{item.id}", "cited": document.cited}


def _print_json(told: dict[str, Any]) -> None:
    print(msgspec.json.encode(told).decode())
