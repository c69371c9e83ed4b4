#!/bin/sh
# t0386-growth.sh - what is asked of a large record, and what indexing one more run into it costs, does not grow with the record.
#
# Costs are counted in pages of memory that the process touched (minor faults), not in time: what reads a whole run, or all that was
# ever said of a name, touches pages for it. Each is compared between two sizes, one eight times the other.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}" "${STEMMA_GRAPHDUMP:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0386.XXXXXX")
trap 'rm -rf "$dir"' EXIT
exec python3 - "$dir" <<'END'
import json, os, resource, shutil, subprocess, sys
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

def make(record, *arguments):
    subprocess.run([growth, record, *map(str, arguments)], check=True)

def faults(record, *arguments):
    """Minor faults of the command, and its status."""
    with open(os.devnull, 'w') as null:
        child = subprocess.Popen([stemma, '--store', record, *arguments], stdout=null, stderr=null, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_minflt, child.returncode

def resident(record, *arguments):
    with open(os.devnull, 'w') as null:
        child = subprocess.Popen([stemma, '--store', record, *arguments], stdout=null, stderr=null, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss, child.returncode

def compare(what, few, many, most=1.2, good=True):
    ok(good and many <= most * few + 32, '%s: pages touched do not grow' % what, '%d, then %d of eight times as much' % (few, many))

SMALL, LARGE = 12000, 96000

# Questions about one thing of one large run.
for size in (SMALL, LARGE):
    make('%s/run%d' % (folder, size), 'run', size)
    faults('%s/run%d' % (folder, size), 'index')
for question in (['why', '/w/0/0/out500'], ['show', '/w/0/0/out500'], ['find', 'path /w/0/0/out500'], ['log'], ['log', '--json'], ['log', '-n', '1']):
    got = [faults('%s/run%d' % (folder, size), *question) for size in (SMALL, LARGE)]
    compare(' '.join(question) + ' of a large run', got[0][0], got[1][0], good=got[0][1] == got[1][1] == 0)

# The JSON of a long lineage is written piece by piece, in the layout in which it always was; it takes no more memory than the tree.
got = subprocess.run([stemma, '--store', '%s/run%d' % (folder, SMALL), 'lineage', '--json', '--all', '/w/0/1/out1998'], stdout=subprocess.PIPE, env=environment)
text = got.stdout.decode()
answer = json.loads(text) if got.returncode == 0 else {}
ok(text == json.dumps(answer, indent=1, ensure_ascii=False) + '\n', 'JSON of a lineage: one layout')
nodes = {node['id'] for part in ('entities', 'executions', 'agents', 'activities') for node in answer[part]}
ok(len(answer['entities']) > 1900 and len(answer['executions']) > 1900 and all(e['from'] in nodes and e['to'] in nodes for e in answer['edges']) and
   answer['root'] == answer['entities'][0]['id'], 'each edge leads from node to node')
got = [resident('%s/run%d' % (folder, LARGE), 'lineage', *options, '/w/0/15/out15998') for options in ([], ['--json'])]
ok(got[0][1] == got[1][1] == 0 and got[1][0] < 1.5 * got[0][0], 'its memory is that of the tree', '%d KiB, then %d' % (got[0][0], got[1][0]))

# One more run that puts a file in the place of one that was replaced again and again, as .git/index is.
SMALL, LARGE = 500, 4000
indexed, asked = [], []
for size in (SMALL, LARGE):
    record = '%s/renames%d' % (folder, size)
    make(record, 'renames', size)
    faults(record, 'index')
    for more in range(1, 4):
        make(record, 'one', 1, more)
        indexed.append(faults(record, 'index'))
    asked.append(faults(record, 'why', '/w/.git/index'))
good = all(status == 0 for _, status in indexed + asked)
compare('indexing a run after renames onto one name', indexed[2][0], indexed[5][0], good=good)
compare('why of that name', asked[0][0], asked[1][0], good=good)

# Many writers of one version: each costs the same. Comparing them in pairs took 22 s for 3,000, so 20 minutes for these; 60 s of
# processor time are enough under any sanitizer.
WRITERS = 20000
make(folder + '/appends', 'appends', WRITERS)
faults(folder + '/appends', 'index')
def bounded(*question):
    return subprocess.run([stemma, '--store', folder + '/appends', *question], stdout=subprocess.PIPE, env=environment,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
got = bounded('why', '--json', '/w/appended')
answer = json.loads(got.stdout) if got.returncode == 0 else {}
answer = answer.get('answers', [answer])[0]
ok(answer.get('makers_direct') == WRITERS and len(answer['openers']) == 1, 'why of a file that %d programs appended to' % WRITERS, str(got.returncode))
ok(bounded('lineage', '/w/appended').returncode == 0, 'and its lineage')

# What one program started is found whole, where it is much: a shell and its 300 forks, two in three of which became a program.
for at in (1, 2):
    make(folder + '/pair', 'appends', 300, at)
got = subprocess.run([stemma, '--store', folder + '/pair', 'diff', '@~1', '@'], stdout=subprocess.PIPE, env=environment)
ok(b'\n502 executions paired' in got.stdout, 'diff pairs all that a shell started', got.stdout.decode()[-200:])

# The same graph, whatever is indexed together with what, and in whatever order logs come.
def dump(*arguments):
    return subprocess.run([graphdump, *arguments], check=True, stdout=subprocess.PIPE, env=environment).stdout

record = folder + '/same'
make(record, 'renames', 120, 10)
for at in (11, 12, 13, 5):
    make(record, 'one', 1, at)
make(record, 'renames', 60, 14)
make(record, 'run', 600, 15)
logs = ['%s/logs/h1/2026-01-01/%d.stl' % (record, at) for at in (5, 10, 11, 12, 13, 14, 15)]
expected = dump('--memory', *logs)
ok(len(expected) > 10000, 'a graph to compare with')
ok(dump(*logs) == expected, 'log by log, in order')
ok(dump(*logs[1:], logs[0]) == expected, 'one of them late')
ok(dump(*reversed(logs)) == expected, 'the other way round')
for events in (1, 40, 5000):
    part = '%s/parts%d' % (folder, events)
    shutil.copytree(record + '/logs', part + '/logs')
    ok(dump('--store', part, '--events', str(events)) == expected, 'in parts of %d events' % events)
    ok(faults(part, 'fsck')[1] == 0, 'and fsck finds nothing')
ok(faults(record, 'index')[1] == 0 and faults(record, 'fsck')[1] == 0, 'in one go')

# Killed between parts, and in them: the next goes on, and what is there in the end is the same.
part, again, seen = folder + '/killed', 0, set()
shutil.copytree(record + '/logs', part + '/logs')
while again < 40:
    child = subprocess.Popen([graphdump, '--store', part, '--events', '1'], stdout=subprocess.DEVNULL, env=environment)
    # So much later each time as it has written more.
    while child.poll() is None and os.path.exists(part + '/index.db') is False:
        pass
    try:
        child.wait(0.01 + 0.01 * again)
        break
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        again += 1
print('# killed %d times' % again)
ok(again > 0 and dump('--store', part, '--events', '1') == expected, 'killed and gone on')
ok(faults(part, 'fsck')[1] == 0, 'and fsck finds nothing')

# Many small runs: memory is that of a part.
got = []
for size in (20000, 60000):
    make('%s/runs%d' % (folder, size), 'runs', size)
    got.append(resident('%s/runs%d' % (folder, size), 'index'))
ok(got[0][1] == got[1][1] == 0 and got[1][0] < 1.9 * got[0][0], 'indexing many runs: memory does not grow', '%d KiB, then %d of three times as many' % (got[0][0], got[1][0]))
sys.stdout.write('1..%d\n' % count)
sys.exit(failed > 0)
END
