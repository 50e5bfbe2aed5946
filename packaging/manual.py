#!/usr/bin/env python3
"""Writes a manual page from pages in Markdown: docs/man/<name>.<section>.md, then pages of docs/ whose words it shares.

  manual.py --version 0.1.0 --output pmio-hints.7 docs/man/pmio-hints.7.md docs/hints.md

It knows what those pages use: headings, paragraphs, lists, fenced code, tables, bold, code and links. A table becomes a
tagged list, for a terminal has no room for its columns. In the first page the headings are the manual's sections; the
title of each further page is a section, its headings are subsections. They stand before the section "See also".
"""

import argparse
import re
from pathlib import Path

INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)]+)\)")
LIST_ITEM = re.compile(r"(?:-|\d+\.) ")


def escaped(text):
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")


def styled(text):
    """Inline Markdown as roff."""
    result, end = "", 0
    for match in INLINE.finditer(text):
        code, bold, emphasis, label, _ = match.groups()
        result += escaped(text[end : match.start()])
        if code or bold:
            result += rf"\fB{escaped(code or bold)}\fR"
        elif emphasis:
            result += rf"\fI{escaped(emphasis)}\fR"
        else:
            result += styled(label)
        end = match.end()
    return result + escaped(text[end:])


def line(text):
    """A line of text: a control character at its beginning is none."""
    roff = styled(text)
    return r"\&" + roff if roff.startswith(".") else roff


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def table(rows):
    header = cells(rows[0])
    for row in rows[2:]:  # rows[1] is |---|
        first, *others = cells(row)
        yield from (".TP", line(first))
        named = [f"{name}: {text}" if name else text for name, text in zip(header[1:], others) if text]
        for index, text in enumerate(named):
            yield from (".br", line(text)) if index else (line(text),)


def code(lines):
    yield from (".PP", ".RS 2", ".nf")
    yield from (r"\&" + escaped(text) for text in lines)
    yield from (".fi", ".RE")


def item(text):
    mark, _, rest = text.partition(" ")
    yield from (rf".IP {mark} 3" if mark != "-" else r".IP \(bu 2", line(rest))


def blocks(text):
    """(kind, lines) of each block: code, table, heading, item or paragraph."""
    kind, lines, fenced = None, [], False
    for row in [*text.splitlines(), ""]:
        if row.startswith("```"):
            if lines:
                yield kind, lines
            fenced, lines = not fenced, []
            kind = "code"
            continue
        new = kind if fenced else kind_of(row, kind)
        if not fenced and lines and (new != kind or new in ("heading", "item") and starts(row, new)):
            yield kind, lines
            lines = []
        kind = new
        if fenced or row.strip():
            lines.append(row)
    if lines:
        yield kind, lines


def kind_of(row, before):
    if not row.strip():
        return None
    if row.startswith("#"):
        return "heading"
    if row.startswith("|"):
        return "table"
    if LIST_ITEM.match(row) or before == "item":
        return "item"
    return "paragraph"


def starts(row, kind):
    return kind == "heading" or bool(LIST_ITEM.match(row))


def page(text, shared):
    """The roff of a page without its head; shared: its title is a section like the manual's own."""
    for kind, lines in blocks(text):
        joined = " ".join(part.strip() for part in lines)
        if kind == "heading":
            marks, _, title = joined.partition(" ")
            section = len(marks) == (1 if shared else 2)
            yield f".SH {escaped(title).upper()}" if section else f".SS {styled(title)}"
        elif kind == "table":
            yield from table(lines)
            yield ".PP"
        elif kind == "code":
            yield from code(lines)
        elif kind == "item":
            yield from item(joined)
        else:
            yield from (".PP", line(joined))


def without_needless(roff):
    """Drops each .PP beside a heading, another .PP or the end."""
    kept = []
    for text in roff:
        if text == ".PP" and kept and (kept[-1] == ".PP" or kept[-1].startswith((".SH", ".SS"))):
            continue
        if text.startswith((".SH", ".SS")) and kept and kept[-1] == ".PP":
            kept.pop()
        kept.append(text)
    while kept and kept[-1] == ".PP":
        kept.pop()
    return kept


def manual(sources, name, section, version):
    first, *others = (Path(source).read_text(encoding="utf-8") for source in sources)
    before, see_also, references = first.partition("## See also\n")
    roff = [f'.TH {name.upper()} {section} "" "pmio {version}" "pmio"']
    roff += page(before.partition("\n")[2], shared=False)  # its title is the head's
    for text in others:
        roff += [".PP", *page(text, shared=True)]
    roff += [".PP", *page(see_also + references, shared=False)]
    return "\n".join(without_needless(roff)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    name, _, section = options.output.name.rpartition(".")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(manual(options.sources, name, section, options.version), encoding="utf-8")


if __name__ == "__main__":
    main()
