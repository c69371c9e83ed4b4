#!/usr/bin/python3
"""Compares the events of a recorded run with what its programs say they did (README.md).

check_capture.py --truth FILE --dir DIR [--ignore PATH]... [--status N | --signal N] EVENTS
EVENTS is the output of stemma-evtext dump. Prints a line per difference; ends with status 1 if there is one."""

import argparse
import json
import os
import re
import stat
import sys
from collections import defaultdict

READ, WRITE, CREATE, TRUNC, APPEND, MAPPED, STATE, PROGRAM = (1 << i for i in range(8))
KINDS = ["", "regular", "fifo", "pipe", "socket", "shm", "terminal", "pseudo", "absent", "directory", "symlink"]
VIA_DESCRIPTOR, VIA_SYNC = 2, 7
NONE, MAY, MUST = 0, 1, 2
NAMEOPS = ["", "create", "link", "rename", "unlink", "replace", "seen"]
EXITED, SIGNALED = 1, 2
GAPS = ["", "lost", "io_uring", "privilege_lost", "unreadable", "traced", "detached", "recorder_died", "exit_unseen",
        "tree_only", "abi32", "no_bytes", "unsettled", "namespace", "mounts", "parent_unseen", "limit",
        "by_library", "without_library"]


def raw(text):
    """A string of the text form (a character per byte) or of a truth line, as bytes."""
    return text.encode("latin-1")


def unescape(word):
    if word == "\\":
        return b""
    return re.sub(rb"\\x(..)", lambda m: bytes([int(m.group(1), 16)]), word.encode())


def show(path):
    return path.decode("utf-8", "backslashreplace")


class File:
    """A file by identity, with all that the record says of it."""

    def __init__(self, key, kind):
        self.key, self.kind = key, kind
        self.ever = set()  # paths that ever named it
        self.open = set()  # paths that name it now
        self.group = None
        self.closing = None  # (size, mtime) at the last end of a write access that says so
        self.accesses = []

    @property
    def ino(self):
        return self.key[1]


class Execution:
    def __init__(self, process, n):
        self.process, self.n = process, n
        self.exe = self.script = None
        self.argv, self.cwd, self.ids = [], b"", None
        self.accesses = []

    def __str__(self):
        return "%d/%d" % (self.process.pid, self.n)


class Process:
    def __init__(self, num, event, parent):
        self.num, self.pid, self.parent = num, event.get("pid", 0), parent
        self.executions = [Execution(self, 0)]
        if parent:
            self.executions[0].exe = parent.executions[-1].exe
        self.end = None
        self.names = []  # name events it caused
        self.gaps = set()
        self.links = []  # (process, ...)


class Access:
    def __init__(self, event, execution, file):
        self.event, self.execution, self.file = event, execution, file
        self.raw_mode = event.get("mode", 0)
        self.ends = []

    def settle(self):
        """The facts of doc/graph.md: mode, sure and evidence as the graph takes them. mode 0: dropped."""
        e = self.event
        inherited = e.get("via", 0) == VIA_DESCRIPTOR
        mode, sure, evidence = self.raw_mode, e.get("sure", 0) == 1, MAY
        known, bytes_read, bytes_written = 0, 0, 0
        for end in self.ends:
            evidence = end.get("evidence", 0)
            if end.get("known", 0) & 1:
                known, bytes_read = known | 1, end.get("bytes_read", 0)
            if end.get("known", 0) & 2:
                known, bytes_written = known | 2, end.get("bytes_written", 0)
        if inherited:
            mode &= ~(CREATE | TRUNC)
            if known & 2 and bytes_written == 0 and evidence == MAY and not mode & MAPPED:
                evidence = NONE
            if known & 2 and bytes_written > 0:
                evidence = MUST
            if evidence == MUST and mode & WRITE:
                sure = True
            if known & 1 and bytes_read == 0 and not mode & MAPPED:
                mode &= ~READ
            elif known & 1 and bytes_read > 0:
                sure = True
        elif mode & (CREATE | TRUNC | MAPPED):
            evidence = MUST
        if mode & WRITE and evidence == NONE:
            mode &= ~WRITE
            sure = sure if not mode & READ else inherited and bool(known & 1 and bytes_read > 0)
        self.proved_idle = bool(self.raw_mode & WRITE and evidence == NONE and known & 2 and bytes_written == 0)
        self.mode, self.sure, self.evidence = mode, sure, evidence
        self.reads = bool(mode & READ)
        self.writes = bool(mode & WRITE)
        self.sure_read = self.reads and sure and not self.writes
        self.sure_write = self.writes and sure and evidence == MUST


class Record:
    def __init__(self):
        self.files = {}
        self.holder = {}  # path -> the file it was given to last
        self.processes = []
        self.accesses = []
        self.gaps = []  # (reason, process or None, text)
        self.runs = []  # (run event, run_end event)
        self.names = []  # (op, file, path, old, process)
        self.problems = []

    def problem(self, text, *args):
        self.problems.append(text % args if args else text)

    def load(self, path):
        sessions = defaultdict(list)
        order = []
        with open(path, encoding="utf-8") as f:
            for line in f:
                event = json.loads(line)
                if event["session"] not in sessions:
                    order.append(event["session"])
                sessions[event["session"]].append(event)
        if not order:
            self.problem("no session was recorded")
        for session in order:
            Session(self, session).take(sessions[session])
        for access in self.accesses:
            access.settle()

    def by_path(self, path, ino=None):
        return [f for f in self.files.values()
                if (path == b"-" or path in f.ever) and (ino is None or f.ino == ino) and KINDS[f.kind] != "absent"]


class Session:
    """Events of one writer, in order."""

    def __init__(self, record, name):
        self.twins = set()  # number and start of its processes
        self.record, self.name = record, name
        self.domains, self.files, self.processes, self.accesses, self.states = {}, {}, {}, {}, {}

    def take(self, events):
        problem = self.record.problem
        if events[0]["k"] != "session":
            problem("session %s does not begin with a session event", self.name)
        if events[-1]["k"] != "session_end":
            problem("session %s has no end", self.name)
        for i, e in enumerate(events):
            if e["seq"] != i + 1:
                problem("session %s has a hole before event %d", self.name, e["seq"])
                break
        for e in events:
            self.event = e
            getattr(self, "on_" + e["k"], lambda e: None)(e)
        for p in self.processes.values():
            if p.end is None and not p.gaps & {"detached", "exit_unseen", "recorder_died", "lost"}:
                problem("process %d has no end", p.pid)

    def process(self, e, field="p"):
        num = e.get(field, 0)
        if num and num not in self.processes:
            self.record.problem("event %d of session %s: process %d is not known", e["seq"], self.name, num)
        return self.processes.get(num)

    def file(self, e, field="file"):
        num = e.get(field, 0)
        if num and num not in self.files:
            self.record.problem("event %d of session %s: file %d is not known", e["seq"], self.name, num)
        return self.files.get(num)

    def on_run(self, e):
        self.record.runs.append([e, None])

    def on_run_end(self, e):
        for run in self.record.runs:
            if run[0].get("id") == e.get("id"):
                run[1] = e

    def on_domain(self, e):
        self.domains[e["num"]] = e.get("name", "")

    def on_file(self, e):
        kind, path = e.get("kind", 0), raw(e.get("path", ""))
        if KINDS[kind] == "absent":
            key = ("absent", path)
        else:
            if e.get("domain", 0) and e["domain"] not in self.domains:
                self.record.problem("file %d: domain %d is not known", e["num"], e["domain"])
            key = (self.domains.get(e.get("domain", 0), ""), e.get("ino", 0), e.get("gen", 0))
        f = self.record.files.setdefault(key, File(key, kind))
        f.channel_path = path
        self.files[e["num"]] = f
        if e.get("group", 0):
            f.group = self.file(e, "group")
        if path:
            self.begin(f, path)

    def begin(self, f, path):
        if KINDS[f.kind] in ("pipe", "socket", "shm", "terminal", "pseudo", "absent"):
            f.ever.add(path)
            return
        holder = self.record.holder.get(path)
        if holder and holder is not f:
            holder.open.discard(path)
        self.record.holder[path] = f
        f.ever.add(path)
        f.open.add(path)

    def on_name(self, e):
        op, f = NAMEOPS[e.get("op", 0)], self.file(e)
        path, old = raw(e.get("path", "")), raw(e.get("old", ""))
        p = self.process(e)
        entry = (op, f, path, old, p)
        self.record.names.append(entry)
        if p:
            p.names.append(entry)
        if f is None:
            return
        if op in ("create", "link", "seen"):
            self.begin(f, path)
        elif op in ("unlink", "replace"):
            f.open.discard(path)
        elif op == "rename":
            if KINDS[f.kind] == "directory":
                moved = [(g, n) for g in self.record.files.values() for n in g.open if n.startswith(old + b"/")]
                for g, n in moved:
                    g.open.discard(n)
                for g, n in moved:
                    self.begin(g, path + n[len(old):])
            f.open.discard(old)
            self.begin(f, path)

    def on_state(self, e):
        f = self.file(e)
        if f:
            self.states[f.key] = (e.get("size", 0), e.get("mtime"))

    def on_process(self, e):
        p = Process(e["p"], e, self.process(e, "parent"))
        twin = (e["pid"], e.get("started"))
        if twin in self.twins and p.parent:
            self.record.problem("process %d of session %s is there twice", p.pid, self.name)
        self.twins.add(twin)
        self.processes[e["p"]] = p
        self.record.processes.append(p)

    def on_exec(self, e):
        p = self.process(e)
        if not p:
            return
        x = Execution(p, e.get("n", 0))
        if x.n != p.executions[-1].n + 1:
            self.record.problem("process %d: execution %d after %d", p.pid, x.n, p.executions[-1].n)
        x.exe, x.script = self.file(e, "exe"), self.file(e, "script")
        x.argv = [raw(a) for a in e.get("argv", [])]
        x.cwd = raw(e.get("cwd", ""))
        x.ids = (e.get("uid", 0), e.get("gid", 0))
        p.executions.append(x)

    def on_exit(self, e):
        p = self.process(e)
        if p and p.end is not None:
            self.record.problem("process %d ended twice", p.pid)
        if p:
            p.end = e

    def on_access(self, e):
        p, f = self.process(e), self.file(e)
        if not p or not f:
            self.record.problem("event %d: an access of nobody or to nothing", e["seq"])
            return
        if p.end is not None:
            self.record.problem("event %d: process %d begins an access after its end", e["seq"], p.pid)
        a = Access(e, p.executions[-1], f)
        self.accesses[e["seq"]] = a
        self.record.accesses.append(a)
        p.executions[-1].accesses.append(a)
        f.accesses.append(a)

    def on_access_end(self, e):
        a = self.accesses.get(e.get("access", 0))
        if not a:
            self.record.problem("event %d ends an access that is not known", e["seq"])
            return
        a.ends.append(e)
        if e.get("until", e["t"]) < a.event["t"]:
            self.record.problem("event %d: the access ended before it began", e["seq"])
        if e.get("state", 0) == 1:
            if a.file.key not in self.states:
                self.record.problem("event %d refers to a state that is not given", e["seq"])
            elif a.raw_mode & WRITE:
                a.file.closing = self.states[a.file.key]

    def on_link(self, e):
        p, q = self.process(e), self.process(e, "other")
        if p and q:
            p.links.append(q)
            q.links.append(p)

    def on_gap(self, e):
        p, reason = self.process(e), e.get("reason", 0)
        name = GAPS[reason] if reason < len(GAPS) else "?%d" % reason
        self.record.gaps.append((name, p, e.get("text", "")))
        if p:
            p.gaps.add(name)


class Truth:
    """One line of truth."""

    def __init__(self, line, number):
        words = line.rstrip("\n").split(" ")
        self.text, self.number = "line %d: %s" % (number, line.rstrip("\n")[:400]), number
        who, self.verb, self.words = words[0], words[1], [unescape(w) for w in words[2:]]
        self.pid, _, exe = who.partition("@")
        self.pid = None if self.pid == "*" else int(self.pid)
        self.exe = unescape(exe)
        self.said = None  # how many exec lines of this process came before, where it spoke itself
        self.path = self.words[0] if self.words else b""
        self.ino = next((int(w[1:]) for w in self.words if re.fullmatch(rb"#\d+", w)), None)


class Checker:
    def __init__(self, record, truths, options):
        self.record, self.truths, self.options = record, truths, options
        self.dir = options.dir
        self.by_pid = defaultdict(list)
        for p in record.processes:
            self.by_pid[p.pid].append(p)
        self.exec_lines = defaultdict(int)
        for t in truths:
            if t.pid is not None and t.exe != b"-":
                if t.verb == "exec":
                    self.exec_lines[t.pid] += 1
                t.said = self.exec_lines[t.pid]
        self.allowed = {"no_bytes"}
        self.told = set()  # (pid or None, "r" or "w", path, ino)

    def complain(self, truth, why):
        self.record.problem("%s: %s", truth.text, why)

    # ---- who

    def processes(self, t):
        if t.pid is not None:
            return self.by_pid[t.pid]
        return list({id(x.process): x.process for x in self.executions(t)}.values())

    def executions(self, t):
        if t.pid is None:
            return [x for p in self.record.processes for x in p.executions if self.is_program(x, t.exe)]
        found = []
        for p in self.by_pid[t.pid]:
            if t.said is not None and self.exec_lines[t.pid] == len(p.executions) - 1:
                found += [x for x in p.executions if x.n == t.said]
            else:
                found += [x for x in p.executions if self.is_program(x, t.exe)]
        return found

    @staticmethod
    def is_program(x, exe):
        if exe in (b"-", b"*") or exe.endswith(b" (deleted)") or exe.startswith(b"/memfd:"):
            return True
        if x.exe is None:
            return False
        names = x.exe.ever | {getattr(x.exe, "channel_path", b"")}
        return exe in names if exe.startswith(b"/") else any(n.endswith((b"/" + exe, b"-" + exe)) for n in names)

    # ---- accesses

    def accesses(self, t, path=None, ino=None):
        files = {id(f) for f in self.record.by_path(t.path if path is None else path, t.ino if ino is None else ino)}
        return [a for x in self.executions(t) for a in x.accesses if id(a.file) in files]

    def some(self, t, test):
        found = self.accesses(t)
        if not any(test(a) for a in found):
            have = ", ".join(sorted({self.describe(a) for a in found})) or "no access"
            others = sorted({"%s of %s" % (self.describe(a), a.execution) for f in self.record.by_path(t.path, t.ino)
                             for a in f.accesses} - {self.describe(a) for a in found})
            self.complain(t, "not recorded (%s%s)" % (have, "; all: " + ", ".join(others[:5]) if others else ""))

    def none(self, t, test, everyone=False):
        found = self.accesses(t)
        if everyone:
            found = [a for f in self.record.by_path(t.path, t.ino) for a in f.accesses]
        for a in found:
            if test(a):
                self.complain(t, "recorded: %s of %s" % (self.describe(a), a.execution))
                return

    @staticmethod
    def describe(a):
        bits = [n for i, n in enumerate(("read", "write", "create", "trunc", "append", "mapped", "state", "program"))
                if a.raw_mode >> i & 1]
        return "+".join(bits) + (" sure" if a.event.get("sure") else "") + " via %d" % a.event.get("via", 0) + \
            ((" evidence %s" % ("none", "may", "must")[a.evidence]) if a.raw_mode & WRITE else "")

    def tell(self, t, what):
        self.told.add((t.pid, what, t.path, t.ino))

    def is_told(self, a, what):
        pid = a.execution.process.pid
        for p, w, path, ino in self.told:
            if w == what and p in (pid, None) and ino in (None, a.file.ino) and (path == b"-" or path in a.file.ever):
                return True
        return False

    # ---- verbs

    def do_exec(self, t):
        found = self.executions(t)
        if not any(x.n > 0 and x.argv == t.words for x in found):
            self.complain(t, "no such execution (%s)" % "; ".join(show(b" ".join(x.argv))[:300] for x in found))

    def do_script(self, t):
        exe = os.path.realpath(t.words[1])
        for p in self.processes(t):
            for x in p.executions:
                if x.script and t.path in x.script.ever and x.exe and exe in x.exe.ever:
                    if x.argv != t.words[2:]:
                        self.complain(t, "arguments are %r" % x.argv)
                    elif not any(a.file is x.script and a.raw_mode & PROGRAM and a.sure_read for a in x.accesses):
                        self.complain(t, "the execution does not use the script as its program")
                    self.told.add((p.pid, "r", t.path, None))
                    return
        self.complain(t, "no such execution")

    def do_exec_number(self, t):
        if not any(x.n == int(t.path) for x in self.executions(t)):
            self.complain(t, "no execution has the number")

    def do_cwd(self, t):
        found = [x for x in self.executions(t) if x.n > 0]
        if not any(x.cwd == t.path for x in found):
            self.complain(t, "recorded: %r" % [x.cwd for x in found])

    def do_ids(self, t):
        found = [x for x in self.executions(t) if x.n > 0]
        if not any(x.ids == (int(t.words[0]), int(t.words[1])) for x in found):
            self.complain(t, "recorded: %r" % [x.ids for x in found])

    def do_fork(self, t):
        children = self.by_pid[int(t.path)]
        if not children:
            self.complain(t, "the child is not known")
        elif not any(c.parent in self.processes(t) for c in children):
            self.complain(t, "its parent is %s" % [c.parent and c.parent.pid for c in children])

    def ended(self, t, ending):
        for p in self.processes(t):
            e = p.end or {}
            if e.get("ending", 0) == ending and e.get("code", 0) == int(t.path):
                # One that is killed, or let go of, makes no last stop at which it could be read.
                if ending == EXITED and "traced" not in p.gaps and not e.get("known", 0) & 2:
                    self.complain(t, "the processor time is not known")
                return
        self.complain(t, "recorded: %s" % [p.end for p in self.processes(t)])

    def do_exit(self, t):
        self.ended(t, EXITED)

    def do_signal(self, t):
        self.ended(t, SIGNALED)

    def do_read(self, t):
        self.tell(t, "r")
        self.some(t, lambda a: a.sure_read)

    def do_may_read(self, t):
        self.tell(t, "r")
        self.some(t, lambda a: a.reads)

    def do_any_read(self, t):
        self.tell(t, "r")
        t.exe, t.said = b"-", None
        self.some(t, lambda a: a.sure_read)

    def do_anyone_read(self, t):
        t.pid, t.exe = None, b"*"
        self.tell(t, "r")
        self.some(t, lambda a: a.sure_read)

    def do_maybe_read(self, t):
        self.tell(t, "r")

    def do_write(self, t):
        self.tell(t, "w")
        self.some(t, lambda a: a.sure_write)

    def do_may_write(self, t):
        self.tell(t, "w")
        self.some(t, lambda a: a.writes or a.proved_idle)

    def do_maybe_write(self, t):
        self.tell(t, "w")

    def do_create(self, t):
        self.tell(t, "w")
        if not any(a.raw_mode & CREATE for a in self.accesses(t)) and \
                not any(n[0] == "create" and n[2] == t.path for p in self.processes(t) for n in p.names):
            self.some(t, lambda a: False)

    def do_trunc(self, t):
        self.tell(t, "w")
        self.some(t, lambda a: a.mode & TRUNC)

    def do_append(self, t):
        self.some(t, lambda a: a.mode & APPEND)

    def do_mapped(self, t):
        self.tell(t, "w")
        self.tell(t, "r")
        self.some(t, lambda a: a.mode & MAPPED and a.sure_write)

    def do_program(self, t):
        self.tell(t, "r")
        self.some(t, lambda a: a.mode & PROGRAM and a.sure_read)

    def do_not_read(self, t):
        self.none(t, lambda a: a.sure_read)

    def do_not_written(self, t):
        self.none(t, lambda a: a.sure_write)

    def do_no_write(self, t):
        self.none(t, lambda a: a.writes)

    def do_no_access(self, t):
        self.none(t, lambda a: True)
        for x in self.executions(t):
            if any(KINDS[a.file.kind] == "absent" and a.file.key[1] == t.path for a in x.accesses):
                self.complain(t, "recorded as absent")

    def do_not_create(self, t):
        self.none(t, lambda a: a.raw_mode & CREATE, everyone=True)

    def do_absent(self, t):
        if not any(a.file.key == ("absent", t.path) for x in self.executions(t) for a in x.accesses):
            have = sorted({show(a.file.key[1]) for x in self.executions(t) for a in x.accesses
                           if a.file.key[0] == "absent" and a.file.key[1].startswith(self.dir)})
            self.complain(t, "not recorded (%s)" % ", ".join(have))

    def do_pseudo(self, t):
        self.some(t, lambda a: KINDS[a.file.kind] == "pseudo")

    def named(self, t, ops, path, old=None):
        have = [n for p in self.processes(t) for n in p.names
                if n[0] in ops and n[2] == path and (old is None or n[3] == old)]
        if not have:
            all_ = ["%s %s %s" % (n[0], show(n[3]), show(n[2])) for p in self.processes(t) for n in p.names]
            self.complain(t, "not recorded (%s)" % "; ".join(all_[-6:]))
        elif t.ino is not None and not any(n[1] and n[1].ino == t.ino for n in have):
            self.complain(t, "recorded for inode %s" % [n[1] and n[1].ino for n in have])

    def do_rename(self, t):
        self.named(t, ("rename",), t.words[1], t.words[0])

    def do_exchange(self, t):
        a, b = t.words[0], t.words[1]
        if not any(n[0] == "rename" and (n[2], n[3]) in ((a, b), (b, a)) for p in self.processes(t) for n in p.names):
            self.complain(t, "not recorded")

    def do_link(self, t):
        self.named(t, ("link",), t.words[1])

    def do_unlink(self, t):
        self.named(t, ("unlink",), t.path)

    def do_not_unlinked(self, t):
        if any(n[0] == "unlink" and n[2] == t.path for n in self.record.names):
            self.complain(t, "recorded")

    def holders(self, path):
        return [f for f in self.record.files.values() if path in f.open]

    def do_named(self, t):
        if not any(f.ino == t.ino for f in self.holders(t.path)):
            self.complain(t, "it names %s" % [f.ino for f in self.holders(t.path)])

    def do_not_named(self, t):
        if any(f.ino == t.ino for f in self.holders(t.path)):
            self.complain(t, "it does")

    def do_no_name(self, t):
        if self.holders(t.path):
            self.complain(t, "it names %s" % [f.ino for f in self.holders(t.path)])

    def do_unnamed(self, t):
        found = [f for f in self.record.files.values() if f.ino == t.ino and KINDS[f.kind] == "regular"]
        if not any(not f.open for f in found):
            self.complain(t, "recorded: %s" % [[show(n) for n in f.open] for f in found])

    def do_distinct(self, t):
        if not all(any(f.ino == int(w[1:]) for f in self.record.files.values()) for w in t.words):
            self.complain(t, "one of them is not known")

    def do_two_files(self, t):
        if len(self.record.by_path(t.path, t.ino)) < 2:
            self.complain(t, "one file only is known")

    def flows(self, t):
        kind = show(t.words[0])
        to = show(t.words[1])
        target = Truth("%s x" % to, 0) if "@" in to else Truth("%s@- x" % to, 0)
        for x in self.executions(t):
            for a in x.accesses:
                if a.writes and KINDS[a.file.kind] == kind and a.event.get("via", 0) != VIA_SYNC:
                    for y in self.executions(target):
                        if any(b.reads and b.file is a.file and b.event.get("via", 0) != VIA_SYNC for b in y.accesses):
                            return True
            if any(q in x.process.links for q in self.processes(target)):
                return True
        return False

    def do_flow(self, t):
        if not self.flows(t):
            have = {"%s %s %s" % (x, KINDS[a.file.kind], ("r" if a.reads else "") + ("w" if a.writes else ""))
                    for x in self.executions(t) for a in x.accesses if KINDS[a.file.kind] in KINDS[2:7]}
            self.complain(t, "no such channel (%s)" % ", ".join(sorted(have)))

    def do_no_flow(self, t):
        if self.flows(t):
            self.complain(t, "recorded")

    def do_group(self, t):
        found = self.record.by_path(t.path)
        if not any(f.group and t.words[1] in f.group.ever for f in found):
            self.complain(t, "recorded: %s" % [f.group and sorted(map(show, f.group.ever)) for f in found])

    def do_allow_gap(self, t):
        self.allowed.add(show(t.path))

    def do_need_gap(self, t):
        reason = show(t.path)
        self.allowed.add(reason)
        if not any(g == reason and (p is None or p in self.processes(t)) for g, p, _ in self.record.gaps):
            self.complain(t, "no such gap (%s)" % sorted({g for g, _, _ in self.record.gaps}))

    def do_read_or_gap(self, t):
        reason = show(t.words[-1])
        self.tell(t, "r")
        self.allowed.add(reason)
        if not any(a.sure_read for a in self.accesses(t)) and not any(g == reason for g, _, _ in self.record.gaps):
            self.complain(t, "neither is recorded")

    def do_skip(self, t):
        pass

    def do_done(self, t):
        pass

    # ---- all of it

    def check(self):
        for t in self.truths:
            verb = getattr(self, "do_" + t.verb.replace("-", "_"), None)
            if verb is None:
                self.complain(t, "unknown verb")
            else:
                verb(t)
        self.check_runs()
        self.check_gaps()
        self.check_untold()
        self.check_disk()

    def check_runs(self):
        o = self.options
        if not self.record.runs:
            self.record.problem("no run was recorded")
        for run, end in self.record.runs:
            if end is None:
                self.record.problem("run %s has no end", run.get("id"))
            elif run.get("outer", "") == "" and (o.status is not None or o.signal is not None):
                want = (EXITED, o.status) if o.signal is None else (SIGNALED, o.signal)
                got = (end.get("ending", 0), end.get("code", 0))
                if got != want:
                    self.record.problem("the run ended with %s, not %s", got, want)

    def check_gaps(self):
        for reason, p, text in self.record.gaps:
            if reason not in self.allowed:
                self.record.problem("gap %s of process %s: %s", reason, p.pid if p else "-", text)

    def inside(self, f):
        return [n for n in f.ever if n.startswith(self.dir + b"/") and n not in self.options.ignore]

    def check_untold(self):
        if not self.options.closed:
            return
        seen = set()
        for a in self.record.accesses:
            if KINDS[a.file.kind] not in ("regular", "fifo") or not self.inside(a.file):
                continue
            if a.raw_mode & PROGRAM:
                continue
            for what, is_ in (("r", a.sure_read), ("w", a.sure_write)):
                if is_ and (a.execution.process.pid, what, a.file.key) not in seen and not self.is_told(a, what):
                    if KINDS[a.file.kind] == "fifo":
                        continue
                    seen.add((a.execution.process.pid, what, a.file.key))
                    self.record.problem("%s of %s by %s is recorded, and nobody did it", self.describe(a),
                                        show(sorted(self.inside(a.file))[0]), a.execution)

    def check_disk(self):
        on_disk = {}
        for root, dirs, names in os.walk(self.dir):
            for n in dirs + names:
                path = os.path.join(root, n)
                try:
                    on_disk[path] = os.lstat(path)
                except OSError:
                    pass
        prefix = self.dir + b"/"
        known = defaultdict(list)
        for f in self.record.files.values():
            if KINDS[f.kind] not in ("regular", "directory", "symlink", "fifo"):
                continue
            known[f.ino].append(f)
            for n in f.open:
                if not n.startswith(prefix) or len(n) > 4000:
                    continue
                if n not in on_disk:
                    self.record.problem("the record's name %s is not on the disk", show(n))
                elif on_disk[n].st_ino != f.ino:
                    self.record.problem("%s is inode %d in the record, %d on the disk", show(n), f.ino,
                                        on_disk[n].st_ino)
        for path, st in on_disk.items():
            if st.st_ino in known and not any(path in f.open for f in known[st.st_ino]) and len(path) < 4000:
                self.record.problem("%s (inode %d) is on the disk; the record has %s for it", show(path), st.st_ino,
                                    [sorted(map(show, f.open)) for f in known[st.st_ino]])
        for f in self.record.files.values():
            paths = [n for n in f.open if n in on_disk and n not in self.options.ignore]
            writes = [a for a in f.accesses if a.writes and a.evidence == MUST]
            if not paths or not writes or KINDS[f.kind] != "regular" or any(a.raw_mode & MAPPED for a in f.accesses):
                continue
            st = on_disk[paths[0]]
            if not stat.S_ISREG(st.st_mode) or st.st_ino != f.ino:
                continue
            if f.closing is None:
                self.record.problem("%s was written, and no fingerprint of its end is recorded", show(paths[0]))
            elif f.closing[0] != st.st_size or f.closing[1] not in (None, st.st_mtime_ns):
                self.record.problem("%s ended with size %s, time %s; on the disk it has %d, %d", show(paths[0]),
                                    f.closing[0], f.closing[1], st.st_size, st.st_mtime_ns)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--truth", action="append", default=[])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--ignore", action="append", default=[])
    parser.add_argument("--status", type=int)
    parser.add_argument("--signal", type=int)
    parser.add_argument("--open", dest="closed", action="store_false",
                        help="accesses that no line tells of are no fault")
    parser.add_argument("--or-gap", metavar="REASON", help="the truth need not be recorded where this gap is")
    parser.add_argument("--allow-gap", metavar="REASON", action="append", default=[],
                        help="this gap may be there, and nothing is the less true for it")
    parser.add_argument("events")
    options = parser.parse_args()
    options.dir = os.fsencode(os.path.realpath(options.dir))
    options.ignore = {os.fsencode(os.path.realpath(p)) for p in options.ignore}
    record = Record()
    record.load(options.events)
    truths = []
    for name in options.truth:
        with open(name, encoding="utf-8") as f:
            truths += [Truth(line, i + 1) for i, line in enumerate(f) if line.strip() and not line.startswith("#")]
    checker = Checker(record, truths, options)
    checker.allowed.update(options.allow_gap)
    if options.or_gap and any(g == options.or_gap for g, _, _ in record.gaps):
        checker.allowed.add(options.or_gap)
        for t in truths:
            if t.verb == "allow-gap":
                checker.do_allow_gap(t)
        checker.check_runs()
        checker.check_gaps()
    else:
        checker.check()
    # What was told to be missing explains the rest, and must not be lost behind it.
    record.problems.sort(key=lambda p: not p.startswith("gap "))
    for p in record.problems[:25]:
        print(p)
    if len(record.problems) > 25:
        print("... and %d more" % (len(record.problems) - 25))
    return 1 if record.problems else 0


if __name__ == "__main__":
    sys.exit(main())
