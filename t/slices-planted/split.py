#!/usr/bin/env python3
"""split.py TRUTHS SOURCES DIR - each part of `main` between marks (`/* -- */`) becomes a program of its own in DIR, NAME,N.c,
which has what stands before the first mark, too; so that what one part does cannot hide what is missed in another. DIR/truths.tsv
has the rows of the truths whose output and input are in that program. A program without marks is taken as it is."""
import os
import re
import sys

truths, sources, folder = sys.argv[1:4]
rows = {}
with open(truths, encoding="utf-8") as f:
    for row in f:
        if not row.startswith("#"):
            rows.setdefault(row.split("\t")[0], []).append(row.rstrip("\n").split("\t"))


def reached(text, main):
    """The declarations of which main's text needs something, and main."""
    chunks = re.split(r"^(?=(?:static|__attribute__|struct|class|union|extern)\b)", text, flags=re.M)
    kept = main
    for _ in range(len(chunks)):
        for c in chunks:
            name = re.search(r"(\w+)\s*(?:[(\[=;:{]|$)", c.split("__attribute__((constructor))")[-1].split("destructor))")[-1])
            if c not in kept and ("structor))" in c or (name and re.search(rf"\b{name.group(1)}\b", kept))):
                kept += c
    return kept


def has(text, output, source):
    kind, _, name = source.partition(" ")
    if not re.search(rf"OUT {output}\b", text):
        return False
    if kind == "argument" and name != "count":
        return f"argv[{name}]" in text
    return kind == "argument" and "argc >" in text or f'"{name}"' in text


with open(os.path.join(folder, "truths.tsv"), "w", encoding="utf-8") as told:
    for source in sorted(os.listdir(sources)):
        name, end = os.path.splitext(source)
        if name not in rows:
            continue
        with open(os.path.join(sources, source), encoding="utf-8") as f:
            head, *parts = f.read().split("\t/* -- */\n")
        for n, part in enumerate(parts or [""], 1):
            text = head + part
            if part and part is not parts[-1]:
                text += "\treturn 0;\n}\n"
            with open(os.path.join(folder, f"{name},{n}{end}"), "w", encoding="utf-8") as f:
                f.write(text)
            for program, output, what, reaches in rows[name]:
                if has(reached(text[:text.index("int main")], text[text.index("int main"):]), output, what):
                    told.write(f"{program},{n}\t{output}\t{what}\t{reaches}\n")
