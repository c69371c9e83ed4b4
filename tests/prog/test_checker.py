#!/usr/bin/python3
"""Tests the checker itself: a good record passes; each damage to it, and each untrue line, is found. TAP."""

import copy
import importlib.util
import json
import os
import sys
import tempfile
from types import SimpleNamespace

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("check_capture", os.path.join(here, "check_capture.py"))
check_capture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_capture)
number = failed = 0
EXE = "/usr/bin/prog"


def ok(good, name, why=()):
    global number, failed
    number += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", number, name))
    for line in why if not good else ():
        print("# " + line)


def problems(events, truth, where):
    path = os.path.join(where, "..", "events")
    with open(path, "w") as f:
        for e in events:
            f.write(json.dumps(e) + "\n")
    record = check_capture.Record()
    record.load(path)
    options = SimpleNamespace(dir=os.fsencode(where), ignore=set(), status=3, signal=None, closed=True)
    truths = [check_capture.Truth(line, i + 1) for i, line in enumerate(truth)]
    check_capture.Checker(record, truths, options).check()
    return record.problems


def story(where):
    """Process 100 starts p, which makes `new`, reads `in`, renames `new` to `out` and forks 101, which dies of signal 9
    after it wrote to a pipe that 100 reads."""
    for name in ("in", "out", "map"):
        with open(os.path.join(where, name), "w") as f:
            f.write("text\n")
    st = {n: os.stat(os.path.join(where, n)) for n in ("in", "out", "map")}
    d = where
    events = [
        dict(k="session", run="R", host="h", boot="b"),
        dict(k="run", id="R", argv=["prog"]),
        dict(k="domain", num=1, name="uuid:1"),
        dict(k="process", p=1, pid=100, started=1),
        dict(k="file", num=1, kind=1, domain=1, ino=11, path=EXE),
        dict(k="exec", p=1, n=1, exe=1, argv=["prog", "a b"], cwd=d, uid=5, gid=6),
        dict(k="access", p=1, file=1, mode=0x81, sure=1, api=4),
        dict(k="file", num=2, kind=1, domain=1, ino=st["in"].st_ino, path=d + "/in"),
        dict(k="access", p=1, file=2, mode=0x1, sure=1, api=1),
        dict(k="file", num=3, kind=1, domain=1, ino=st["out"].st_ino, path=d + "/new"),
        dict(k="access", p=1, file=3, mode=0xe, sure=1, api=1),
        dict(k="name", p=1, op=3, file=3, path=d + "/out", old=d + "/new"),
        dict(k="file", num=4, kind=8, path=d + "/none"),
        dict(k="access", p=1, file=4, mode=0x1, sure=1, api=1),
        dict(k="file", num=5, kind=3, ino=77, path="pipe:[77]"),
        dict(k="process", p=2, pid=101, started=2, parent=1),
        dict(k="access", p=2, file=5, mode=0x2, via=2, api=2),
        dict(k="access", p=1, file=5, mode=0x1, via=2, api=2),
        dict(k="exit", p=2, ending=2, code=9, known=6),
        dict(k="file", num=6, kind=1, domain=1, ino=st["map"].st_ino, path=d + "/map"),
        dict(k="access", p=1, file=6, mode=0x23, sure=1, api=3),
        dict(k="gap", p=1, reason=2, text="io_uring"),
        dict(k="state", file=3, size=5, mtime=st["out"].st_mtime_ns),
        dict(k="access_end", access=11, until=100, evidence=2, state=1),
        dict(k="exit", p=1, ending=1, code=3, known=6),
        dict(k="run_end", p=1, id="R", ending=1, code=3),
        dict(k="session_end"),
    ]
    for i, e in enumerate(events):
        e.update(session="00000000000000aa", seq=i + 1, t=10 + i)
    truth = """\
100@EXE exec prog a\\x20b
100@EXE exec-number 1
100@EXE cwd DIR
100@EXE ids 5 6
100@EXE read DIR/in #IN
100@EXE not-written DIR/in
100@EXE create DIR/new
100@EXE write DIR/new #OUT
100@EXE trunc DIR/out
100@EXE not-read DIR/out
100@EXE rename DIR/new DIR/out #OUT
100@EXE absent DIR/none
100@EXE named DIR/out #OUT
100@EXE no-name DIR/new
100@EXE fork 101
100@EXE program EXE
100@EXE mapped DIR/map
100@EXE need-gap io_uring
101@- flow pipe 100
100@- no-flow pipe 101
101@- signal 9
101@- no-access DIR/in
100@EXE exit 3
*@prog anyone-read DIR/in
""".replace("EXE", EXE).replace("DIR", d)
    truth = truth.replace("#IN", "#%d" % st["in"].st_ino).replace("#OUT", "#%d" % st["out"].st_ino)
    return events, truth.splitlines()


def main():
    with tempfile.TemporaryDirectory() as top:
        where = os.path.join(os.path.realpath(top), "d")
        os.mkdir(where)
        events, truth = story(where)
        found = problems(events, truth, where)
        ok(not found, "a good record passes", found)
        for i, e in enumerate(events):
            less = copy.deepcopy(events)
            # The numbers stay without a hole, and accesses keep theirs.
            less[i] = dict(session=e["session"], seq=e["seq"], t=e["t"], k="note", text="taken away")
            found = problems(less, truth, where)
            # Without its domain event a file is told of; the program's own path is needed by all lines.
            ok(bool(found), "without event %d (%s) it is found" % (i + 1, e["k"]))
        hole = [e for e in events if e["seq"] != 8]
        ok(any("hole" in p for p in problems(hole, truth, where)), "a hole is found")
        changes = [
            (4, "parent", 9), (6, "argv", ["prog"]), (6, "n", 2), (6, "cwd", "/"), (6, "uid", 0), (7, "mode", 1),
            (8, "ino", 1), (9, "sure", 0), (9, "mode", 3), (9, "p", 2), (11, "mode", 0x2), (12, "old", where + "/x"),
            (12, "path", where + "/x"), (12, "p", 2), (14, "p", 2), (16, "parent", 2), (17, "mode", 1),
            (18, "mode", 2), (19, "code", 15), (19, "ending", 1), (21, "mode", 3), (22, "reason", 1),
            (23, "size", 4), (23, "mtime", 1), (24, "access", 12), (24, "until", 1), (25, "code", 4),
            (25, "known", 0), (26, "code", 0),
        ]
        for seq, field, value in changes:
            other = copy.deepcopy(events)
            other[seq - 1][field] = value
            # A read-write access of what was only read: both a write nobody did, and no sure read.
            ok(bool(problems(other, truth, where)), "event %d with %s = %r is found" % (seq, field, value))
        lies = [
            "100@%s read DIR/out", "100@%s write DIR/in", "100@%s may-write DIR/in", "100@%s may-read DIR/none",
            "100@%s create DIR/in", "100@%s append DIR/out", "100@%s trunc DIR/in", "100@%s mapped DIR/in",
            "100@%s program DIR/in", "100@%s not-read DIR/in", "100@%s not-written DIR/new",
            "100@%s no-write DIR/map", "100@%s no-access DIR/in", "100@%s no-access DIR/none",
            "100@%s not-create DIR/new", "100@%s absent DIR/in", "100@%s pseudo DIR/in",
            "100@%s rename DIR/out DIR/new", "100@%s exchange DIR/in DIR/out", "100@%s link DIR/in DIR/out",
            "100@%s unlink DIR/new", "100@%s named DIR/out #1", "100@%s not-named DIR/out #OUT",
            "100@%s no-name DIR/in", "100@%s unnamed #OUT", "100@%s distinct #OUT #1",
            "100@%s two-files DIR/out #OUT", "100@%s flow fifo 101", "100@%s flow pipe 101",
            "101@%s no-flow pipe 100", "100@%s need-gap lost", "100@%s read-or-gap DIR/out lost", "100@%s exit 0",
            "100@%s signal 3", "101@%s exit 9", "100@%s fork 100", "100@%s script DIR/in /bin/sh",
            "100@%s exec-number 2", "102@%s read DIR/in", "101@%s read DIR/in", "*@nothing read DIR/in",
            "100@%s no-such-verb x",
        ]
        for lie in lies:
            line = lie.replace("%s", EXE).replace("DIR", where).replace("#OUT", "#%d" % os.stat(where + "/out").st_ino)
            ok(bool(problems(events, truth + [line], where)), "untrue: " + lie.replace("@%s", ""))
        with open(where + "/more", "w") as f:
            f.write("x")
        os.rename(where + "/more", where + "/out")
        ok(bool(problems(events, truth, where)), "a name that is another file's on the disk is found")
    print("1..%d" % number)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
