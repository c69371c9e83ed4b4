"""edge_order.py STEMMA EVTEXT FIRST ROUNDS - the edges of a record do not depend on the order in which its logs came. Prints TAP.

The logs of random histories are indexed together, one at a time, one at a time from the last to the first, and in two orders at
random. Each time `stemma sql` gives the same rows of edges, and the lineage through servers has the same inputs.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests', 'reference'))

import random_history  # noqa: E402

stemma, evtext, first, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# Rows of the store have other numbers in another order; what they are for everybody does not.
NAMES = 'SELECT id, pub FROM version UNION ALL SELECT id, pub FROM execution'
EDGES = 'SELECT from_id, type, to_id, certainty, evidence, via, lo, hi, count, bytes, api, part FROM edge'
SOCKETS = "SELECT v.pub FROM version v JOIN file f ON v.file = f.id WHERE f.kind = 'socket' ORDER BY v.pub"


def ask(home, *words):
    done = subprocess.run([stemma, '--store', home, *words], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError('%s: status %d: %s' % (words, done.returncode, done.stderr.decode('utf-8', 'replace')))
    return done.stdout.decode('utf-8', 'surrogateescape')


def rows(home, query):
    return [tuple(r.values()) for r in json.loads(ask(home, 'sql', '--json', query))['rows']]


def walk(home, pub, way):
    said = json.loads(ask(home, 'lineage', '--json', '--all', '--through-servers', *way, '--no-index', pub) or '{}')
    return sorted(e['id'] for e in said.get('entities', ())), sorted(json.dumps(e, sort_keys=True) for e in said.get('edges', ()))


def look(home):
    """The edges, by names; and what each socket leads to through servers."""
    names = dict(rows(home, NAMES))
    edges = sorted(((names.get(e[0], e[0]), e[1], names.get(e[2], e[2])) + e[3:] for e in rows(home, EDGES)), key=str)
    through = [(pub, way, walk(home, pub, way)) for pub, in rows(home, SOCKETS)[:6] for way in ((), ('--down',))]
    return edges, through


def record(world, order, each):
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, 'logs', 'h', 'd')
        os.makedirs(folder)
        for number in order:
            subprocess.run([evtext, 'make', os.path.join(folder, '%d.stl' % number)],
                           input=random_history.text(world['logs'][number]).encode(), check=True)
            if each:
                ask(home, 'index')
        ask(home, 'index')
        return look(home)


def a_round(seed):
    """A complaint, or ''; and how many edges were compared."""
    world = random_history.generate(seed)
    os.environ['STEMMA_SKEW'] = '%dns' % world['skew']
    numbers = list(range(len(world['logs'])))
    shuffled = random.Random(seed).sample(numbers, len(numbers))
    want = record(world, numbers, False)
    for name, order, each in (('one at a time', numbers, True), ('from the last to the first', numbers[::-1], True),
                              ('shuffled', shuffled, True), ('shuffled backwards', shuffled[::-1], True)):
        got = record(world, order, each)
        for a, b in zip(want, got):
            if a != b:
                return '%s:\ntogether:\n%s\n%s:\n%s' % (name, '\n'.join(map(str, [x for x in a if x not in b])), name,
                                                       '\n'.join(map(str, [x for x in b if x not in a]))), 0
    return '', len(want[0])


total = failed = 0
for seed in range(first, first + rounds):
    complaint, compared = a_round(seed)
    total += compared
    if complaint:
        failed += 1
        print('not ok %d - random history %d' % (seed - first + 1, seed))
        for line in complaint.splitlines()[:30]:
            print('# ' + line[:2000])
    else:
        print('ok %d - random history %d, %d edges' % (seed - first + 1, seed, compared))
    sys.stdout.flush()
print('%sok %d - %d edges were compared' % ('' if total else 'not ', rounds + 1, total))
print('1..%d' % (rounds + 1))
sys.exit(failed != 0 or not total)
