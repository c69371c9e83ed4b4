#!/bin/sh
# t0386-growth.sh - what is asked of a large record, and what indexing one more run into it costs, does not grow with the record.
#
# Costs are counted in pages of memory that the process touched (minor faults), not in time: what reads a whole run, or all that was
# ever said of a name, touches pages for it. Each is compared between two sizes, one eight times the other.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0386.XXXXXX")
trap 'rm -rf "$dir"' EXIT
exec python3 - "$dir" <<'END'
import os, subprocess, sys
stemma, growth = os.environ['STEMMA'], os.environ['STEMMA_GROWTH']
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
sys.stdout.write('1..%d\n' % count)
sys.exit(failed > 0)
END
