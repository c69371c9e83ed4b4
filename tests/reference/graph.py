#!/usr/bin/env python3
"""The graph of doc/graph.md, computed naively: the reference for src/graph.

Reads event logs in their text form (JSON lines, doc/format/event-log.md; any files, events in any order, repeated)
and prints the canonical form. Nothing here is fast: every rule looks at everything, and names its B-number.

    graph.py [--skew NS] [--lps] FILE...
    graph.py lineage FILE-or-version [--skew NS] [--fork] [--shm] [--sync] [--all] [--servers] FILE...
"""
import argparse
import json
import sys
from collections import defaultdict

NEVER = 2**63 - 1  # later than all times
HOLDERS_MAX = 256  # rule 5

READ, WRITE, CREATE, TRUNC, APPEND, MAPPED, STATE, PROGRAM = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80
NONE, MAY, MUST = 0, 1, 2  # term evidence

KINDS = {1: "regular", 2: "fifo", 3: "pipe", 4: "socket", 5: "shm", 6: "terminal", 7: "pseudo", 8: "absent",
         9: "directory", 10: "symlink", 11: "group", 12: "dataset", 13: "attribute", 14: "datatype", 15: "softlink", 16: "xattr"}
STREAMS = ("fifo", "pipe", "socket", "shm", "terminal")
OBJECTS = ("group", "dataset", "attribute", "datatype")  # of HDF5 files; a softlink has a name only
VERSIONED = ("regular", "xattr") + OBJECTS
NAMED = ("regular", "directory", "symlink", "softlink", "xattr") + OBJECTS
DATA, OVERLAP, DESCRIPTOR, FORK, SHM, SOCKET, CACHE, SYNC = range(8)
VIAS = ("data", "overlap", "descriptor", "fork", "shm", "socket", "cache", "sync")
CONNECT, BIND = 6, 7  # api
IO_APIS = range(18)
IO_FIGURES = ["calls", "failed", "bytes", "largest", "spent"] + ["size%d" % k for k in range(10)]
OP_CREATE, OP_LINK, OP_RENAME, OP_UNLINK, OP_REPLACE, OP_SEEN = range(1, 7)


# ---- reading ------------------------------------------------------------------------------------------------------

def read_events(paths):
    """The set of events, as {session: [events in seq order]}. A repeated event changes nothing (B12)."""
    found = {}
    for path in paths:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    event = json.loads(line)
                    found.setdefault((int(event["session"], 16), event["seq"]), event)
    sessions = defaultdict(list)
    for session, seq in sorted(found):
        sessions[session].append(found[session, seq])
    return sessions


def order(event):
    """(time, session, seq): the order in which 'first' is meant where sessions tell of the same thing."""
    return event["t"], int(event["session"], 16), event["seq"]


# ---- facts ---------------------------------------------------------------------------------------------------------

class File:
    def __init__(self, identity):
        self.identity = identity  # ("absent", path) or (domain, ino, gen)
        self.sightings = []  # its file events: (order, kind number)
        self.groups = []  # (order, identity of the group's file)
        self.network = False
        self.accesses = []  # counted to it, aliases' included
        self.paths = set()  # every name it ever had, on any host

    @property
    def kind(self):
        return KINDS.get(min(self.sightings)[1], "?")

    def __str__(self):
        if self.identity[0] == "absent" and len(self.identity) == 2:
            return "absent:" + escape(self.identity[1])
        return "%s:%d:%d" % (escape(self.identity[0]), self.identity[1], self.identity[2])


class Process:
    def __init__(self, identity):
        self.identity = identity  # boot, pidns, pid, started
        self.births, self.execs, self.exits = [], defaultdict(list), []  # (order, ...) each
        self.executions = {}  # n -> Execution


class Execution:
    def __init__(self, process, n, host):
        self.process, self.n, self.host = process, n, host  # host: (host name, boot)
        self.start = self.end = None
        self.exit = "-"

    def __str__(self):
        boot, pidns, pid, started = self.process.identity
        return "%s/%d/%d/%s/%d" % (escape(boot), pidns, pid, moment(started), self.n)


WITHOUT_KEY = 2**64 - 1  # the session of a key that was not told


class Access:
    """One access event with its access_end events; after settle(), what the rules need of it."""

    def __init__(self, event, execution, member):
        self.own = event["t"], int(event["session"], 16), event["seq"]
        # Its key: the event that it is, wherever it was told.
        self.told = bool(event.get("as_session", 0))
        self.session, self.seq = self.own[1:] if not self.told else (event["as_session"], event.get("as_seq", 0))
        self.execution = execution
        self.member = member  # the file before aliasing
        self.mode, self.via = event.get("mode", 0), event.get("via", DATA)
        self.told_mode = self.mode
        self.does = WRITE if self.mode & WRITE else self.mode & READ
        self.sure = bool(event.get("sure", 0))
        self.api = event.get("api", 0)
        self.part = min(event.get("part", 0), 2**32 - 1)
        self.began, self.until = event["t"], None
        self.ends = []  # access_end events in seq order
        self.moved = {}  # (api, writes) -> the last io event
        self.fps = self.fpe = None  # fingerprints: (size, mtime)
        self.kept = True  # False: dropped
        self.recorded_write = False  # WRITE in its mode before any dropping (for `live`)

    host = property(lambda self: self.execution.host)
    reads = property(lambda self: bool(self.mode & READ))
    writes = property(lambda self: bool(self.mode & WRITE))
    destroys = property(lambda self: bool(self.mode & (CREATE | TRUNC)))
    key = property(lambda self: (self.began, self.session, self.seq))

    def settle(self, through_alias, regular):
        """B1, B2, B7: end, evidence, certainty; whether it is an access at all, and when it took place."""
        self.closed = max(self.execution.end if self.until is None else self.until, self.began + 1)
        exact = regular and self.is_exact()
        first, last = (self.ends[-1].get("first"), self.ends[-1].get("last")) if exact else (None, None)
        if self.via != DATA:
            self.mode &= ~(CREATE | TRUNC)
        evidence = self.ends[-1].get("evidence", NONE) if self.ends else MAY
        if self.via == DATA and self.mode & (CREATE | TRUNC | MAPPED):
            evidence = MUST
        if through_alias:
            self.mode &= ~(CREATE | TRUNC)  # B14: a new X-wal empties nothing of X
        read = last_known(self.ends, 1, "bytes_read")
        written = last_known(self.ends, 2, "bytes_written")
        self.recorded_write = self.writes
        if self.via == DATA and any(e.get("known", 0) & 8 for e in self.ends):
            self.sure = False
        if self.via == DESCRIPTOR:
            if self.writes:
                if written == 0 and evidence == MAY and not self.mode & MAPPED:
                    evidence = NONE
                if written:
                    evidence = MUST
                if evidence == MUST:
                    self.sure = True
            if self.reads:
                if read == 0 and not self.mode & MAPPED:
                    self.mode &= ~READ
                elif read or (not self.writes and any(e.get("known", 0) & 4 for e in self.ends)):
                    self.sure = True
        if (self.via == DATA or self.api == CONNECT) and read == 0 and not self.mode & (MAPPED | PROGRAM):
            self.mode &= ~READ
        opens = regular and self.via == DATA and bool(self.told_mode & (CREATE | TRUNC)) and not self.mode & MAPPED
        self.only_opened, self.may_only_open = opens and written == 0, opens and written is None
        if exact and first is None:
            self.mode &= ~READ
            evidence = NONE if evidence == MAY else evidence
        if self.writes and evidence == NONE:
            self.mode &= ~WRITE
            self.sure = self.via == DESCRIPTOR and bool(read)
        self.evidence = evidence
        self.kept = self.reads or self.writes
        self.sets_times = (self.via == DATA and not through_alias and bool(self.told_mode & STATE) and None not in (self.fps, self.fpe) and self.fps[0] == self.fpe[0] and
                           not self.told_mode & (READ | WRITE | CREATE | TRUNC | MAPPED | PROGRAM))
        self.start, self.end = self.began, self.closed
        if first is not None:
            if not (self.writes and self.mode & (CREATE | TRUNC | APPEND)):
                self.start = max(self.began, min(first, self.closed - 1))
            if last is not None:
                self.end = min(self.closed, max(last, self.start + 1))
        self.earliest_end = self.end
        final = self.ends[-1] if self.ends else {}
        if final.get("exact", 0) == 2 and None not in (final.get("until"), final.get("last")):
            self.earliest_end = min(self.end, max(final["last"], self.start))

    def is_exact(self):
        """Do its bytes say when it took place?"""
        said = bool(self.ends) and self.ends[-1].get("exact", 0) not in (0, 2) and self.ends[-1].get("until") is not None
        return said and not self.mode & (MAPPED | PROGRAM)


def last_known(ends, bit, name):
    """A byte count: that of the last access_end that knows it, else None."""
    known = [e for e in ends if e.get("known", 0) & bit]
    return known[-1].get(name, 0) if known else None


def drop_twins(file):
    """Of accesses with one key one counts: that of the log itself, else the first that was told of. Of those told without
    a key none counts where the log itself has an access of that execution that began then and does as much."""
    holds = {}
    for a in sorted(file.accesses, key=lambda a: (a.told, a.own)):
        holds.setdefault((a.session, a.seq), a)
    own = {}
    for a in file.accesses:
        if not a.told:
            own.setdefault((id(a.execution), a.began), []).append(a.told_mode)
    file.accesses = [a for a in holds.values() if not (
        a.told and a.session == WITHOUT_KEY and
        any(mode & a.does == a.does for mode in own.get((id(a.execution), a.began), ())))]


class Facts:
    """What the events say, before any rule: files, processes, executions, accesses, links, names."""

    def __init__(self, sessions):
        self.files, self.processes = {}, {}
        self.accesses, self.links, self.name_events = [], [], []
        self.copies = defaultdict(set)  # (process identity, n, identity of the copy) -> (how, identity of an original)
        self.networks = set()
        for session in sorted(sessions):
            self.read_session(sessions[session])
        self.build_executions()
        for access in self.accesses:
            process, n = access.execution
            access.execution = process.executions[n]
            target = self.target(access.member)
            access.settle(target is not access.member, target.kind in VERSIONED)
            target.accesses.append(access)
        for file in self.files.values():
            drop_twins(file)
            file.accesses.sort(key=lambda a: a.key)
            file.network = len(file.identity) == 3 and file.identity[0] in self.networks

    def read_session(self, events):
        head = next((e for e in events if e["k"] == "session"), {})
        name, boot, pidns = head.get("host", ""), head.get("boot", ""), head.get("pidns", 0)
        host = (name, boot)
        domains, files, processes, current = {0: ""}, {}, {}, {}
        states, accesses, said = {}, {}, set()
        for e in events:
            kind, proc = e["k"], processes.get(e.get("p", 0))
            if kind == "domain":
                domains[e["num"]] = e.get("name", "")
                if e.get("network", 0) == 1:
                    self.networks.add(e.get("name", ""))
            elif kind == "file":
                self.read_file(e, name, domains, files)
            elif kind == "state" and e.get("file") in files:
                states[files[e["file"]].identity] = (e.get("size", 0), e.get("mtime"))
            elif kind == "process":
                identity = (boot, pidns, e.get("pid", 0), e.get("started"))
                process = self.processes.setdefault(identity, Process(identity))
                process.births.append((order(e), e, host, processes.get(e.get("parent", 0))))
                processes[e["p"]] = process
                current.setdefault(e["p"], 0)
            elif kind == "exec" and proc:
                proc.execs[e["n"]].append((order(e), e, host))
                current[e["p"]] = e["n"]
                said.add((proc, e["n"]))
            elif kind == "image" and proc and (e.get("n", 0) == 0 or (proc, e["n"]) in said):
                current[e["p"]] = e.get("n", 0)  # told late, of an execution that the session told of
            elif kind == "exit" and proc:
                proc.exits.append((order(e), e))
            elif kind == "access" and proc and e.get("file") in files:
                file = files[e["file"]]
                access = accesses[e["seq"]] = Access(e, (proc, current[e["p"]]), file)
                if access.mode & STATE:
                    access.fps = states.get(file.identity)
                self.accesses.append(access)
            elif kind == "access_end" and e.get("access") in accesses:
                access = accesses[e["access"]]
                access.ends.append(e)
                if e.get("until") is not None:
                    access.until = e["until"]
                if e.get("state", 0) == 1:
                    access.fpe = states.get(access.member.identity, access.fpe)
            elif kind == "io" and e.get("access") in accesses:
                api = e.get("api", 0)
                accesses[e["access"]].moved[api if api in IO_APIS else 0, e.get("write", 0) != 0] = e
            elif kind == "name" and e.get("file") in files:
                self.name_events.append((order(e), name, e["op"], files[e["file"]], e.get("path", ""),
                                         e.get("old", "")))
            elif kind == "h5_copy" and e.get("file") in files and e.get("original") in files:
                process = (boot, pidns, e.get("pid", 0), e.get("started", 0))
                self.copies[process, e.get("n", 0), files[e["file"]].identity].add(
                    ("moved" if e.get("how", 0) else "copied", files[e["original"]].identity))
            elif kind == "link" and proc and e.get("other") in processes:
                other = processes[e["other"]]
                self.links.append((e, (proc, current[e["p"]]), (other, current[e["other"]])))

    def read_file(self, e, host_name, domains, files):
        kind = e.get("kind", 0)
        if KINDS.get(kind) == "absent":
            identity = ("absent", e.get("path", ""))
        elif e.get("domain", 0) in domains:
            identity = (domains[e.get("domain", 0)], e.get("ino", 0), e.get("gen", 0))
        else:
            return
        file = self.files.setdefault(identity, File(identity))
        file.sightings.append((order(e), kind))
        files[e["num"]] = file
        group = files.get(e.get("group", 0))
        if group and group is not file:
            file.groups.append((order(e), group.identity))
        self.name_events.append((order(e), host_name, OP_SEEN, file, e.get("path", ""), ""))

    def target(self, member):
        """B14: the file that accesses to `member` count to."""
        return self.files[min(member.groups)[1]] if member.groups else member

    def build_executions(self):
        for process in self.processes.values():
            _, birth, host, _ = min(process.births, key=lambda b: b[0])
            process.executions[0] = Execution(process, 0, host)
            process.executions[0].start = birth["t"] if birth.get("forked") is None else birth["forked"]
            for n, execs in process.execs.items():
                _, event, host = min(execs, key=lambda x: x[0])
                process.executions[n] = Execution(process, n, host)
                process.executions[n].start = event["t"]
            numbers = sorted(process.executions)
            for n, following in zip(numbers, numbers[1:]):
                process.executions[n].end = process.executions[following].start
            last = process.executions[numbers[-1]]
            last.end = NEVER
            if process.exits:
                _, event = min(process.exits, key=lambda x: x[0])
                last.end = event["t"]
                last.exit = {1: "e%d", 2: "s%d"}.get(event.get("ending", 0), "u")
                if last.exit != "u":
                    last.exit %= event.get("code", 0)


# ---- time ----------------------------------------------------------------------------------------------------------

class Clock:
    """B4: moments of different hosts on a network domain are certainly apart only if by more than twice the skew."""

    def __init__(self, skew, network):
        self.skew, self.network = skew, network

    def before(self, x, x_host, y, y_host):
        """x is a moment of x_host; a host of None is nobody's (of a U): compared as it stands."""
        apart = self.network and x_host is not None and y_host is not None and x_host != y_host
        return x + (2 * self.skew if apart else 0) <= y

    def ended(self, a, b):
        """Access a ended before access b began."""
        return self.before(a.end, a.host, b.start, b.host)

    def overlap(self, a, b):
        return not self.ended(a, b) and not self.ended(b, a)


# ---- versions of regular files -------------------------------------------------------------------------------------

class Unseen:
    """U: a version nobody was seen to write, found at the start of access `found_by`."""
    host = None
    execution = None

    def __init__(self, found_by, origin, fingerprint):
        self.found_by, self.origin, self.fingerprint = found_by, origin, fingerprint
        self.start = self.end = self.began = self.closed = found_by.began
        self.session, self.seq = found_by.session, found_by.seq
        self.through_alias = False


class Version:
    def __init__(self, file, writes, ident, origin, size, mtime):
        self.file, self.writes, self.ident, self.origin = file, writes, ident, origin
        self.size, self.mtime = size, mtime
        self.start, self.end = min(w.start for w in writes), max(w.end for w in writes)
        self.unseen = isinstance(writes[0], Unseen)
        self.counter = 0

    def __str__(self):
        return "%s@%s" % (self.file, self.ident)


def version_order(w):
    """Rule 2. An U stands just before the access that found it."""
    return w.end, w.start, w.session, w.seq, 0 if isinstance(w, Unseen) else 1


def recorded_order(w):
    """The same, as rule 1 has it: fingerprints were taken when the file was opened and closed."""
    return w.closed, w.began, w.session, w.seq, 0 if isinstance(w, Unseen) else 1


def differ(a, b):
    return a[0] != b[0] or (a[1] is not None and b[1] is not None and a[1] != b[1])


def goes_on(fingerprint, file, since, host, clock, until):
    """All fingerprints that this one becomes by accesses that set times, of those that `until` allows."""
    found = [fingerprint]
    for t in file.accesses:
        if t.sets_times and clock.before(since, host, t.began, t.host) and until(t) and t.fps == found[-1]:
            found.append(t.fpe)
    return found


def unseen_changes(file, clock):
    """B5, rule 1."""
    kept = [a for a in file.accesses if a.kept]
    writes = [a for a in kept if a.writes]
    found = []

    def closed_before(w, a):
        return clock.before(w.closed, w.host, a.began, a.host)

    def live(a, counting):
        for w in file.accesses:
            reach = 2 * clock.skew if clock.network and w.host != a.host else 0
            if counting and not (w.kept and w.writes):
                continue
            if w is not a and w.recorded_write and w.began <= a.began + reach and not closed_before(w, a):
                return True
        return False

    def through_alias(w):
        return not isinstance(w, Unseen) and w.member is not file

    def fingerprint(w):
        return w.fingerprint if isinstance(w, Unseen) else None if through_alias(w) else w.fpe

    for a in kept:
        opening = a.fps if a.member is file else None
        if a.mode & CREATE or (a.mode & TRUNC and opening is None):
            continue
        past = sorted((w for w in writes + found if w is not a and closed_before(w, a)), key=recorded_order)
        if live(a, False) and (past or live(a, True)):
            continue
        if not past:
            found.append(Unseen(a, "external", opening))
        elif opening is not None:
            own = [w for w in past if not through_alias(w)]
            last = fingerprint(own[-1]) if own else None
            since = own[-1] if own else None
            if last is not None and all(differ(p, opening) for p in goes_on(last, file, since.closed, since.host, clock,
                                                                            lambda t, a=a: t.began <= a.began)):
                found.append(Unseen(a, "unobserved", opening))
    return found


def one_range(first, second, reads, emptied, clock):
    """B1, rule 3: do two writes, neighbours in version order, make one version?"""
    if isinstance(first, Unseen) or isinstance(second, Unseen):
        return False
    earlier, later = sorted((first, second), key=lambda a: a.key)
    if later.destroys:
        return False
    if not (later.mode & APPEND or later.via == DESCRIPTOR or later.execution is earlier.execution):
        return False
    if any(clock.ended(first, t) and clock.before(t.start, t.host, second.start, second.host) for t in emptied):
        return False
    opening = min((first, second), key=lambda a: a.start)  # first, where they start together
    for r in reads:
        after = clock.ended(second, r)
        ahead = clock.before(r.end, r.host, opening.start, opening.host)
        if not after and not ahead:
            return False
    return True


def regular_versions(file, clock):
    """Rules 1 to 4: the file's versions in version order."""
    found = unseen_changes(file, clock)
    kept = [a for a in file.accesses if a.kept]
    reads = [a for a in kept if a.reads]
    emptied = [a for a in kept if a.writes and a.destroys]
    ordered = sorted([a for a in kept if a.writes] + found, key=version_order)
    ranges = []
    for w in ordered:
        if ranges and one_range(ranges[-1][-1], w, reads, emptied, clock):
            ranges[-1].append(w)
        else:
            ranges.append([w])
    versions, seen = [], defaultdict(int)
    for place, writes in enumerate(ranges):
        if isinstance(writes[0], Unseen):
            u = writes[0]
            ident = "#none.%d" % seen[None] if u.fingerprint is None else \
                "#%d.%s.%d" % (u.fingerprint[0], moment(u.fingerprint[1]), seen[u.fingerprint])
            seen[u.fingerprint] += 1
            size, mtime = u.fingerprint or (None, None)
            version = Version(file, writes, ident, u.origin, size, mtime)
            last = u
        else:
            behind = ranges[place + 1:]
            ends = [w for w in writes if w.fpe is not None and w.member is file and
                    (w.end == w.closed or all(o.start >= w.closed for later in behind for o in later))]
            last = ends[-1] if ends else None
            size, mtime = last.fpe if last else (None, None)
            version = Version(file, writes, event_ident(writes), "observed", size, mtime)
        if last and size is not None:
            starts = [o.start for later in ranges[place + 1:] for o in later]
            version.size, version.mtime = goes_on((size, mtime), file, last.closed, last.host, clock,
                                                  lambda t: all(t.began < s for s in starts))[-1]
        versions.append(version)
        version.counter = len(versions)
    return versions


def event_ident(accesses):
    """B12: a version is known by the event that began its first write."""
    first = min(accesses, key=lambda a: a.key)
    return "%016x.%d" % (first.session, first.seq)


# ---- the graph -----------------------------------------------------------------------------------------------------

class Edge:
    def __init__(self, must, via, lo, hi, earliest_end=None):
        self.must, self.via, self.lo, self.hi = must, via, lo, hi
        self.earliest_end = hi if earliest_end is None else earliest_end

    def join(self, other):
        self.must |= other.must
        self.via = min(self.via, other.via)
        self.lo, self.hi = min(self.lo, other.lo), max(self.hi, other.hi)
        self.earliest_end = max(self.earliest_end, other.earliest_end)


def add(edges, key, edge):
    if key in edges:
        edges[key].join(edge)
    else:
        edges[key] = edge


class Graph:
    def __init__(self, facts, skew=0, lps=False):
        self.facts, self.skew, self.lps = facts, skew, lps
        self.versions = []
        self.generated, self.used = {}, {}  # (version, execution, part), (execution, version, part)
        self.derived = {}  # (version, version)
        self.informed = {}  # (execution, execution, via)
        self.names = self.build_names()
        for file in facts.files.values():
            self.build_file(file)
        self.apply_caches()
        self.apply_locks()
        self.build_processes()

    def build_file(self, file):
        if file.kind in VERSIONED:
            self.build_regular(file)
        elif file.kind in STREAMS:
            self.build_stream(file)
        elif file.kind in ("pseudo", "absent"):
            self.build_outside(file)

    # -- regular files

    def build_regular(self, file):
        clock = Clock(self.skew, file.network)
        versions = regular_versions(file, clock)
        self.versions += versions
        for version in versions:
            if not version.unseen:
                self.generate(version, version.writes)
        self.hold(file, versions)
        for place, version in enumerate(versions):
            self.derive(version, versions[:place], versions[place + 1:], clock)
        for access in file.accesses:
            if access.kept and access.reads:
                self.use_regular(access, versions, clock)

    def generate(self, version, writes):
        """B1, rule 5."""
        for w in writes:
            others = [o for o in writes if o.execution is not w.execution]
            for_others = w.only_opened and any(not o.only_opened for o in others)
            perhaps = w.may_only_open and any(o.via == DESCRIPTOR and o.evidence == MUST and o.sure for o in others)
            sure = w.evidence == MUST and w.sure and not for_others and not perhaps
            add(self.generated, (version, w.execution, w.part), Edge(sure, w.via, w.start, w.end, w.earliest_end))

    def hold(self, file, versions):
        """Rule 5: who had an empty version open, and wrote nothing."""
        def had_open(h, place):
            version, later = versions[place], [w.start for v in versions[place + 1:] for w in v.writes]
            return (not version.unseen and version.size == 0 and min(w.start for w in version.writes) < h.closed and
                    all(h.began < start for start in later))

        holders = defaultdict(list)
        for h in file.accesses:
            if h.via != DESCRIPTOR or h.told_mode & (READ | WRITE) != WRITE or h.kept or h.member is not file:
                continue
            held = [v for place, v in enumerate(versions) if had_open(h, place)]
            if held:
                holders[held[0]].append(h)
        for version, those in holders.items():
            for h in those if len(those) <= HOLDERS_MAX else ():
                add(self.generated, (version, h.execution, h.part), Edge(False, h.via, h.began, NEVER))

    def derive(self, version, earlier, later, clock):
        """B1 and B3, rule 6."""
        if version.unseen:
            if version.origin == "unobserved" and earlier:
                self.derived[version, earlier[-1]] = Edge(False, DATA, 0, 0)
            return

        def ended(v, w):
            return all(clock.ended(a, b) for a in v.writes for b in w.writes)

        def overlaps(v):
            return not ended(v, version) and not ended(version, v)

        if version.size == 0 and not self.read_meanwhile(version, clock):
            return
        overlapping = [v for v in earlier if overlaps(v)]
        if overlapping:
            self.derived[version, overlapping[-1]] = Edge(False, OVERLAP, 0, 0)
        past = [v for v in earlier if ended(v, version)]
        if past and not min(version.writes, key=lambda w: w.key).destroys:
            must = (not overlapping and not any(overlaps(v) for v in later) and
                    not any(w.destroys for w in version.writes) and
                    not (None not in (version.size, past[-1].size) and version.size < past[-1].size) and
                    any(w.evidence == MUST and w.sure for w in version.writes))
            self.derived[version, past[-1]] = Edge(must, DATA, 0, 0)

    @staticmethod
    def read_meanwhile(version, clock):
        """Does a read overlap the time in which the version was written, as a whole?"""
        ordered = sorted(version.writes, key=version_order)
        first, last = min(ordered, key=lambda w: w.start), ordered[-1]
        for r in version.file.accesses:
            if r.kept and r.reads and not (clock.before(r.end, r.host, first.start, first.host) or
                                           clock.before(last.end, last.host, r.start, r.host)):
                return True
        return False

    def use_regular(self, r, versions, clock):
        """B3, rule 7."""
        past = [v for v in versions if all(w is not r and clock.ended(w, r) for w in v.writes)]
        cur = past[-1] if past else None
        if r.writes and r.destroys:
            cur = None
        if cur and any(t.kept and t.writes and t.destroys and t.execution is r.execution and t is not r and t.key < r.key and
                       all(clock.before(w.end, w.host, t.start, t.host) for w in cur.writes) for t in cur.file.accesses):
            cur = None
        overlapping = []
        for v in versions:
            during = [w for w in v.writes if clock.overlap(w, r)]
            if any(w.execution is not r.execution for w in during):
                overlapping.append(v)
        if self.lps and overlapping:
            cur, overlapping = None, overlapping[-1:]
        uses = ([(cur, r.via)] if cur else []) + [(v, OVERLAP) for v in overlapping]
        for v, via in uses:
            must = r.sure and len(uses) == 1 and not r.writes
            add(self.used, (r.execution, v, r.part), Edge(must, via, r.start, r.end))

    # -- channels

    def build_stream(self, file):
        """B8."""
        components, before = [], 0
        if file.kind == "terminal":
            before = self.build_typed(file, [a for a in file.accesses if a.kept and a.reads])
        for a in file.accesses:
            if not a.kept or (file.kind == "terminal" and not a.writes):
                continue
            splits = file.kind in ("fifo", "terminal")
            if file.kind == "socket" and components:
                splits = any(b.api == BIND for b in components[-1] + [a])
            if components and not (splits and a.start >= max(b.end for b in components[-1])):
                components[-1].append(a)
            else:
                components.append([a])
        if file.kind == "socket":
            components = [part for whole in components for part in
                          ([[a] for a in whole] if all(a.api == CONNECT for a in whole) else [whole])]
        for number, accesses in enumerate(components, before + 1):
            writers = {a.execution for a in accesses if a.writes}
            readers = {a.execution for a in accesses if a.reads}
            peerless = file.kind == "socket" and any(not writers - {r} for r in readers)
            origin = "external" if not writers or peerless else "observed"
            version = Version(file, accesses, event_ident(accesses), origin, None, None)
            version.counter = number
            self.versions.append(version)
            self.generate(version, [a for a in accesses if a.writes])
            for a in accesses:
                if a.reads and file.kind != "terminal":
                    add(self.used, (a.execution, version, a.part), Edge(a.sure, a.via, a.start, a.end))

    def build_typed(self, file, reads):
        """B8: what was read from a terminal was typed, by somebody outside. How many versions that makes."""
        if not reads:
            return 0
        version = Version(file, reads, "#none.0", "external", None, None)
        version.counter, version.end = 1, version.start
        self.versions.append(version)
        for a in reads:
            add(self.used, (a.execution, version, a.part), Edge(a.sure, a.via, a.start, a.end))
        return 1

    # -- what has no versions

    def build_outside(self, file):
        """B8 (devices are external), B15 (absent files are used)."""
        accesses = [a for a in file.accesses if a.kept]
        if not accesses:
            return
        version = Version(file, accesses, "#none.0", "external", None, None)
        version.counter, version.end = 1, version.start
        self.versions.append(version)
        absent = file.kind == "absent"
        for a in accesses:
            if absent or a.reads:
                add(self.used, (a.execution, version, a.part), Edge(absent or a.sure, a.via, a.start, a.end))

    # -- caches and locks

    def apply_caches(self):
        """B14: a cache entry is derived from its source only."""
        replaced = defaultdict(set)
        for (version, execution, _), edge in self.generated.items():
            sources = cache_sources(version.file) if version.file.kind == "regular" else None
            if sources is None:
                continue
            edge.via = CACHE
            for (user, used, _), use in self.used.items():
                source = used.file is not version.file and used.file.paths & sources
                if user is execution and source and use.lo <= edge.hi:
                    replaced[version].add(used)
        for version, sources in replaced.items():
            for key in [k for k in self.derived if k[0] is version]:
                del self.derived[key]
            for source in sources:
                self.derived[version, source] = Edge(True, CACHE, 0, 0)

    def apply_locks(self):
        """B14: a lock file without bytes coordinates, as a semaphore does; neither carries data."""
        def is_lock(version):
            names = (".lock", ".lck", "/lock", "/LOCK")
            if version.file.kind != "regular":
                return False
            if any(p.startswith("/dev/shm/sem.") and p.count("/") == 3 for p in version.file.paths):
                return True
            return version.size == 0 and any(p.endswith(names) for p in version.file.paths)

        for (version, _, _), edge in self.generated.items():
            if is_lock(version):
                edge.via = SYNC
        for (_, version, _), edge in self.used.items():
            if is_lock(version):
                edge.via = SYNC

    # -- processes

    def build_processes(self):
        """B13."""
        for process in self.facts.processes.values():
            for _, fork, _, parent in process.births:
                if parent is None:
                    continue
                born = [x for x in parent.executions.values() if x.start <= fork["t"]]
                current = max(born, key=lambda x: (x.start, x.n), default=parent.executions[0])
                forked = fork["t"] if fork.get("forked") is None else fork["forked"]
                self.inform(process.executions[0], current, FORK, True, forked, fork["t"])
            numbers = sorted(process.executions)
            for n, following in zip(numbers, numbers[1:]):
                x = process.executions[following]
                self.inform(x, process.executions[n], FORK, False, x.start, x.start)
        for event, (p, n), (q, m) in self.facts.links:
            a, b = p.executions[n], q.executions[m]
            lo = event["t"]
            hi = max(lo, min(a.end, b.end))
            for x, y in ((a, b), (b, a)):
                self.inform(x, y, event.get("via", 0), bool(event.get("sure", 0)), lo, hi)

    def inform(self, x, y, via, must, lo, hi):
        if x is not y:
            add(self.informed, (x, y, via), Edge(must, via, lo, hi))

    # -- names

    def build_names(self):
        """B6: a name is (host, path, file, from, to)."""
        names = set()
        holder = {}  # (host, path) -> [file, from]

        def end(host, path, t):
            file, since = holder.pop((host, path))
            names.add((host, path, file, since, t))

        def holds(host, path, file):
            return (host, path) in holder and holder[host, path][0] is file

        def begin(host, path, file, t):
            if not path or holds(host, path, file):
                return
            if (host, path) in holder:
                end(host, path, t)
            holder[host, path] = [file, t]
            file.paths.add(path)

        for (t, _, _), host, op, file, path, old in sorted(self.facts.name_events, key=lambda n: n[0]):
            if file.kind not in NAMED:
                continue
            if op in (OP_SEEN, OP_CREATE, OP_LINK) or (op == OP_RENAME and path == old):
                begin(host, path, file, t)
            elif op in (OP_UNLINK, OP_REPLACE):
                if holds(host, path, file):
                    end(host, path, t)
            elif op == OP_RENAME:
                moved = []
                if old and holds(host, old, file):
                    end(host, old, t)
                if old and path and file.kind in ("directory", "group"):
                    below = [p for h, p in holder if h == host and p.startswith(old + "/")]
                    moved = [(path + p[len(old):], holder[host, p][0]) for p in below]
                    for p in below:
                        end(host, p, t)
                begin(host, path, file, t)
                for p, f in moved:
                    begin(host, p, f, t)
        for (host, path), (file, since) in holder.items():
            names.add((host, path, file, since, NEVER))
        return names

    # -- printing

    def canonical(self):
        lines = set()
        named = {name[2] for name in self.names}
        for file in self.facts.files.values():
            if file in named or any(a.kept for a in file.accesses):
                lines.add("F %s %s" % (file, file.kind))
            for a in file.accesses:
                for (api, writes), e in a.moved.items():
                    figures = " ".join("%d" % e.get(f, 0) for f in IO_FIGURES)
                    lines.add("M %016x.%d %d %s %s %s %s" % (a.own[1], a.own[2], api, "write" if writes else "read",
                                                            moment(e.get("first")), moment(e.get("last")), figures))
        for process in self.facts.processes.values():
            for x in process.executions.values():
                lines.add("X %s %d %s %s %s" % (x, x.n, moment(x.start), moment(x.end), x.exit))
        for v in self.versions:
            size = "-" if v.size is None else "%d" % v.size
            lines.add("V %s %s %s %s %s %s %d" % (v, v.origin, size, moment(v.mtime), moment(v.start), moment(v.end),
                                                  v.counter))
        for (v, x, part), e in self.generated.items():
            early = "" if e.earliest_end == e.hi else " " + moment(e.earliest_end)
            lines.add("G %s %s %s %s%s%s" % (v, x, words(e), span(e), early, of_part(part)))
        for (x, v, part), e in self.used.items():
            lines.add("U %s %s %s %s%s" % (x, v, words(e), span(e), of_part(part)))
        for (v, w), e in self.derived.items():
            lines.add("D %s %s %s" % (v, w, words(e)))
        for (x, y, _), e in self.informed.items():
            lines.add("I %s %s %s %s" % (x, y, words(e), span(e)))
        for host, path, file, since, to in self.names:
            lines.add("N %s %s %s %s %s" % (escape(host), escape(path), file, moment(since), moment(to)))
        return sorted(lines, key=lambda line: line.encode("latin-1"))

    # -- asking

    def find_version(self, text):
        """A version by its canonical id, or the latest of the file that has, else last had, the path."""
        for v in self.versions:
            if str(v) == text:
                return v
        holders = [(to, since, str(file)) for _, path, file, since, to in self.names if path == text]
        if holders:
            text = max(holders)[2]
        candidates = [v for v in self.versions if str(v.file) == text]
        return max(candidates, key=lambda v: v.counter, default=None)

    def is_empty(self, version):
        """Is there nobody's content in it, and was none that somebody got?"""
        return (version.file.kind in VERSIONED and version.size == 0 and
                not any(e.lo < version.end for (_, v, _), e in self.used.items() if v is version))

    def originals(self, version, x):
        """What x used of the objects that it made the version from, copied as a whole from one or moved through memory
        from several; nothing where that is not known of all."""
        told = self.facts.copies.get((x.process.identity, x.n, version.file.identity), set())
        objects = {identity for _, identity in told}
        if not told or ({how for how, _ in told} != {"moved"} and len(told) > 1):
            return []
        if any(maker is x and v.file.identity in objects for v, maker, _ in self.generated):
            return []  # what was copied may be what it wrote itself
        found = [v for (user, v, _) in self.used if user is x and v.file.identity in objects]
        return found if {v.file.identity for v in found} == objects else []

    def lineage(self, root, fork=False, shm=False, sync=False, everything=False, servers=False, certain=False):
        """B9: all that `root` may come from. A state is (thing, bound, host the bound is a moment of)."""
        def asked(edge):
            if certain and not edge.must:
                return False
            if edge.via == SYNC:
                return sync
            if edge.via in (FORK, SHM) and not edge.must:
                return fork if edge.via == FORK else shm
            return True

        def at(bound, host, there):
            apart = host is not None and host != there and bound != NEVER
            return bound + 2 * self.skew if apart else bound

        # The part is None for a version, and for an execution that the walk came to along wasInformedBy. Computed: where
        # only what is sure is followed, an execution that the walk came to from an object.
        reached, work = defaultdict(set), [(root, NEVER, None, None, False)]
        seen = {root}
        while work:
            thing, bound, host, part, computed = work.pop()
            if any(bound <= b if h == host else bound + 2 * self.skew <= b for b, h in reached[thing, part, computed]):
                continue
            reached[thing, part, computed].add((bound, host))
            if isinstance(thing, Version):
                work += [(w, bound, host, None, False) for (v, w), e in self.derived.items() if v is thing and asked(e)]
                if servers and is_connection(thing):
                    work += [(w, bound, host, None, False) for w in self.versions
                             if w is not thing and w.file is thing.file and is_connection(w) and
                             w.start <= at(bound, host, w.writes[0].host)]
                for (v, x, by), e in self.generated.items():
                    b = at(bound, host, x.host)
                    if v is thing and asked(e) and e.lo <= b:
                        seen.add(x)
                        originals = [] if everything else self.originals(thing, x)
                        work += [(w, bound, host, None, False) for w in originals
                                 if any(asked(u) for (y, v, _), u in self.used.items() if y is x and v is w)]
                        if originals:
                            continue  # of the rest it is the program that counts, and that is the machine's
                        followed = thing is root and not certain or not self.is_empty(thing)
                        if everything or (e.via != CACHE and followed):
                            limit = e.earliest_end if certain else e.hi
                            work.append((x, min(b, limit), x.host, by if certain else None,
                                         certain and thing.file.kind in OBJECTS))
            else:
                work += [(v, bound, host, None, False) for (x, v, by), e in self.used.items()
                         if x is thing and asked(e) and e.lo <= bound and part in (None, by) and
                         not (computed and v.file.kind in OBJECTS)]
                for (x, y, _), e in self.informed.items():
                    if x is thing and asked(e):
                        work.append((y, at(min(bound, e.hi), host, y.host), y.host, None, False))
            seen |= {w[0] for w in work}
        return sorted(("V %s" if isinstance(s, Version) else "X %s") % s for s in seen)


def is_connection(version):
    """Did somebody only connect, to a server that nobody saw?"""
    return version.file.kind == "socket" and all(a.api == CONNECT for a in version.writes)


def cache_sources(file):
    """The paths a cache entry's source may have; None where the file is no cache."""
    sources = None
    for path in file.paths:
        parts = path.split("/")
        if "__pycache__" in parts:
            place = len(parts) - 1 - parts[::-1].index("__pycache__")
            sources = (sources or set()) | {"/".join(parts[:place] + [parts[-1].split(".")[0] + ".py"])}
    return sources


def of_part(part):
    return " part:%d" % part if part else ""


def moment(t):
    return "-" if t is None or t >= NEVER else "%d" % t


def words(edge):
    return "%s %s" % ("must" if edge.must else "may", VIAS[edge.via] if edge.via < len(VIAS) else "?")


def span(edge):
    return "%s %s" % (moment(edge.lo), moment(edge.hi))


def escape(text):
    return "".join(c if "!" <= c <= "~" and c != "\\" else "\\x%02x" % ord(c) for c in text)


def build(paths, skew=0, lps=False):
    return Graph(Facts(read_events(paths)), skew, lps)


def main(argv):
    parser = argparse.ArgumentParser(prog="graph.py", description="the graph of doc/graph.md, naively")
    asking = bool(argv) and argv[0] == "lineage"
    if asking:
        argv = argv[1:]
        parser.add_argument("what", help="a path, or a version as the canonical form writes it")
        for name in ("--fork", "--shm", "--sync", "--all", "--servers", "--certain"):
            parser.add_argument(name, action="store_true")
    parser.add_argument("--skew", type=int, default=0, metavar="NS")
    parser.add_argument("--lps", action="store_true")
    parser.add_argument("logs", nargs="+")
    options = parser.parse_args(argv)
    graph = build(options.logs, options.skew, options.lps)
    if asking:
        root = graph.find_version(options.what)
        if root is None:
            sys.exit("graph.py: nothing recorded of '%s'" % options.what)
        lines = graph.lineage(root, options.fork, options.shm, options.sync, options.all, options.servers, options.certain)
    else:
        lines = graph.canonical()
    sys.stdout.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
