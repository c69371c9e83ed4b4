"""damage.py - damages a record's logs, again and again, and looks at what is then answered.

    damage.py STEMMA EVTEXT FOLDER SEED COUNT [KIND...]

Each round makes a copy of a record whose answers are known, damages one segment of it, lets the index be made from that,
and asks. An answer is right if it is the one from before the damage; if it is not, it must say that the record is damaged,
and so must every later answer. Prints one line for each answer that is neither, and at the end how many there were.

The record: four runs, three of which were written to one segment at the same time, and one that lies alone. What is right
is what the same program answers from the undamaged record, whose correctness others test.
"""

import json
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from history import *

QUESTIONS = [
    ['why', '--json', '/w/d2'], ['why', '--json', '/w/d3'], ['lineage', '--json', '/w/d3'], ['lineage', '--json', '--down', '/w/d0'],
    ['find', '--json', 'made', '/w/d2'], ['log', '--json'], ['show', '--json', '/w/d1'], ['stat', '--json', '@'], ['diff', '--json', '@~1', '@'],
    ['export', '--format', 'prov-json', '@'], ['sql', '--json', 'SELECT path FROM file ORDER BY path'],
    ['why', '/w/d3'], ['lineage', '/w/d3'], ['log'], ['show', '@'], ['stat', '@'], ['diff', '@~1', '@'],
]


def make(evtext, home):
    runs = []
    for i, letter in enumerate('ABCD'):
        h = History('01' + letter * 24, argv=['step', letter], start=1000 * i)
        h.pids += 100 * i
        p = h.process()
        h.exec(p, ['step', letter], exe='/opt/step')
        for k in range(12):
            h.read(p, h.file('/w/part%d' % k, ino=200 + k))
        h.read(p, h.file('/w/d%d' % i, ino=100 + i), bytes_read=10)
        h.write(p, h.file('/w/d%d' % (i + 1), ino=101 + i), size=i + 1)
        h.exit(p)
        h.end()
        runs.append(h)
    alone = runs.pop()
    # A frame ends where another session's event comes: so they are short, and many.
    lines, rng = [], random.Random(7)
    rest = [list(h.lines) for h in runs]
    while any(rest):
        one = rng.choice([r for r in rest if r])
        n = rng.randrange(1, 6)
        lines += one[:n]
        del one[:n]
    folder = os.path.join(home, 'logs', 'h1', '2026-01-01')
    os.makedirs(folder)
    os.chmod(home, 0o700)
    for name, what, how in (('0', lines, 'make'), ('1', alone.lines, 'pack')):
        text = ''.join(json.dumps(line) + '\n' for line in what)
        subprocess.run([evtext, how, os.path.join(folder, name + '.stl')], input=text.encode(), check=True)
    return folder


def frames(data):
    """(from, to) of each: the headers are whole."""
    at, out = 0, []
    while at < len(data):
        size = int.from_bytes(data[at + 4:at + 8], 'little')
        out.append((at, at + 56 + size))
        at += 56 + size
    return out


def damage(rng, kind, data):
    f = frames(data)
    b = bytearray(data)
    i = rng.randrange(len(f))
    if kind == 'bit':
        b[rng.randrange(len(b))] ^= 1 << rng.randrange(8)
    elif kind == 'bytes':
        at = rng.randrange(len(b))
        for k in range(at, min(len(b), at + rng.choice((1, 8, 64, 512, 4096)))):
            b[k] = rng.randrange(256)
    elif kind == 'zeros':
        at = rng.randrange(len(b))
        n = min(len(b) - at, rng.choice((16, 512, 4096)))
        b[at:at + n] = bytes(n)
    elif kind == 'hole':  # a frame is cut out without a trace; the last one of a session looks like a writer that died
        session = [data[x + 16:x + 24] for x, y in f]
        while session[i] not in session[i + 1:]:
            i = rng.randrange(len(f))
        del b[f[i][0]:f[i][1]]
    elif kind == 'part':  # some bytes are
        at = rng.randrange(len(b))
        del b[at:at + rng.randrange(1, 300)]
    elif kind == 'twice':
        b[f[i][1]:f[i][1]] = b[f[i][0]:f[i][1]]
    elif kind == 'swap':
        order = [data[x:y] for x, y in f]
        k = rng.randrange(len(f))
        order[i], order[k] = order[k], order[i]
        b = bytearray(b''.join(order))
    elif kind == 'end':
        del b[rng.choice(f)[0] if rng.randrange(2) else rng.randrange(len(b)):]
    return bytes(b)


def main():
    stemma, evtext, folder, seed, count = sys.argv[1:6]
    kinds = sys.argv[6:] or ['bit', 'bytes', 'zeros', 'hole', 'part', 'twice', 'swap', 'end', 'gone']
    good, home = os.path.join(folder, 'good'), os.path.join(folder, 'record')
    env = {**os.environ, 'STEMMA_HOME': home, 'HOME': folder, 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'}

    def ask(question):
        p = subprocess.run([stemma, *question], env=env, capture_output=True, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr

    def fresh(index):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(good, home)
        if not index:
            for f in os.listdir(home):
                if f.startswith('index'):
                    os.unlink(os.path.join(home, f))

    make(evtext, good)
    fresh(True)
    truth = [ask(q) for q in QUESTIONS]
    for q, (status, out, err) in zip(QUESTIONS, truth):
        if status not in (0, 1) or err and not q[0] == 'diff':
            sys.exit('no answer before the damage: %s: %d %s' % (q, status, err))
    shutil.rmtree(good)
    shutil.copytree(home, good)
    wrong = silent = told = 0
    for n in range(int(seed), int(seed) + int(count)):
        rng = random.Random(n)
        kind = kinds[n % len(kinds)]
        indexed = rng.randrange(2)  # had the index been made before?
        fresh(indexed)
        name = '0.stl' if kind not in ('gone', 'end') or rng.randrange(2) else '1.stl'
        path = os.path.join(home, 'logs', 'h1', '2026-01-01', name)
        data = open(path, 'rb').read()
        if kind == 'gone':
            os.unlink(path)
        else:
            bad = damage(rng, kind, data)
            with open(path, 'wb') as f:
                f.write(bad)
            long_ago = os.stat(path).st_mtime - 3600  # what nobody has gone on with is not being written
            os.utime(path, (long_ago, long_ago))
            cut = len(bad) in [0] + [y for _, y in frames(data)] and data.startswith(bad)
        if not indexed and (kind == 'gone' or cut):
            continue  # that is a record of fewer runs, or of some that did not end (t0385, t0387)
        again = rng.randrange(2)
        if indexed and again:
            ask(['index', '--rebuild'])
        for turn in range(2):
            for q, t in zip(QUESTIONS, truth):
                status, out, err = ask(q)
                if (status, out) == t[:2]:
                    continue
                told += 1
                said = b'damaged' in err or b'a part of the log; this answer may be incomplete' in err
                if '--json' in q:
                    said = said and (b'"damaged"' in out or status != 0)
                if not said:
                    silent += 1
                    print('silent: seed %d, %s, %s, turn %d: stemma %s: %d %s' % (
                        n, kind, 'rebuilt' if indexed else 'new', turn, ' '.join(q), status, err[:200]))
                if status not in (0, 1, 2):
                    wrong += 1
                    print('failed: seed %d, %s: stemma %s: %d %s' % (n, kind, ' '.join(q), status, err[:200]))
    print('%s rounds: %d answers differ and say so, %d silent, %d failed' % (count, told - silent, silent, wrong))
    sys.exit(1 if silent or wrong else 0)


if __name__ == "__main__":
    main()
