"""lineage_reference.py STEMMA EVTEXT ROUNDS - hold `stemma lineage` against the golden histories and the reference. Prints TAP.

Of a golden history, each question of its file `lineage` is asked. Of a random one, the lineage of every version is
compared with what the reference's walk, which has no visited set but bounds, comes to; up and down. With a skew between
clocks stemma must answer at least what the reference does when clocks are taken as one.
"""
import collections
import datetime
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, '..', 'tests')
sys.path.insert(0, os.path.join(TESTS, 'reference'))

import graph  # noqa: E402
import random_history  # noqa: E402

stemma, evtext, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = failed = 0


def ok(good, what, comment=''):
    global count, failed
    count += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', count, what))
    for line in comment.splitlines()[:30] if not good else ():
        print('# ' + line)
    sys.stdout.flush()


def ask(home, *words):
    done = subprocess.run([stemma, '--store', home, *words], capture_output=True, check=False)
    if done.returncode not in (0, 1) or b'ERROR: ' in done.stderr:
        raise RuntimeError('%s: status %d: %s' % (words, done.returncode, done.stderr.decode('utf-8', 'replace')))
    return [json.loads(line) for line in done.stdout.decode().splitlines()] if '--jsonl' in words else \
        json.loads(done.stdout or b'null')


def record(home, logs):
    folder = os.path.join(home, 'logs', 'h', 'd')
    os.makedirs(folder)
    for number, lines in enumerate(logs):
        subprocess.run([evtext, 'make', os.path.join(folder, '%d.stl' % number)], input=lines, check=True)


def nanoseconds(text):
    if text is None:
        return None
    moment, fraction = text.rstrip('Z').split('.')
    seconds = datetime.datetime.fromisoformat(moment).replace(tzinfo=datetime.timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(fraction)


def exact(thing, key):
    """A string of the JSON as characters U+0000...U+00FF per byte."""
    import base64
    twin = thing.get(key + '_base64')
    return base64.b64decode(twin).decode('latin-1') if twin else thing[key].encode().decode('latin-1')


def entity_key(e):
    if e['kind'] == 'absent':
        return ('absent', exact(e, 'path'))
    return (exact(e, 'domain'), int(e['inode']), int(e['generation']), e['version'])


def execution_key(x):
    return ('x', x['pid'], x['n'], nanoseconds(x['start']), nanoseconds(x['end']))


def unescape(text):
    return text.encode('latin-1').decode('unicode_escape')


def keys_of(lines):
    """Canonical ids of versions and executions -> the keys of the JSON."""
    keys = {}
    for line in lines:
        words = line.split(' ')
        if words[0] == 'V':
            if words[1].startswith('absent:'):
                keys['V ' + words[1]] = ('absent', unescape(words[1][7:].rsplit('@', 1)[0]))
            else:
                domain, ino, rest = words[1].rsplit(':', 2)
                keys['V ' + words[1]] = (unescape(domain), int(ino), int(rest.split('@')[0]), int(words[-1]))
        elif words[0] == 'X':
            boot, pidns, pid, started, n = words[1].rsplit('/', 4)
            moments = [None if w == '-' else int(w) for w in words[3:5]]
            keys['X ' + words[1]] = ('x', int(pid), int(n), moments[0], moments[1])
    return keys


def answer(home, root, *options):
    """What stemma says, as a bag of keys; executions of different boots may have the same."""
    got = ask(home, 'lineage', '--json', '--no-index', *options, '--', root)
    if got is None:
        return None
    things = {e['id'] for e in got['entities']} | {x['id'] for x in got['executions']} | {
        a['id'] for a in got['agents'] + got['activities']}
    for e in got['edges']:
        assert e['from'] in things and e['to'] in things, e
    return collections.Counter([entity_key(e) for e in got['entities']] + [execution_key(x) for x in got['executions']])


def show(expected, got):
    if got is None:
        return 'no answer'
    return '\n'.join(['missing %s' % (k,) for k in expected - got] + ['superfluous %s' % (k,) for k in got - expected])


OPTIONS = {'--certain': ['--certain'], '--servers': ['--through-servers'], '--fork': ['--fork'], '--shm': ['--fork'], '--sync': ['--all'], '--all': ['--all']}


def golden(name):
    folder = os.path.join(TESTS, 'golden', 'graph', name)
    questions = open(os.path.join(folder, 'lineage'), encoding='utf-8').read().split('? ')[1:]
    options = []
    if os.path.exists(os.path.join(folder, 'options')):
        options = open(os.path.join(folder, 'options'), encoding='utf-8').read().split()
    skew = options[options.index('--skew') + 1] if '--skew' in options else '0'
    os.environ['STEMMA_SKEW'] = skew + 'ns'
    with tempfile.TemporaryDirectory() as home, open(os.path.join(folder, 'expect'), encoding='utf-8') as lines:
        logs = [open(os.path.join(folder, log), 'rb').read() for log in sorted(os.listdir(folder)) if log.endswith('.jsonl')]
        record(home, logs)
        keys = keys_of(lines.read().splitlines())
        ask(home, 'index', '--json')
        for question in questions:
            what, *things = question.strip().splitlines()
            root, *words = what.split()
            expected = collections.Counter(keys[t] for t in things)
            got = answer(home, root, *[o for w in words for o in OPTIONS[w]])
            ok(got == expected, '%s: lineage %s' % (name, what), show(expected, got))


def random_round(seed):
    """A complaint, or ''."""
    world = random_history.generate(seed)
    skew = world['skew']
    os.environ['STEMMA_SKEW'] = '%dns' % skew
    with tempfile.TemporaryDirectory() as home:
        paths = []
        for number, events in enumerate(world['logs']):
            paths.append(os.path.join(home, '%d.jsonl' % number))
            with open(paths[-1], 'w', encoding='utf-8') as out:
                out.write(random_history.text(events))
        record(home, [open(p, 'rb').read() for p in paths])
        g = graph.build(paths, skew, False)
        g.skew = 0
        keys = keys_of(g.canonical())
        ask(home, 'index', '--json')
        ids = {entity_key(e): e['id'] for e in ask(home, 'find', '--all', '--no-index', '--jsonl', 'not user nobody-at-all')}
        versions = [v for v in g.versions if keys['V %s' % v] in ids]
        if len(versions) != len(ids):
            return 'stemma has %d versions, the reference %d' % (len(ids), len(versions))
        up = {}
        for fork in (False, True):
            for v in versions:
                expected = collections.Counter(
                    keys[t] for t in g.lineage(v, fork=fork, shm=fork, sync=True, everything=True))
                got = answer(home, ids[keys['V %s' % v]], '--all', *(['--fork'] if fork else []))
                if got != expected and (not skew or got is None or expected - got):
                    return 'of %s%s\n%s' % (v, ' with --fork' if fork else '', show(expected, got))
                up[keys['V %s' % v], fork] = got
        if skew:
            return ''
        for v in versions:
            expected = collections.Counter(keys[t] for t in g.lineage(v, sync=True, everything=True, certain=True))
            got = answer(home, ids[keys['V %s' % v]], '--all', '--certain')
            if got != expected:
                return 'of %s with --certain\n%s' % (v, show(expected, got))
        for v in versions[:12]:
            me = keys['V %s' % v]
            expected = {k for (k, fork), all_of in up.items() if not fork and me in all_of}
            got = answer(home, ids[me], '--all', '--down')
            if got is None or {k for k in got if k[0] != 'x'} != expected:
                return 'down from %s: expected %s, got %s' % (v, sorted(expected, key=str), got and sorted(got, key=str))
    return ''


for folder in sorted(os.listdir(os.path.join(TESTS, 'golden', 'graph'))):
    if os.path.exists(os.path.join(TESTS, 'golden', 'graph', folder, 'lineage')):
        golden(folder)
for seed in range(1, rounds + 1):
    complaint = random_round(seed)
    if complaint or seed % 10 == 0:
        ok(not complaint, 'random histories to %d' % seed, 'seed %d: %s' % (seed, complaint))
print('1..%d' % count)
sys.exit(failed != 0)
