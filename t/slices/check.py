#!/usr/bin/env python3
"""check.py TRUTHS SOURCES SLICES - compares slices (NAME.json in SLICES) with truths.tsv; marks `OUT name` in the sources
name outputs. A line for each dependence that was taken for impossible, and a count of the independences that were proved.
Status 1 if a dependence was missed, or something of the truths is not in the slice."""
import glob
import json
import os
import re
import sys

truths, sources, slices = sys.argv[1:4]
missed = proved = independent = dependent = wrong = 0


def marks(program):
    found = {}
    for path in glob.glob(os.path.join(sources, program + "[.-]*c*")):
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                m = re.search(r"OUT (\w+)", line)
                if m:
                    found[m.group(1)] = (os.path.basename(path), number)
    return found


loaded = {}
with open(truths, encoding="utf-8") as f:
    for row in f:
        if row.startswith("#"):
            continue
        program, output, source, reaches = row.rstrip("\n").split("\t")
        if program not in loaded:
            with open(os.path.join(slices, program + ".json"), encoding="utf-8") as g:
                loaded[program] = (json.load(g), marks(program))
        s, at = loaded[program]
        inputs = {i["id"] for i in s["inputs"] if (i["kind"] + " " + i.get("name", "")).strip() == source}
        # Where an argument cannot be told from the others, all of them stand for it.
        if source.startswith("argument ") and source != "argument count":
            inputs |= {i["id"] for i in s["inputs"] if i["kind"] == "arguments"}
        # A file whose name is not known may be each.
        if source.startswith("file "):
            inputs |= {i["id"] for i in s["inputs"] if i["kind"] == "file" and "name" not in i}
        outputs = [o for o in s["outputs"] if (os.path.basename(o.get("file", "")), o.get("line")) == at[output]]
        if not inputs or not outputs:
            print(f"{program}: {'no input ' + source if not inputs else 'no output ' + output}")
            wrong += 1
            continue
        may = any(inputs & set(o["may"]) for o in outputs)
        if reaches == "yes":
            dependent += 1
            if not may:
                print(f"{program}: MISSED: {source} reaches {output}")
                missed += 1
        else:
            independent += 1
            proved += not may
            if may:
                print(f"{program}: not proved: {source} cannot reach {output}")
print(f"dependences {dependent}, missed {missed}; independences {independent}, proved {proved}")
sys.exit(1 if missed or wrong else 0)
