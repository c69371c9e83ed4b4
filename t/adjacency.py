"""adjacency.py STEMMA EVTEXT ROUNDS - the edges that lie beside the index say what the index says. Prints TAP.

Of random histories, whose logs arrive one after the other and are indexed each time, with segments made of however few
rows: fsck holds each row of a segment against the index, and answers are the same, byte for byte, where the segments are
read and where they are not.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests', 'reference'))

import random_history  # noqa: E402

stemma, evtext, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
ANSWERS = (['lineage', '--json'], ['lineage', '--json', '--all'], ['lineage', '--json', '--all', '--fork', '--down'],
           ['lineage', '--json', '--certain'], ['lineage', '--json', '--down'], ['why', '--json'])


def ask(home, adjacency, *words):
    env = dict(os.environ, STEMMA_ADJACENCY=adjacency)
    done = subprocess.run([stemma, '--store', home, *words], capture_output=True, check=False, env=env)
    if done.returncode not in (0, 1):
        raise RuntimeError('%s: status %d: %s' % (words, done.returncode, done.stderr.decode('utf-8', 'replace')))
    return done.returncode, done.stdout


def segments(home):
    folder = os.path.join(home, 'index.db.edges')
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def a_round(seed):
    """A complaint, or ''; and how many answers were compared."""
    world = random_history.generate(seed)
    os.environ['STEMMA_SKEW'] = '%dns' % world['skew']
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, 'logs', 'h', 'd')
        os.makedirs(folder)
        for number, events in enumerate(world['logs']):
            subprocess.run([evtext, 'make', os.path.join(folder, '%d.stl' % number)],
                           input=random_history.text(events).encode(), check=True)
            ask(home, 'all', 'index')
            status, said = ask(home, 'all', 'fsck')
            if status:
                return 'after log %d: %s' % (number, said.decode('utf-8', 'replace')), 0
        if not segments(home):
            return 'no segment was made', 0
        ids = ask(home, 'off', 'sql', 'SELECT pub FROM version ORDER BY id')[1].decode().split()
        compared = 0
        for pub in ids:
            if not pub.startswith('v'):
                continue
            for words in ANSWERS:
                with_it, without = ask(home, 'all', *words, '--no-index', pub), ask(home, 'off', *words, '--no-index', pub)
                compared += 1
                if with_it != without:
                    return '%s %s:\n%s\n%s' % (' '.join(words), pub, with_it[1].decode(), without[1].decode()), compared
    return '', compared  # some histories have no version


total = failed = 0
for seed in range(1, rounds + 1):
    complaint, compared = a_round(seed)
    total += compared
    if complaint:
        failed += 1
        print('not ok %d - random history %d' % (seed, seed))
        for line in complaint.splitlines()[:30]:
            print('# ' + line[:2000])
    else:
        print('ok %d - random history %d, %d answers' % (seed, seed, compared))
    sys.stdout.flush()
print('%sok %d - %d answers were compared' % ('' if total else 'not ', rounds + 1, total))
print('1..%d' % (rounds + 1))
sys.exit(failed != 0 or not total)
