"""power.py - cuts the power after each write to a record, and asks what is left.

    power.py STEMMA EVTEXT LIBRARY FOLDER [--of SLICES] [--slice I] [--ways N]

A scenario (runs with sync=end, a note, an import, a seal, a forgotten run, a rebuilt index) is done once under a library
that writes down, in order, each change of a file or a name and each fsync. Then for each place of that list, and in
several ways, the record is made as a disk may have it when the power goes there:

  - what was synced before that place is there: a file's bytes by its fsync, names by the fsync of their directory;
  - of all else any part may be there: each write whole, not at all, as zeros, or its first part (blocks of 512 bytes);
    names in the order in which they were given or taken, up to any of them.

That record is asked, twice. Every command must end with 0 or 1 and no signal; each run, note, import and seal that had
been acknowledged must be there, what had been forgotten must not, and no run may be told otherwise than it was, unless
the answer says that the record is damaged. `stemma fsck` must not crash.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys

from damage import make
from history import History


def parse(path):
    with open(path, 'rb') as f:
        data = f.read()
    at, ops = 0, []
    while at < len(data):
        end = data.index(b'\n', at)
        op = data[at:end].decode().split(' ')
        at = end + 1
        if op[0] == 'W':
            n = int(op[3])
            ops.append(('W', op[1], int(op[2]), data[at:at + n]))
            at += n
        else:
            ops.append(tuple(op))
    return ops


class Disk:
    """Files as objects, so that a rename does not move what a later fsync of the other name makes durable."""

    def __init__(self, home):
        self.files, self.names, self.dirs, self.next = {}, {}, set(), 0
        for top, dirs, files in os.walk(home):
            self.dirs.add(top)
            for name in files:
                path = os.path.join(top, name)
                with open(path, 'rb') as f:
                    self.create(path, bytearray(f.read()))

    def create(self, path, content):
        self.next += 1
        self.files[self.next] = content
        self.names[path] = self.next
        return self.next

    def write_to(self, home):
        shutil.rmtree(home, ignore_errors=True)
        for d in sorted(self.dirs):
            os.makedirs(d, mode=0o700, exist_ok=True)
        for path, number in self.names.items():
            if os.path.dirname(path) in self.dirs:
                with open(path, 'wb') as f:
                    f.write(self.files[number])
                os.chmod(path, 0o600)


def cut(base, ops, k, rng):
    """The disk after ops[:k]."""
    # Which file each operation is of: names as the program saw them.
    d = Disk.__new__(Disk)
    d.files = {n: bytearray(c) for n, c in base.files.items()}
    d.names, d.dirs, d.next = dict(base.names), set(base.dirs), base.next
    seen = dict(d.names)
    data, names, last = [], [], -1
    synced = {}
    for i, op in enumerate(ops[:k]):
        if op[0] == 'C':
            d.next += 1
            d.files[d.next] = bytearray()
            seen[op[1]] = d.next
            names.append((i, 'C', op[1], d.next))
        elif op[0] in 'WT':
            if op[1] not in seen:  # it has no name yet
                d.next += 1
                d.files[d.next] = bytearray()
                seen[op[1]] = d.next
            data.append((i, seen[op[1]], op))
        elif op[0] in 'RL':
            if op[1] in seen:
                number = seen[op[1]]
                seen[op[2]] = number
                if op[0] == 'R':
                    del seen[op[1]]
                names.append((i, op[0], op[1], op[2], number))
        elif op[0] == 'U':
            seen.pop(op[1], None)
            names.append((i, 'U', op[1]))
        elif op[0] == 'D':
            names.append((i, 'D', op[1]))
        elif op[0] == 'S':
            if op[1] in seen:
                synced[seen[op[1]]] = i
            # A file system that keeps a journal of names writes those before the sync as well.
            if op[1] not in seen:
                last = i
    # Names: all that a directory's fsync made durable, and some more, in order.
    sure = [n for n in names if n[0] < last]
    maybe = names[len(sure):]
    some = rng.choice((0, len(maybe), rng.randrange(len(maybe) + 1)))
    for n in sure + maybe[:some]:
        if n[1] == 'C':
            d.names[n[2]] = n[3]
        elif n[1] in 'RL':
            d.names[n[3]] = n[4]
            if n[1] == 'R':
                d.names.pop(n[2], None)
        elif n[1] == 'U':
            d.names.pop(n[2], None)
        elif n[1] == 'D':
            d.dirs.add(n[2])
    way = rng.randrange(4)  # of what is not synced: all, nothing, either of each write
    for i, number, op in data:
        content, whole = d.files[number], i < synced.get(number, -1)
        what = 'all' if whole or way == 0 else 'none' if way == 1 else rng.choice(('all', 'none', 'zeros', 'part'))
        if op[0] == 'T':
            size = int(op[2])
            if what != 'none':
                del content[size:]
                content.extend(bytes(size - len(content)))
            continue
        offset, b = op[2], op[3]
        if what == 'none':
            continue
        if what == 'part':
            b = b[:rng.randrange(len(b) + 1) // 512 * 512]
        if len(content) < offset + len(b):
            content.extend(bytes(offset + len(b) - len(content)))
        content[offset:offset + len(b)] = bytes(len(b)) if what == 'zeros' else b
    return d


def main():
    p = argparse.ArgumentParser()
    for name in ('stemma', 'evtext', 'library', 'folder'):
        p.add_argument(name)
    p.add_argument('--of', type=int, default=1)
    p.add_argument('--slice', type=int, default=0)
    p.add_argument('--ways', type=int, default=4)
    a = p.parse_args()
    for name in ('stemma', 'evtext', 'library', 'folder'):
        setattr(a, name, os.path.abspath(getattr(a, name)))
    home, work, trace = (os.path.join(a.folder, n) for n in ('record', 'work', 'trace'))
    env = {**os.environ, 'STEMMA_HOME': home, 'HOME': a.folder, 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8', 'STEMMA_SYNC': 'end'}
    tracing = {**env, 'LD_PRELOAD': a.library, 'FAULTS_TRACE': trace, 'FAULTS_UNDER': home}
    os.makedirs(work)
    with open(os.path.join(work, 'in'), 'w') as f:
        f.write('some\n')
    h = History('01' + 'E' * 24, argv=['step', 'E'], start=9000)
    e = h.process()
    h.exec(e, ['step', 'E'], exe='/opt/step')
    h.write(e, h.file('/w/extra'), size=3)
    h.exit(e)
    h.end()
    extra = h.save(os.path.join(a.folder, 'other'), a.evtext, 'x')
    make(a.evtext, home)

    def call(*args, e=env):
        p = subprocess.run([a.stemma, *args], env=e, cwd=work, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
        return p.returncode, p.stdout, p.stderr

    def runs():
        """What is told of each run."""
        status, out, err = call('log', '--json')
        told = {}
        for r in json.loads(out)['runs'] if out else []:
            told[r['id']] = {k: r.get(k) for k in ('command', 'end', 'exit', 'inputs', 'outputs')}
        return status, told, err

    def note_there():
        return b'remember this' in call('note', '01' + 'A' * 24)[1]

    call('index')
    base = Disk(home)
    acknowledged = []  # (number of operations by then, what)
    truth = {}

    def step(what, *args):
        r = call(*args, e=tracing)
        if r[0] not in (0, 7):
            sys.exit('the scenario does not work: %s: %s %s' % (' '.join(args), r[0], r[2]))
        acknowledged.append((len(parse(trace)), what))
        truth.update(runs()[1])

    before = set(runs()[1])
    truth.update(runs()[1])
    step('run1', 'run', '--', 'cp', 'in', 'out1')
    step('note', 'note', '01' + 'A' * 24, 'remember this')
    step('import', 'import', extra)
    step('run2', 'run', '--', 'cp', 'out1', 'out2')
    step('seal', 'trust', '--seal')
    step('forget', 'forget', '01' + 'D' * 24)
    step('rebuild', 'index', '--rebuild')
    step('run3', 'run', '--', 'cp', 'out2', 'out3')
    ours = [u for u in truth if u not in before and u != '01' + 'E' * 24]
    ours.sort()
    ops = parse(trace)
    if os.environ.get('POWER_SHOW'):
        for i, op in enumerate(ops):
            print('#', i, op[0], *(x if not isinstance(x, bytes) else len(x) for x in op[1:]))
        print('#', acknowledged)
    bad = done = 0
    for k in range(a.slice % a.of, len(ops) + 1, a.of):
        for way in range(a.ways):
            rng = random.Random(k * 1000 + way)
            cut(base, ops, k, rng).write_to(home)
            done += 1
            have = {what for n, what in acknowledged if n <= k}
            begun = acknowledged[len(have)][1] if len(have) < len(acknowledged) else ''
            wrong = []
            for turn in range(2):
                status, told, err = runs()
                damaged = b'damaged' in err or b'a part of the log; this answer may be incomplete' in err
                if status not in (0, 1):
                    wrong.append('log: %s %s' % (status, err[:200]))
                for i, u in enumerate(ours):
                    if 'run%d' % (i + 1) in have and told.get(u) != truth[u] and not damaged:
                        wrong.append('run %d: %s' % (i + 1, told.get(u)))
                    if 'run%d' % (i + 1) in have and u not in told:
                        wrong.append('run %d is gone' % (i + 1))
                for u in told:
                    if u not in truth:
                        wrong.append('a run that was never: %s' % u)
                    elif told[u] != truth[u] and told[u]['end'] and not damaged:
                        wrong.append('%s is told otherwise: %s' % (u, told[u]))
                for u in before - set(told):
                    if u != '01' + 'D' * 24 or ('forget' not in have and begun != 'forget'):
                        wrong.append('%s is gone' % u)
                if 'forget' in have and '01' + 'D' * 24 in told:
                    wrong.append('what was forgotten is there')
                if 'import' in have and '01' + 'E' * 24 not in told:
                    wrong.append('what was imported is gone')
                if 'note' in have and not note_there():
                    wrong.append('the note is gone')
                if 'seal' in have:
                    r = call('trust', '--verify', '--json')
                    if b'"seals": 1' not in r[1]:
                        wrong.append('the seal is gone: %s' % r[1][:200])
                r = call('why', '/w/d3')
                if r[0] not in (0, 1):
                    wrong.append('why: %s %s' % (r[0], r[2][:200]))
            r = call('fsck')
            if r[0] not in (0, 1):
                wrong.append('fsck: %s %s' % (r[0], r[2][:200]))
            if wrong:
                bad += 1
                print('power off at %d of %d, way %d, after %s: %s' % (k, len(ops), way, acknowledged[len(have) - 1][1] if have
                      else 'nothing', '; '.join(sorted(set(wrong)))), flush=True)
    print('%d power losses in %d operations: %d wrong' % (done, len(ops), bad))
    sys.exit(1 if bad else 0)


main()
