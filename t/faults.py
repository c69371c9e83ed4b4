"""faults.py - lets each allocation and each call of a command fail, one at a time, and looks at what is left.

    faults.py STEMMA EVTEXT LIBRARY FOLDER [--of SLICES --slice I] [--operations A,B] [--kinds A,B] [--most CALLS]

For each operation (index, ask, import, forget, gc, note, seal, run) and each kind of fault (out of memory; EIO, ENOSPC,
EINTR, short transfers) the calls are counted, then the operation is done once for each of them, on a copy of a known
record, with that call failing; `lasts` kinds let all later ones fail, too. The operation must

  - succeed, and then everything answers as after one without a fault, or
  - fail with a status and a sentence, and then everything answers as before it or as after it.

A run's command must end as it does alone, with the same output; its record must be right, or say that part is missing,
or the run must have said so. Of SLICES every one is a slice of the enumeration that is spread over it. Prints a line for
each violation and the counts.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

from damage import make
from history import History

QUESTIONS = [['why', '/w/d3'], ['lineage', '--json', '/w/d3'], ['log', '--json'], ['show', '--json', '@']]
KINDS = ['enomem', 'eio', 'enospc', 'eintr', 'short', 'enomem+', 'eio+', 'enospc+']
NONE = (0, 1)


class Faults:
    def __init__(self, a):
        self.a = a
        self.good, self.home, self.work = (os.path.join(a.folder, n) for n in ('good', 'record', 'work'))
        self.count = os.path.join(a.folder, 'count')
        self.env = {**os.environ, 'STEMMA_HOME': self.home, 'HOME': a.folder, 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'}
        self.known, self.clean = {}, {}
        self.bad = self.done = self.failed = self.succeeded = 0
        self.extra = os.path.join(a.folder, 'extra.stl')
        h = History('01' + 'E' * 24, argv=['step', 'E'], start=9000)
        p = h.process()
        h.exec(p, ['step', 'E'], exe='/opt/step')
        h.write(p, h.file('/w/extra'), size=3)
        h.exit(p)
        h.end()
        other = os.path.join(a.folder, 'other')
        shutil.copy(h.save(other, a.evtext, 'x'), self.extra)
        os.makedirs(self.work, exist_ok=True)
        make(a.evtext, self.home)
        self.call(['index'])
        shutil.copytree(self.home, self.good)

    def reset(self, index=True):
        """The known record again, where it is another now."""
        if self.clean.get(index) != self.state():
            shutil.rmtree(self.home, ignore_errors=True)
            shutil.copytree(self.good, self.home)
            for f in os.listdir(self.home) if not index else []:
                if f.startswith('index'):
                    os.unlink(os.path.join(self.home, f))
            self.clean[index] = self.state()
        for f in os.listdir(self.work):
            os.unlink(os.path.join(self.work, f))
        with open(os.path.join(self.work, 'in'), 'w') as f:
            f.write('some\n')

    def call(self, args, fault=None, n=0):
        env = self.env
        if fault:
            with open(self.count, 'wb') as f:
                f.write(bytes(8))
            env = {**env, 'LD_PRELOAD': self.a.library, 'FAULTS_COUNT': self.count, 'FAULTS_KIND': fault.rstrip('+'),
                   'FAULTS_AT': str(n)}
            if fault.endswith('+'):
                env['FAULTS_LASTS'] = '1'
        try:
            p = subprocess.run([self.a.stemma, *args], env=env, cwd=self.work, capture_output=True, stdin=subprocess.DEVNULL,
                               timeout=60)
            return p.returncode, p.stdout, p.stderr
        except subprocess.TimeoutExpired:
            return 'timeout', b'', b''

    def counted(self):
        with open(self.count, 'rb') as f:
            return struct.unpack('Q', f.read())[0]

    def state(self):
        """The bytes of the record, and the names, kinds and modes of its files."""
        found = []
        for top, _, files in os.walk(self.home):
            found.append((top, os.stat(top).st_mode))
            for name in sorted(files):
                path = os.path.join(top, name)
                with open(path, 'rb') as f:
                    found.append((path, os.lstat(path).st_mode, hashlib.sha256(f.read()).digest()))
        return tuple(found)

    def answers(self):
        """Equal bytes give equal answers: they are asked for once. But asking may write an index; so the first answers of
        each state are those that count."""
        state = self.state()
        if state not in self.known:
            self.known[state] = [self.call(q)[:2] for q in QUESTIONS]
        return self.known[state]

    def violation(self, op, fault, n, what, r):
        self.bad += 1
        print('%s, %s at %d: %s: %s %s' % (op, fault, n, what, r[0], r[2][:300]), flush=True)

    def enumerate(self, op, args, index=True, check=None):
        self.reset(index)
        before = self.answers()
        self.reset(index)
        r = self.call(args)
        if r[0] not in NONE:
            sys.exit('%s does not work: %s %s' % (op, r[0], r[2]))
        after, result = self.answers(), r[:2]
        for fault in self.a.kinds.split(','):
            self.reset(index)
            self.call(args, fault)
            total = self.counted()
            if self.a.most and total > self.a.most:
                continue
            for n in range(1 + (self.a.slice + hash_of(op + fault)) % self.a.of, total + 1, self.a.of):
                self.reset(index)
                r = self.call(args, fault, n)
                self.done += 1
                said = bool(r[2].strip())
                if r[0] in NONE:
                    self.succeeded += 1
                else:
                    self.failed += 1
                if r[0] == 'timeout' or (isinstance(r[0], int) and r[0] < 0):
                    self.violation(op, fault, n, 'it crashed or hung', r)
                    continue
                if r[0] not in NONE and not said:
                    self.violation(op, fault, n, 'it failed without a word', r)
                if op == 'ask' and r[0] in NONE and r[:2] != result:
                    self.violation(op, fault, n, 'another answer', r)
                now = self.answers()
                if now == after:
                    continue
                if now != before or (r[0] in NONE and op != 'gc'):
                    self.violation(op, fault, n, 'it succeeded, but the record is not so' if r[0] in NONE else
                                   'the record is neither as before nor as after', r)
            print('# %s, %s: %d calls' % (op, fault, total), flush=True)

    def note(self):
        """Notes and seals have times, so what they leave is looked at otherwise."""
        for op, args, look in (('note', ['note', '@', 'remember'], lambda: b'remember' in self.call(['note', '@'])[1]),
                               ('seal', ['trust', '--seal'], lambda: self.sealed())):
            if op not in self.a.operations.split(','):
                continue
            for fault in self.a.kinds.split(','):
                self.reset()
                truth = self.answers()[:2]
                self.call(args, fault)
                total = self.counted()
                for n in range(1 + (self.a.slice + hash_of(op + fault)) % self.a.of, total + 1, self.a.of):
                    self.reset()
                    r = self.call(args, fault, n)
                    self.done += 1
                    self.succeeded += r[0] == 0
                    self.failed += r[0] != 0
                    if r[0] == 'timeout' or r[0] < 0:
                        self.violation(op, fault, n, 'it crashed or hung', r)
                    elif r[0] == 0 and not look():
                        self.violation(op, fault, n, 'it succeeded, but it is not there', r)
                    elif r[0] and not r[2].strip():
                        self.violation(op, fault, n, 'it failed without a word', r)
                    elif self.answers()[:2] != truth:
                        self.violation(op, fault, n, 'other answers', r)
                print('# %s, %s: %d calls' % (op, fault, total), flush=True)

    def gaps(self):
        """Does the latest run, or an execution of it, lack something by its own record?"""
        try:
            return any(thing.get('completeness') for top in json.loads(self.call(['show', '--json', '@'])[1])['things']
                       for thing in [top, *top.get('executions', [])])
        except ValueError:
            return False

    def sealed(self):
        status, out, err = self.call(['trust', '--verify', '--json'])
        return status == 0 and b'"seals": 1' in out

    def run(self):
        job = ['sh', '-c', 'cat in > out; cp out copy; echo said; exit 7']
        self.reset()
        r = self.call(['run', '--', *job])
        assert r[:2] == (7, b'said\n'), r
        for fault in self.a.kinds.split(','):
            self.reset()
            self.call(['run', '--', *job], fault)
            total = self.counted()
            for n in range(1 + (self.a.slice + hash_of('run' + fault)) % self.a.of, total + 1, self.a.of):
                self.reset()
                r = self.call(['run', '--', *job], fault, n)
                self.done += 1
                made = {f: open(os.path.join(self.work, f)).read() for f in os.listdir(self.work)}
                if r[0] in (125, 126) and not r[1] and made == {'in': 'some\n'} and r[2].strip():
                    self.failed += 1  # it did not begin, and says so
                    continue
                if r[:2] != (7, b'said\n') or made != {'in': 'some\n', 'out': 'some\n', 'copy': 'some\n'}:
                    self.violation('run', fault, n, 'the command was not left alone (%s)' % made, r)
                    continue
                why = self.call(['why', '--json', 'copy'])
                text = self.call(['why', 'copy'])
                self.succeeded += 1
                try:
                    j = json.loads(why[1])
                    whole = json.dumps(j)
                    right = b'made by cp out copy from out@{1} by ' in text[1]
                    # What the kernel tells was not to be had: then it is only possible, and says so.
                    right = right or (b'made by cp out copy from ' in text[1] and b'out@{1}?' in text[1])
                except ValueError:
                    right, whole = False, ''
                missing = (b'incomplete' in text[1] or b'"lost"' in why[1] or b'recorder_died' in why[1] or b'"damaged"' in why[1])
                if not right and not missing and text[0] == 1:  # it has no answer; what the run lacks says it
                    missing = self.gaps()
                if not right and not missing and not r[2].strip():
                    self.violation('run', fault, n, 'silent: %s %s' % (text[1][:200], text[2][:100]), r)
            print('# run, %s: %d calls' % (fault, total), flush=True)


def hash_of(text):
    return sum((i + 1) * c for i, c in enumerate(text.encode()))


def main():
    p = argparse.ArgumentParser()
    for name in ('stemma', 'evtext', 'library', 'folder'):
        p.add_argument(name)
    p.add_argument('--of', type=int, default=1)
    p.add_argument('--slice', type=int, default=0)
    p.add_argument('--operations', default='index,ask,import,forget,gc,note,seal,run')
    p.add_argument('--kinds', default=','.join(KINDS))
    p.add_argument('--most', type=int, default=0, help='leave out what makes more calls than that')
    a = p.parse_args()
    for name in ('stemma', 'evtext', 'library', 'folder'):
        setattr(a, name, os.path.abspath(getattr(a, name)))
    f = Faults(a)
    for op, args, index in (('index', ['index'], False), ('ask', ['why', '/w/d3'], True), ('ask', ['lineage', '--json', '/w/d3'], False),
                            ('import', ['import', f.extra], True), ('forget', ['forget', '01' + 'D' * 24], True),
                            ('gc', ['gc', '--older-than', '2026-06-01', '--force'], True)):
        if op in a.operations.split(','):
            f.enumerate(op, args, index)
    f.note()
    if 'run' in a.operations.split(','):
        f.run()
    if os.path.exists(os.path.join(a.folder, '.cache')):
        f.bad += 1
        print('after a passing fault another index was taken than the record has')
    print('%d faults: %d succeeded, %d failed, %d violations' % (f.done, f.succeeded, f.failed, f.bad))
    sys.exit(1 if f.bad else 0)


main()
