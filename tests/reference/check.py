#!/usr/bin/env python3
"""Holds the reference against the golden histories, and the builder against both. Prints TAP.

    check.py [--evtext TOOL --graphdump TOOL] [--goldens | --random] [-n COUNT] [--seed FIRST] [--keep DIR] [--one SEED]

Without tools only the reference is tested. A random history is built several ways, which must all give the
reference's graph (B12): its logs in order, in reverse, as one log shuffled and with repeats, and one after the other
into a store that is there already (late logs, and logs that were read while they were written; then the graph so far must
be right after each). Where one does not, the
history is made smaller as long as it still disagrees, and written to DIR.
"""
import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import graph  # noqa: E402  (found beside this file)
import random_history  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden", "graph")
BLOCK = 50  # random histories a TAP line
SHRINK_SECONDS = 60


# ---- TAP -----------------------------------------------------------------------------------------------------------

class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, what, comment=""):
        self.count += 1
        self.failed += not good
        print("%sok %d - %s" % ("" if good else "not ", self.count, what))
        for line in comment.splitlines() if not good else ():
            print("# " + line)
        sys.stdout.flush()

    def skip(self, what, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, what, why))


def difference(expected, got):
    lines = list(difflib.unified_diff(expected, got, "expected", "got", lineterm="", n=0))
    return "\n".join(lines[:60] + (["(%d more)" % (len(lines) - 60)] if len(lines) > 60 else []))


# ---- the two sides -------------------------------------------------------------------------------------------------

def reference(logs, skew, lps):
    """The reference's lines for logs (lists of events)."""
    found = {}
    for log in logs:
        for event in log:
            found.setdefault((int(event["session"], 16), event["seq"]), event)
    sessions = defaultdict(list)
    for session, seq in sorted(found):
        sessions[session].append(found[session, seq])
    return graph.Graph(graph.Facts(sessions), skew, lps).canonical()


class Builder:
    """The tools under test; makes segments in a folder of its own."""

    def __init__(self, evtext, graphdump, folder):
        self.evtext, self.graphdump, self.folder = evtext, graphdump, folder
        self.made = 0

    def segment(self, events):
        self.made += 1
        path = os.path.join(self.folder, "%d.stl" % self.made)
        lines = random_history.text(events).encode()
        done = subprocess.run([self.evtext, "make", path], input=lines, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError("stemma-evtext make: %s" % done.stderr.decode("utf-8", "replace"))
        return path

    def dump(self, arguments):
        """(lines, complaint or "")"""
        done = subprocess.run([self.graphdump] + arguments, capture_output=True, check=False)
        complaint = ""
        if done.returncode:
            complaint = "stemma-graphdump ended with %d\n%s" % (done.returncode, done.stderr.decode("utf-8", "replace"))
        return done.stdout.decode("latin-1").splitlines(), complaint

    def batch(self, histories, options):
        """The lines of each history (a list of segments) of a batch, None after a crash; and the complaint."""
        path = os.path.join(self.folder, "batch")
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(" ".join(segments) + "\n" for segments in histories)
        lines, complaint = self.dump(options + ["--batch", path])
        answers = [[]]
        for line in lines:
            if line == "--":
                answers.append([])
            else:
                answers[-1].append(line)
        if len(answers) == len(histories) + 1 and not answers[-1]:
            answers.pop()
        if complaint:
            answers.pop()
        return (answers + [None] * len(histories))[:len(histories)], complaint

    def clean(self):
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def options(skew, lps):
    return random_history.options({"skew": skew, "lps": lps})


def differs(builder, stages, skew, lps):
    """Builds `stages` (lists of logs, one call each) and compares after each. "" or what is wrong."""
    logs, store = [], []
    if len(stages) > 1:
        store = ["--store", tempfile.mkdtemp(dir=builder.folder)]
    for stage in stages:
        logs += stage
        segments = [builder.segment(log) for log in stage]
        expected = reference(logs, skew, lps)
        # In memory it is held, too, that each read has a version behind it.
        for way in (store,) if store else (store, ["--memory"]):
            got, complaint = builder.dump(options(skew, lps) + way + segments)
            if complaint or got != expected:
                return complaint + difference(expected, got)
    return ""


# ---- ways to bring a history in ------------------------------------------------------------------------------------

def shuffled(logs, r):
    """One log with all events, in pieces that are mixed and partly repeated."""
    events = [e for log in logs for e in log]
    size = r.choice((1, 1, 3, 10))
    pieces = [events[i:i + size] for i in range(0, len(events), size)]
    pieces += r.sample(pieces, len(pieces) // 3)
    r.shuffle(pieces)
    return [e for piece in pieces for e in piece]


def grown(logs, r):
    """The logs as they were while they were written: stage after stage each has some more of its events."""
    cuts = [sorted(r.randrange(len(log) + 1) for _ in range(r.choice((1, 3, 6)))) for log in logs]
    pieces = [[log[a:b] for a, b in zip([0] + cut, cut + [len(log)])] for log, cut in zip(logs, cuts)]
    stages = [[p[i] for p in pieces if i < len(p) and p[i]] for i in range(max(map(len, pieces), default=0))]
    return [stage for stage in stages if stage]


def ways(logs, r, late):
    """{name: stages}"""
    found = {"in order": [logs], "in reverse": [logs[::-1]], "shuffled and repeated": [[shuffled(logs, r)]]}
    if late:
        mixed = logs[:]
        r.shuffle(mixed)
        if len(mixed) == 1:
            events = shuffled(mixed, r)
            mixed = [events[:len(events) // 2], events[len(events) // 2:]]
        found["while it was written"] = grown(logs, r)
        found["late logs"] = [[log] for log in mixed if log] + [[shuffled(logs, r)]]
    return found


# ---- shrinking -----------------------------------------------------------------------------------------------------

def without(stages, keys):
    """The stages with only the events of `keys`, and none that is empty."""
    kept = [[[e for e in log if (e["session"], e["seq"]) in keys] for log in stage] for stage in stages]
    kept = [[log for log in stage if log] for stage in kept]
    return [stage for stage in kept if stage]


def shrink(stages, still):
    """The smallest part of `stages` found for which still(stages) holds. A session's first event stays as long as
    the session does."""
    until = time.monotonic() + SHRINK_SECONDS
    events = {(e["session"], e["seq"]): e for stage in stages for log in stage for e in log}
    keys = sorted(events, key=lambda k: (events[k]["t"], k))

    def holds(chosen):
        bodies = {k[0] for k in chosen if events[k]["k"] != "session"}
        chosen = [k for k in chosen if k[0] in bodies]
        part = without(stages, set(chosen))
        return chosen if part and len(chosen) < len(keys) and still(part) else None

    everything = [log for stage in stages for log in stage]
    for merged in ([everything], [[[e for log in everything for e in log]]]):
        if merged != stages and still(merged):
            stages = merged
    for session in sorted({k[0] for k in keys}):
        smaller = holds([k for k in keys if k[0] != session])
        keys = smaller or keys
    size = max(1, len(keys) // 2)
    while time.monotonic() < until:
        at, progress = 0, False
        while at < len(keys) and time.monotonic() < until:
            gone = {k for k in keys[at:at + size] if events[k]["k"] != "session"}
            smaller = gone and holds([k for k in keys if k not in gone])
            if smaller:
                keys, progress = smaller, True
            else:
                at += size
        if size == 1 and not progress:
            break
        size = max(1, size // 2)
    stages = without(stages, set(keys))
    return drop_repeats(stages, still, until)


def drop_repeats(stages, still, until):
    """What stands in several logs, or several times in one, need not."""
    places = [(s, l, e) for s, stage in enumerate(stages) for l, log in enumerate(stage) for e in range(len(log))]
    gone = set()
    for place in reversed(places):
        part = [[[event for e, event in enumerate(log) if (s, l, e) not in gone | {place}]
                 for l, log in enumerate(stage)] for s, stage in enumerate(stages)]
        part = [stage for stage in ([log for log in stage if log] for stage in part) if stage]
        if part and time.monotonic() < until and still(part):
            gone.add(place)
            smallest = part
    return smallest if gone else stages


def report(builder, seed, way, stages, skew, lps, keep):
    """Shrinks and writes a failure; returns what to print."""
    first = differs(builder, stages, skew, lps)
    if not first:
        return "seed %d, %s: wrong in a batch, right alone: state is carried from one history to the next" % (seed, way)
    crash = "stemma-graphdump ended" in first

    def still(candidate):
        wrong = differs(builder, candidate, skew, lps)
        return bool(wrong) and ("stemma-graphdump ended" in wrong) == crash

    stages = shrink(stages, still)
    folder = os.path.join(keep, "seed-%d-%s" % (seed, way.replace(" ", "-")))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    told = ["seed %d, %s %s; smallest case in %s (stage.log.jsonl):" % (seed, way, " ".join(options(skew, lps)),
                                                                        folder)]
    for number, stage in enumerate(stages):
        for place, log in enumerate(stage):
            name = "%d.%d.jsonl" % (number, place)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(random_history.text(log))
            told += ["%s: %s" % (name, line) for line in random_history.text(log).splitlines()]
    told.append(differs(builder, stages, skew, lps))
    with open(os.path.join(folder, "told"), "w", encoding="utf-8") as out:
        out.write("\n".join(told) + "\n")
    return "\n".join(told)


# ---- tests ---------------------------------------------------------------------------------------------------------

def lines_of(path):
    with open(path, encoding="latin-1") as f:
        return f.read().splitlines()


def golden(tap, builder, name, seed):
    folder = os.path.join(GOLDEN, name)
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".jsonl"))
    logs = []
    for path in files:
        logs.append([graph.json.loads(line) for line in lines_of(path)])
    skew = 0
    if os.path.exists(os.path.join(folder, "options")):
        skew = int(lines_of(os.path.join(folder, "options"))[0].split()[1])
    for lps, wanted in ((False, "expect"), (True, "expect-lps")):
        title = name + ": %s" + (" --lps" if lps else "")
        if not os.path.exists(os.path.join(folder, wanted)):
            continue
        expected = lines_of(os.path.join(folder, wanted))
        got = reference(logs, skew, lps)
        tap.ok(expected == got, title % "reference", difference(expected, got))
        if builder is None:
            tap.skip(title % "builder", "no --evtext and --graphdump given")
            continue
        got, complaint = builder.dump(options(skew, lps) + [builder.segment(log) for log in logs])
        tap.ok(expected == got and not complaint, title % "builder", complaint + difference(expected, got))
        wrong = ""
        for way, stages in ways(logs, random.Random(seed), True).items():
            found = differs(builder, stages, skew, lps)
            wrong += "%s:\n%s\n" % (way, found) if found else ""
        tap.ok(not wrong, title % "builder, in any order, late and repeated", wrong)
        builder.clean()
    if os.path.exists(os.path.join(folder, "lineage")):
        golden_lineage(tap, name, folder, files, skew)


def golden_lineage(tap, name, folder, files, skew):
    built = graph.build(files, skew)
    expected, got = lines_of(os.path.join(folder, "lineage")), []
    for line in expected:
        if line.startswith("? "):
            what, *asked = line[2:].split()
            root = built.find_version(what)
            got.append(line)
            if root:
                got += built.lineage(root, *("--" + o in asked for o in ("fork", "shm", "sync", "all", "servers", "certain")))
    tap.ok(expected == got, name + ": lineage of the reference", difference(expected, got))


def random_block(tap, builder, seeds, keep, late_every):
    """Compares the histories of `seeds`, in batches where a way has one stage."""
    cases = []  # (seed, way, stages, skew, lps, expected)
    for seed in seeds:
        history = random_history.generate(seed)
        skew, lps, logs = history["skew"], history["lps"], history["logs"]
        expected = reference(logs, skew, lps)
        for way, stages in ways(logs, random.Random(seed), seed % late_every == 0).items():
            cases.append((seed, way, stages, skew, lps, expected))
    wrong, batches, segments = [], defaultdict(list), {}
    for case in cases:
        seed, way, stages, skew, lps, expected = case
        if len(stages) > 1:
            if differs(builder, stages, skew, lps):
                wrong.append(case)
            continue
        paths = []
        for log in stages[0]:
            if id(log) not in segments:
                segments[id(log)] = builder.segment(log)
            paths.append(segments[id(log)])
        batches[skew, lps].append((case, paths))
    for (skew, lps), members in batches.items():
        answers, _ = builder.batch([paths for _, paths in members], options(skew, lps))
        wrong += [case for (case, _), got in zip(members, answers) if got != case[5]]
        ordered = [member for member in members if member[0][1] == "in order" and member[0] not in wrong]
        answers, _ = builder.batch([paths for _, paths in ordered], options(skew, lps) + ["--memory"])
        wrong += [case for (case, _), got in zip(ordered, answers) if got != case[5]]
    told = [report(builder, *case[:5], keep) for case in wrong[:1]]
    told += ["seed %d, %s: wrong too" % case[:2] for case in wrong[1:20]]
    tap.ok(not wrong, "random histories %d to %d: %d ways agree" % (seeds[0], seeds[-1], len(cases)), "\n".join(told))
    builder.clean()
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--evtext", metavar="TOOL")
    parser.add_argument("--graphdump", metavar="TOOL")
    parser.add_argument("--goldens", action="store_true", help="only the golden histories")
    parser.add_argument("--random", action="store_true", help="only random histories")
    parser.add_argument("-n", type=int, default=500, metavar="COUNT", help="random histories (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, metavar="FIRST", help="first seed (default %(default)d)")
    parser.add_argument("--late-every", type=int, default=5, metavar="K",
                        help="late logs for one history in K (default %(default)d)")
    parser.add_argument("--one", type=int, metavar="SEED", help="only this random history, in all ways")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "stemma-graph-failures"), metavar="DIR",
                        help="where smallest failing cases go (default %(default)s)")
    arguments = parser.parse_args()
    if bool(arguments.evtext) != bool(arguments.graphdump):
        parser.error("--evtext and --graphdump go together")

    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="stemma-graph-") as folder:
        builder = Builder(arguments.evtext, arguments.graphdump, folder) if arguments.evtext else None
        if arguments.one is None and not arguments.random:
            for name in sorted(os.listdir(GOLDEN)):
                golden(tap, builder, name, 1)
        seeds, late_every = list(range(arguments.seed, arguments.seed + arguments.n)), arguments.late_every
        if arguments.one is not None:
            seeds, late_every = [arguments.one], 1
        if builder is None:
            tap.skip("random histories", "no --evtext and --graphdump given")
        elif not arguments.goldens:
            failures = 0
            for at in range(0, len(seeds), BLOCK):
                failures += not random_block(tap, builder, seeds[at:at + BLOCK], arguments.keep, late_every)
                if failures == 3:
                    print("# three blocks failed: the rest is not tried")
                    break
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
