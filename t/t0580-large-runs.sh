#!/bin/sh
# t0580-large-runs.sh - show and stat of a large run: each program is looked at once, and little of it is kept in memory.
#
# Costs are counted in pages of memory that the process touched (minor faults) and in resident memory, not in time.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}" "${STEMMA_EVTEXT:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0580.XXXXXX")
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
exec python3 - "$dir" <<'END'
import json, os, random, re, subprocess, sys
from history import *
stemma, growth, evtext = (os.environ[name] for name in ('STEMMA', 'STEMMA_GROWTH', 'STEMMA_EVTEXT'))
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
    return subprocess.run([stemma, '--store', record, *question], stdout=subprocess.PIPE, env=environment).stdout.decode()

def cost(record, *question):
    """Pages touched and KiB resident."""
    with open(os.devnull, 'w') as null:
        child = subprocess.Popen([stemma, '--store', record, *question], stdout=null, stderr=null, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit('%s: status %d' % (' '.join(question), child.returncode))
    return usage.ru_minflt, usage.ru_maxrss

# Ten times the programs cost ten times as much, and the sums of stat are no larger than what show keeps.
SMALL, LARGE = 10000, 100000
costs = {}
for programs in (SMALL, LARGE):
    record = '%s/run%d' % (folder, programs)
    subprocess.run([growth, record, 'run', str(6 * programs)], check=True)
    cost(record, 'index')
    for question in ('show', 'stat', 'log'):
        costs[question, programs] = cost(record, question, '@') if question != 'log' else cost(record, question)
for question in ('show', 'stat'):
    few, many = costs[question, SMALL], costs[question, LARGE]
    ok(many[0] <= 12 * few[0], '%s @: pages touched grow as the programs do' % question, '%d, then %d' % (few[0], many[0]))
more = {question: costs[question, LARGE][1] - costs['log', LARGE][1] for question in ('show', 'stat')}
ok(more['stat'] <= 2 * more['show'], 'stat @: its memory is not many times that of show', str(more))

# What is first does not depend on how many are asked for: by use, then by name, whatever is left out.
record = '%s/run%d' % (folder, SMALL)
full = json.loads(ask(record, 'stat', '--json', '@'))
ok(len(full['executions']) == len(full['files']) == SMALL, 'all executions and files are counted')
for few in (1, 2, 7, 100, SMALL - 1):
    part = json.loads(ask(record, 'stat', '--json', '-n', str(few), '@'))
    ok(all(part[what] == full[what][:few] for what in ('executions', 'files')), 'the first %d of stat are those of all' % few)
names = [' '.join(e['argv']) for e in full['executions'] if (e['reads'], e['writes']) == (3, 1)]
ok(names == sorted(names) and len(names) == SMALL - 3, 'equally used ones are in the order of names')

# Which executions have a line, in trees at random, by the rules said once more (doc/graph.md, Folding).
PROGRAMS = {'tool': 'program', 'other': 'program', 'gcc': 'driver', 'make': 'launcher', 'env': 'wrapper', 'dash': 'shell', 'sh -c': 'command', 'shim': 'shim'}

class Execution:
    def __init__(self, process, n, parent, kind=None, argv=None):
        self.process, self.n, self.parent, self.kind, self.argv = process, n, parent, kind, argv

def listed(x):
    kind = PROGRAMS[x.kind]
    if kind in ('wrapper', 'command', 'shim'):
        return False
    up, steps = x.parent, 1
    while kind in ('program', 'driver') and up and steps < 64:
        above = PROGRAMS[up.kind] if up.n else 'program'
        if above == 'driver':
            return False
        if above != 'program':
            break
        up, steps = up.parent, steps + 1
    up, steps = x.parent, 0
    while up and steps < 64:
        if up.n:
            return PROGRAMS[up.kind] != 'shim' or up.process == x.process
        up, steps = up.parent, steps + 1
    return True

def tree(seed, deep):
    rng = random.Random(seed)
    run = '01' + 'ABCDEFGH'[seed] * 24
    h = History(run, argv=['tree'], start=1000000 * seed)
    now, execs = {}, []
    def execute(p, kind):
        argv = {'sh -c': ['sh', '-c', 'x%d' % len(execs)], 'shim': ['bash', 'x%d' % len(execs)]}.get(kind, [kind, 'x%d' % len(execs)])
        exe = {'sh -c': '/usr/bin/dash', 'shim': '/usr/bin/bash'}.get(kind, '/usr/bin/' + kind)
        h.exec(p, argv, exe=exe, script='/home/ann/.pyenv/shims/python' if kind == 'shim' else None)
        x = Execution(p, now[p].n + 1, now[p], kind, argv)
        now[p] = x
        execs.append(x)
    for i in range(300):
        parent = 0 if not now else (i if deep else rng.choice(list(now)))
        p = h.process(parent)
        now[p] = Execution(p, 0, now.get(parent))
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2))):
            execute(p, rng.choice(list(PROGRAMS)) if not deep or rng.random() < 0.02 else 'tool')
    for p in now:
        h.exit(p)
    h.end()
    h.save('%s/tree%d' % (folder, seed), evtext)
    return execs

for seed in range(6):
    execs = tree(seed, seed >= 4)
    shown = ask('%s/tree%d' % (folder, seed), 'show', '@').splitlines()
    lines = [line.split(None, 1)[1] for line in shown if re.match(r'  x[0-9a-f]{9}  ', line)]
    more = sum(int(line.split()[1]) for line in shown if re.match(r'  and \d+ more', line))
    folded = sum(int(line.split()[1]) for line in shown if re.match(r'  \+ \d+ folded', line))
    expected = [' '.join(x.argv) for x in execs if listed(x)]
    ok(len(lines) + more == len(expected) and folded == len(execs) - len(expected) and lines == expected[:len(lines)] and len(expected) > 40,
       'a tree of programs: those have a line that count to nobody else (%d of %d)' % (len(expected), len(execs)),
       '%d + %d, %d folded: %s' % (len(lines), more, folded, [x for x in zip(lines, expected) if x[0] != x[1]][:1]))

# Commands that leave the run: each once, however many.
h = History('01' + 'Z' * 24, argv=['spread'], start=9000000)
for i in range(2000):
    p = h.process()
    h.exec(p, ['ssh', 'host%d' % (i % 1000), 'work'], exe='/usr/bin/ssh')
    h.exit(p)
h.end()
h.save(folder + '/spread', evtext)
shown = ask(folder + '/spread', 'show', '@')
ok(shown.count('is not recorded; to record it: ssh host') == 5 and '\n             and 995 more\n' in shown, 'commands that left the run are told each once', shown[:2000])
sys.stdout.write('1..%d\n' % count)
sys.exit(failed > 0)
END
