#!/bin/sh
# t0581-beside-recording.sh - a question beside a run that is being recorded writes as much of the index as the run did since the last
# one, however much was recorded before.
#
# Counted are the pages of the index that are others afterwards.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}" "${STEMMA_GRAPHDUMP:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0581.XXXXXX")
trap 'rm -rf "$dir"' EXIT
exec python3 - "$dir" <<'END'
import glob, json, os, shutil, sqlite3, subprocess, sys
stemma, growth, graphdump = (os.environ[name] for name in ('STEMMA', 'STEMMA_GROWTH', 'STEMMA_GRAPHDUMP'))
folder = sys.argv[1]
environment = {'HOME': folder, 'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8'}
count = failed = 0

def ok(good, what, comment=''):
    global count, failed
    count += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', count, what))
    if comment and not good:
        print('# ' + comment)
    sys.stdout.flush()

def ask(record, *question):
    return subprocess.run([stemma, '--store', record, *question], stdout=subprocess.PIPE, env=environment)

def pages(record):
    with open(record + '/index.db', 'rb') as f:
        size = int.from_bytes(f.read(18)[16:], 'big')
        f.seek(0)
        return list(iter(lambda: f.read(size), b''))

# The log of a run that goes on: all but its last pieces at first, then these, one by one, a question behind each.
PIECES, PIECE = 12, 300 * 17 # programs and events of one; a program of six accesses has 17
def record_of(programs):
    record = '%s/%d' % (folder, programs)
    subprocess.run([growth, record + '.whole', 'open', str(6 * programs)], check=True)
    log, = glob.glob(record + '.whole/logs/*/*/*.stl')
    target = record + log[len(record) + len('.whole'):]
    with open(log, 'rb') as f:
        whole = f.read()
    os.makedirs(os.path.dirname(target), mode=0o700)
    cut = [len(whole) * (programs - 300 * (PIECES - i)) // programs for i in range(PIECES + 1)]
    changed = []
    for i in range(PIECES + 1):
        with open(target, 'ab') as f:
            f.write(whole[cut[i - 1] if i else 0:cut[i]])
        before = pages(record) if i else []
        asked = ask(record, 'why', '/w/0/0/out100')
        if asked.returncode:
            raise SystemExit('why: status %d' % asked.returncode)
        after = pages(record)
        if i:
            changed.append(sum(a != b for a, b in zip(before, after)) + abs(len(after) - len(before)))
    return record, target, sorted(changed)

SMALL, LARGE = 10000, 100000
few, many = record_of(SMALL), record_of(LARGE)
middle = [changed[PIECES // 2] for _, _, changed in (few, many)]
ok(middle[1] <= 2 * middle[0], 'pages that a question writes do not grow with the run', '%d, then %d of ten times as much' % tuple(middle))
ok(many[2][-1] <= 12 * middle[1], 'nor does any question write many times as much', str(many[2]))

# What is found by new keys and by old ones is the same as where all was indexed at once.
record, log, _ = few
again = folder + '/again'
shutil.copytree(record + '/logs', again + '/logs')
def dump(record, *arguments):
    return subprocess.run([graphdump, *arguments, '--store', record], check=True, stdout=subprocess.PIPE, env=environment).stdout
expected = dump(again)
ok(len(expected) > 1000000 and dump(record) == expected, 'the graph is that of all at once')
ok(ask(record, 'fsck').returncode == 0, 'fsck finds nothing')
with sqlite3.connect('file:%s/index.db?mode=ro' % record, uri=True) as db:
    recent = dict(db.execute('SELECT (k >> 32) & 7, COUNT(*) FROM key WHERE k >> 32 >= 8 GROUP BY k >> 32'))
ok(len(recent) >= 4, 'there are keys beside the others', str(recent))
wrong = 0
for i in list(range(0, SMALL, 487)) + list(range(SMALL - 100, SMALL)):
    got = [ask(at, 'show', '--json', '/w/0/%d/out%d' % (i // 1000, i)).stdout for at in (record, again)]
    ids = [[v['id'] for v in json.loads(g)['things'][0]['versions']] if g else [] for g in got]
    wrong += got[0] != got[1] or not ids[0]
    if i % 7 == 0 and ids[0]:
        wrong += any(ask(at, 'show', ids[0][0][:12]).returncode for at in (record, again))
ok(wrong == 0, 'files and versions are found by path and by id', '%d are not' % wrong)
sys.stdout.write('1..%d\n' % count)
sys.exit(failed > 0)
END
