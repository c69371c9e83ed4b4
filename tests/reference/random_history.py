#!/usr/bin/env python3
"""Random but valid histories for the graph: few files, few processes, small times, so that everything collides.

    random_history.py SEED DIR      writes DIR/0.jsonl, 1.jsonl, ... and DIR/options

The same seed gives the same history. A history is a Random's walk through a small world of hosts, processes and files;
each session is one recorder on one host, and sees some of it. Names of modes and kinds are those of
doc/format/event-log.md and src/event/terms.def.
"""
import json
import os
import random
import sys

READ, WRITE, CREATE, TRUNC, APPEND, MAPPED, STATE, PROGRAM = 1, 2, 4, 8, 16, 32, 64, 128
REGULAR, FIFO, PIPE, SOCKET, SHM, TERMINAL, PSEUDO, ABSENT, DIRECTORY, SYMLINK = range(1, 11)
GROUP, DATASET, ATTRIBUTE, DATATYPE, SOFTLINK = range(11, 16)
DIRECTORIES = ("/d", "/d/__pycache__", "/e", "/d/sub")
PATHS = ("/d/a", "/d/a.py", "/d/b.py", "/d/b", "/d/x.lock", "/d/lock", "/d/sub/a.py",
         "/d/__pycache__/a.cpython-311.pyc", "/d/__pycache__/b.pyc", "/d/sub/__pycache__/a.pyc", "/e/a",
         "/e/a.lck", "/dev/shm/sem.a", "/e/odd \\\n\u00ff", "/d-a")
OP_CREATE, OP_LINK, OP_RENAME, OP_UNLINK, OP_REPLACE, OP_SEEN = range(1, 7)


class Host:
    def __init__(self, number, random_, skew):
        self.name, self.boot = "h%d" % (number % 2 + 1), "boot%d" % number
        self.offset = random_.randint(-skew, skew)  # of its clock
        self.identities = []  # processes that some session of this host has seen: (pid, started)


class Session:
    def __init__(self, number, host):
        self.id, self.host = "%016x" % number, host
        self.events = []
        self.processes = []  # [number, n of its last exec, alive]
        self.files = []  # (number, kind)
        self.begun = []  # (time, file, process) of accesses
        self.open = []  # [seq of access, file, writes, reads, process]
        self.domains = {}  # name -> number

    def emit(self, t, what, process=0, **fields):
        event = {"session": self.id, "seq": len(self.events) + 1, "t": t, "k": what}
        if process:
            event["p"] = process
        event.update((name, value) for name, value in fields.items() if value not in (0, "", [], None))
        self.events.append(event)
        return event["seq"]


class World:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.skew = r.choice((0, 0, 0, 3, 20))
        self.lps = r.random() < 0.15
        self.now = 1000
        self.jitter = r.choice((0, 0, 0, 4))  # how far events of a session may be out of order in time
        self.step = r.choice((1, 3, 10))
        self.appending = r.choice((0.35, 0.35, 0.9))
        self.inodes = r.choice((1, 2, 2, 4))
        self.gens = r.choice((1, 1, 2))
        hosts = [Host(n, r, self.skew) for n in range(r.choice((2, 3) if self.skew else (1, 1, 2, 3)))]
        count = r.choice((2, 3) if self.skew else (1, 1, 2, 3, 5))
        self.sessions = [Session(r.getrandbits(64) or 1, r.choice(hosts)) for _ in range(count)]
        self.kinds = {}  # (domain, ino) -> kind
        self.fuzzy_kinds = r.random() < 0.05
        self.favourite = r.choice((REGULAR, REGULAR, REGULAR, REGULAR, DATASET, 0))  # of new files
        self.groups = r.random() < 0.3
        self.telling = r.choice((0, 0, 0.3, 0.9))  # how often an access is told of by another log
        self.counting = r.choice((0, 0, 0.3, 1))  # how often an access's end says when its bytes moved
        self.open_at_once = r.choice((1, 2, 5, 100))  # accesses of a session
        self.paths = tuple(r.sample(PATHS, r.choice((3, 5, 8))))
        self.fingerprints = [(r.choice((0, 5, 9)), r.choice((None, 1, 2))) for _ in range(r.choice((1, 2, 4)))]
        for session in self.sessions:
            session.emit(self.time(session), "session", host=session.host.name, boot=session.host.boot,
                         pidns=r.choice((7, 7, 8)), run="R%d" % r.randint(1, 3), tool="random", mode="complete/notify")
            self.process(session)

    def time(self, session):
        return self.now + session.host.offset - (self.r.randint(0, self.jitter) if self.jitter else 0)

    def walk(self, count):
        steps = ((self.access, 26), (self.access_end, 32), (self.file, 8), (self.state, 8), (self.process, 4),
                 (self.exec, 5), (self.exit, 2), (self.name, 9), (self.link, 2), (self.other, 1), (self.io, 6),
                 (self.image, 1))
        calls, weights = zip(*steps)
        for _ in range(count):
            self.now += self.r.randint(0, self.step)
            self.r.choices(calls, weights)[0](self.r.choice(self.sessions))
        if self.r.random() < 0.5:
            for session in self.sessions:
                session.emit(self.time(session), "session_end")

    # -- processes

    def process(self, session):
        r, t = self.r, self.time(session)
        number = len(session.processes) + 1
        host = session.host
        if host.identities and r.random() < 0.15:
            pid, started = r.choice(host.identities)  # another session, or this one again, sees it
        else:
            pid, started = r.randint(1, 3), r.choice((t, t, t, None, 1000))
            host.identities.append((pid, started))
        parent = r.randint(0, len(session.processes))
        session.emit(t, "process", number, pid=pid, started=started, parent=parent,
                     forked=r.choice((None, t, t - r.randint(1, 9))))
        session.processes.append([number, 0, True])

    def alive(self, session):
        return self.r.choice([p for p in session.processes if p[2]] or session.processes)

    def exec(self, session):
        r, process = self.r, self.alive(session)
        process[1] += r.choice((1, 1, 1, 1, 2))  # 2: an exec was lost
        session.emit(self.time(session), "exec", process[0], n=process[1], argv=["prog"], cwd="/d",
                     env=["SLURM_JOB_ID=1"])

    def image(self, session):
        process = self.r.choice(session.processes)  # also one that is over
        session.emit(self.time(session), "image", process[0], n=self.r.randint(0, process[1] + 1))

    def exit(self, session):
        process = self.alive(session)
        process[2] = False
        ending = self.r.randint(0, 2)
        session.emit(self.time(session), "exit", process[0], ending=ending, code=self.r.randint(0, 9) if ending else 0)

    def link(self, session):
        r = self.r
        p, q = r.choice(session.processes), r.choice(session.processes)
        session.emit(self.time(session), "link", p[0], other=q[0], via=r.choice((4, 4, 5, 7)), sure=r.randint(0, 1))

    def other(self, session):
        kind = self.r.choice(("gap", "note", "run", "run_end"))
        process = self.alive(session)[0]
        fields = {"gap": {"reason": 1, "count": 2}, "note": {"text": "a note"}, "run": {"id": "R9"},
                  "run_end": {"id": "R9", "ending": 1}}
        session.emit(self.time(session), kind, process, **fields[kind])

    # -- files

    def domain(self, session, network):
        name = "net:srv:/e#1" if network else "uuid:" + session.host.name
        if name not in session.domains:
            session.domains[name] = len(session.domains) + 1
            session.emit(self.time(session), "domain", num=session.domains[name], name=name, type="ext4",
                         network=int(network))
        return session.domains[name], name

    def file(self, session):
        r = self.r
        if r.random() < 0.07:
            number = len(session.files) + 1
            session.emit(self.time(session), "file", num=number, kind=ABSENT, path=r.choice(self.paths))
            session.files.append((number, ABSENT, None))
            return
        domain, name = self.domain(session, r.random() < (0.9 if self.skew else 0.5))
        if r.random() < 0.08:
            domain, name = 0, ""
        ino = r.randint(1, self.inodes)
        gen = r.randint(0, self.gens - 1)
        usual = self.favourite or r.choice((FIFO, PIPE, SOCKET, SHM, TERMINAL, PSEUDO, DIRECTORY, SYMLINK, REGULAR, r.randint(GROUP, SOFTLINK)))
        kind = r.choice((usual, usual, usual, r.randint(FIFO, PSEUDO), DIRECTORY))
        kind = self.kinds.setdefault((name, ino, gen), kind)
        if self.fuzzy_kinds and r.random() < 0.3:
            kind = r.choice((REGULAR, FIFO, SOCKET, PSEUDO, DIRECTORY, DATASET, SOFTLINK, 42))
        identity = (domain, ino, gen)
        known = [f for f in session.files if f[2] == identity]
        if known and r.random() < 0.5:
            number = r.choice(known)[0]
        else:
            number = len(session.files) + 1
            session.files.append((number, kind, identity))
        group = 0
        if self.groups and ino == 2 and kind == REGULAR:
            group = next((f[0] for f in session.files if f[2] and f[2] == (domain, 1, r.randint(0, self.gens - 1))), 0)
        paths = DIRECTORIES if kind == DIRECTORY else self.paths
        within = r.choice(session.files)[0] if kind >= GROUP else 0
        session.emit(self.time(session), "file", num=number, kind=kind, domain=domain, ino=ino, gen=gen, group=group,
                     within=within, path=r.choice(("",) + paths + paths))

    def some_file(self, session):
        if not session.files or self.r.random() < 0.05:
            self.file(session)
        return self.r.choice(session.files)

    def state(self, session, file=None):
        file = file or self.some_file(session)
        size, mtime = self.r.choice(self.fingerprints)
        session.emit(self.time(session), "state", file=file[0], size=size, mtime=mtime)

    def name(self, session):
        r, file = self.r, self.some_file(session)
        paths = DIRECTORIES if file[1] == DIRECTORY else self.paths
        op = r.choice((OP_CREATE, OP_LINK, OP_RENAME, OP_RENAME, OP_RENAME, OP_UNLINK, OP_REPLACE, OP_SEEN))
        path, old = r.choice(paths), r.choice(paths) if op == OP_RENAME else ""
        if old and (path.startswith(old + "/") or old.startswith(path + "/")):
            path = old = "/e"  # no directory goes below itself
        session.emit(self.time(session), "name", r.choice((0, self.alive(session)[0])), op=op, file=file[0], path=path,
                     old=old)

    # -- accesses

    def access(self, session):
        r = self.r
        if len(session.open) >= self.open_at_once:
            return self.access_end(session)
        file = self.some_file(session)
        mode = r.choice((READ, READ, WRITE, WRITE, READ | WRITE))
        via = r.choice((0, 0, 0, 0, 2, 2))
        if file[1] == SHM:
            via = 4
        if file[1] == PIPE and r.random() < 0.3:
            via = 7
        if mode & WRITE:
            for bit, chance in ((CREATE, 0.15), (TRUNC, 0.2), (APPEND, self.appending), (MAPPED, 0.08)):
                if r.random() < chance:
                    mode |= bit
        elif r.random() < 0.1:
            mode |= PROGRAM
        if r.random() < 0.12:
            mode = STATE  # it set times, if both fingerprints get known
            self.state(session, file)
        elif r.random() < 0.5:
            mode |= STATE
            if r.random() < 0.8:
                self.state(session, file)
        process, t = self.alive(session)[0], self.time(session)
        as_session = as_seq = 0
        if session.begun and r.random() < self.telling / 3:  # what is there, told of without a key
            t, file, process = r.choice(session.begun[-6:])
            as_session, as_seq = 2**64 - 1, r.randint(1, 9)
        elif r.random() < self.telling:  # of this history's sessions, or of one that is not there
            other = r.choice(self.sessions)
            as_session = r.choice((int(other.id, 16), int(other.id, 16), 77))
            as_seq = r.choice((r.randint(1, len(other.events) + 5), r.randint(1, 6)))
        session.begun.append((t, file, process))
        api = r.choice((0, 1, 2, 3, 4, 5, 6, 7)) if file[1] != SOCKET else r.choice((2, 6, 6, 6, 6, 6, 6, 7))
        seq = session.emit(t, "access", process, file=file[0], mode=mode, via=via,
                           sure=1 if via == 0 and r.random() < 0.9 else 0, api=api, as_session=as_session,
                           as_seq=as_seq, part=r.choice((1, 2, 2**32)) if r.random() < 0.1 else 0)
        session.open.append((seq, file, mode, process, self.events_time(session, seq)))
        return None

    def access_end(self, session):
        r = self.r
        if not session.open:
            return self.access(session)
        i = r.randrange(len(session.open))
        seq, file, mode, process, began = session.open[i]
        goes_on = r.random() < 0.15
        if not goes_on and r.random() < 0.95:
            del session.open[i]
        state = r.random() < (0.5 if mode != STATE else 0.9)
        if state and r.random() < 0.8:
            self.state(session, file)
        t = self.time(session)
        evidence = r.choice((0, 1, 2, 2)) if mode & WRITE else 0
        known = r.choice((0, 0, 1, 2, 3)) & (mode & (READ | WRITE)) | r.choice((0, 0, 0, 0, 0, 0, 8))
        until = None if goes_on else r.choice((t, t, t - r.randint(0, 9)))
        exact, first, last = 0, None, None
        if r.random() < self.counting:
            exact = 1
            if r.random() < 0.8:  # seldom outside of the access
                first, last = sorted(r.choice((r.randint(began, max(t, began)), began - 2, t + 2)) for _ in range(2))
                last = last if r.random() < 0.95 else None
            if r.random() < 0.3:
                exact, first = 2, None
        session.emit(t, "access_end", process, access=seq, until=until, evidence=evidence,
                     state=int(state), count=r.choice((0, 2)), known=known,
                     bytes_read=r.choice((0, 7)) if known & 1 else 0,
                     bytes_written=r.choice((0, 7)) if known & 2 else 0, exact=exact, first=first, last=last)
        return None

    def io(self, session):
        r = self.r
        if not session.open or not self.counting:
            return
        seq, _, _, process, began = r.choice(session.open)
        figures = {name: r.choice((0, 1, 7)) for name in ("calls", "failed", "bytes", "largest", "spent", "size0", "size9")}
        session.emit(self.time(session), "io", process, access=r.choice((seq, seq, seq, seq + 1)), api=r.choice((1, 1, 2, 10, 42)),
                     write=r.choice((0, 1, 2)), first=r.choice((None, began)), last=r.choice((None, began + 3)), **figures)

    @staticmethod
    def events_time(session, seq):
        return session.events[seq - 1]["t"]


def generate(seed):
    """{"skew": ns, "lps": bool, "logs": [[event, ...], ...]}: a log per segment; a session may span two."""
    world = World(seed)
    world.walk(world.r.choice((8, 15, 30, 30, 60, 120, 300)))
    logs = []
    for session in world.sessions:
        events = session.events
        if world.r.random() < 0.08:  # lost on the way; what refers to it is dropped
            events = events[:1] + [e for e in events[1:] if world.r.random() < 0.9]
        if world.r.random() < 0.2:
            cut = world.r.randint(1, len(events))
            logs += [log for log in (events[:cut], events[cut:]) if log]
        else:
            logs.append(events)
    return {"skew": world.skew, "lps": world.lps, "logs": logs}


def text(events):
    return "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in events)


def options(history):
    return (["--skew", str(history["skew"])] if history["skew"] else []) + (["--lps"] if history["lps"] else [])


def main(argv):
    if len(argv) != 2 or not argv[0].isdigit():
        sys.exit(__doc__.strip())
    history = generate(int(argv[0]))
    os.makedirs(argv[1], exist_ok=True)
    for number, log in enumerate(history["logs"]):
        with open(os.path.join(argv[1], "%d.jsonl" % number), "w", encoding="utf-8") as out:
            out.write(text(log))
    with open(os.path.join(argv[1], "options"), "w", encoding="utf-8") as out:
        out.write(" ".join(options(history)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
