"""history.py - make logs for the tests of the commands: who ran what when, as a few calls.

    h = History('01HZZZZZZZZZZZZZZZZZZZAAAA', argv=['./fit.sh'], host='h1', user='ann')
    p = h.process()
    h.exec(p, ['sort', 'in'], exe='/usr/bin/sort')
    h.read(p, h.file('/w/in', size=3)); h.write(p, h.file('/w/out'), size=3)
    h.exit(p); h.end()
    h.save(home, evtext)

Time begins at 2026-01-01T00:00:00Z and goes on by a second with each call, so that everything is determined. Names may
be bytes.
"""

import json
import os
import subprocess

T0 = 1767225600 * 10**9
SECOND = 10**9
READ, WRITE, CREATE, TRUNC, APPEND, MAPPED, STATE, PROGRAM = 1, 2, 4, 8, 16, 32, 64, 128
REGULAR, FIFO, PIPE, SOCKET, SHM, TERMINAL, PSEUDO, ABSENT, DIRECTORY, SYMLINK = range(1, 11)
DATA, OVERLAP, DESCRIPTOR, FORK, VSHM, VSOCKET, CACHE, SYNC = range(8)
_inodes = [1000]


def text(value):
    """As the text form wants strings: one character per byte."""
    if isinstance(value, str):
        value = os.fsencode(value)
    return value.decode('latin-1')


class History:
    """One session with one run."""

    def __init__(self, run='', argv=(), host='h1', user='ann', group='lab', cwd='/w', session=None, boot='b1', start=0,
                 labels=()):
        self.session = session or hash_of(run)
        # A script may make its histories in several goes: those that start later have no inode of an earlier one.
        _inodes[0] = max(_inodes[0], 1000 + start * 1000)
        self.lines, self.seq, self.now = [], 0, T0 + start * SECOND
        self.files, self.numbers, self.run, self.pids, self.fresh = {}, 0, run, 100, set()
        self.add('session', run=run, host=host, boot=boot, pidns=1, tool='history', mode='complete/test')
        self.add('domain', num=1, name='uuid:test', type='ext4')
        self.processes = 0
        if run:
            self.add('run', id=run, argv=[text(a) for a in argv], cwd=text(cwd), user=user, group=group, uid=1000,
                     gid=1000, host=['machine=x86_64'], label=list(labels))

    def add(self, kind, /, p=0, at=None, **fields):
        if at is None:
            self.now += SECOND
            at = self.now
        self.seq += 1
        line = {'session': '%016x' % self.session, 'seq': self.seq, 't': at, 'k': kind}
        if p:
            line['p'] = p
        line.update({k: v for k, v in fields.items() if v not in (None, 0, '', [])})
        self.lines.append(line)
        return self.seq

    def process(self, parent=0, pid=None):
        self.processes += 1
        self.pids += 1
        self.add('process', p=self.processes, pid=pid or self.pids, started=self.now, parent=parent, forked=self.now)
        self.last_n = {**getattr(self, 'last_n', {}), self.processes: 0}
        return self.processes

    def exec(self, p, argv, exe=None, script=None, cwd='/w', env=(), run=''):
        self.last_n[p] += 1
        exe = self.file(exe) if exe else 0
        self.add('exec', p=p, n=self.last_n[p], exe=exe, script=self.file(script) if script else 0,
                 argv=[text(a) for a in argv], cwd=text(cwd), env=[text(e) for e in env], uid=1000, gid=1000, run=run)
        for f in (exe, script and self.files[script]):
            if f:
                self.read(p, f, mode=READ | PROGRAM, api=4)
        return p

    def file(self, path, kind=REGULAR, size=None, mtime=None, ino=None):
        """The number of a file, the same for the same path; size: its state just before the next access."""
        if path not in self.files:
            self.numbers += 1
            self.files[path] = self.numbers
            if ino is None:
                _inodes[0] += 1
                ino = _inodes[0]
            self.add('file', num=self.numbers, kind=kind, domain=0 if kind == ABSENT else 1, ino=0 if kind == ABSENT else ino,
                     path=text(path))
        num = self.files[path]
        if size is not None:
            self.add('state', file=num, size=size, mtime=T0 - SECOND if mtime is None else mtime)
            self.fresh.add(num)
        return num

    def with_state(self, f, mode):
        """The mode, with STATE if the file's state was just given."""
        fresh = f in self.fresh
        self.fresh.discard(f)
        return mode | STATE if fresh else mode

    def read(self, p, f, mode=READ, via=DATA, sure=1, api=1, until=None, bytes_read=None):
        a = self.add('access', p=p, file=f, mode=self.with_state(f, mode), via=via, sure=sure, api=api)
        self.end_access(p, a, until, bytes_read=bytes_read)
        return a

    def write(self, p, f, size=None, mtime=None, mode=WRITE | CREATE, via=DATA, sure=1, api=1, evidence=2, until=None,
              bytes_written=None):
        a = self.add('access', p=p, file=f, mode=self.with_state(f, mode), via=via, sure=sure, api=api)
        if size is not None:
            self.now += SECOND
            self.add('state', file=f, size=size, mtime=self.now if mtime is None else mtime)
        self.end_access(p, a, until, evidence=evidence, state=1 if size is not None else 0, bytes_written=bytes_written)
        return a

    def end_access(self, p, a, until=None, bytes_read=None, bytes_written=None, **more):
        known = (1 if bytes_read is not None else 0) | (2 if bytes_written is not None else 0)
        self.now += SECOND
        self.add('access_end', p=p, at=self.now, access=a, until=until or self.now, known=known, bytes_read=bytes_read,
                 bytes_written=bytes_written, **more)

    def io(self, p, a, api, write=0, sizes=(), failed=0, first=None, last=None, spent=0):
        """What calls of one kind moved in access a, one way: sizes has the bytes of each."""
        limits = (100, 10**3, 10**4, 10**5, 10**6, 4 * 10**6, 10**7, 10**8, 10**9)
        places = [sum(n > limit for limit in limits) for n in sizes]
        self.add('io', p=p, access=a, api=api, write=write, calls=len(sizes), failed=failed, bytes=sum(sizes),
                 largest=max(sizes, default=0), spent=spent, first=first, last=last,
                 **{'size%d' % k: places.count(k) for k in range(10)})

    def exit(self, p, code=0, ending=1):
        self.add('exit', p=p, ending=ending, code=code, cpu=5000000, known=2)

    def end(self, p=1, code=0, ending=1):
        self.add('run_end', p=p, id=self.run, ending=ending, code=code, cpu=1000000, traps=10)
        self.add('session_end')

    def save(self, home, evtext, name=None):
        folder = os.path.join(home, 'logs', 'h1', '2026-01-01')
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, (name or '%d' % len(os.listdir(folder))) + '.stl')
        lines = ''.join(json.dumps(line) + '\n' for line in self.lines)
        how = 'pack' if sum(os.path.basename(path).encode()) % 2 else 'make'  # of two neighbours one is packed
        subprocess.run([evtext, how, path], input=lines.encode(), check=True)
        return path


def hash_of(name):
    """A session number from a run's id, without the builtin hash, which changes from process to process."""
    value = 14695981039346656037
    for c in (name or 'none').encode():
        value = (value ^ c) * 1099511628211 % 2**64
    return value or 1
