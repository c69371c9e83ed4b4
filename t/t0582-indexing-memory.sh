#!/bin/sh
# t0582-indexing-memory.sh - what indexing keeps in memory is that of a part, however large the record: the mapped pages of the index, too.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0582.XXXXXX")
trap 'rm -rf "$dir"' EXIT
exec python3 - "$dir" <<'END'
import os, subprocess, sys
stemma, growth = (os.environ[name] for name in ('STEMMA', 'STEMMA_GROWTH'))
folder = sys.argv[1]
environment = {'HOME': folder, 'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8'}

def indexed(runs):
    """KiB resident at most while so many runs are indexed at once, and the size of the index."""
    record = '%s/%d' % (folder, runs)
    for at in range(runs):
        subprocess.run([growth, record, 'run', '200000', str(at)], check=True)
    with open(os.devnull, 'w') as null:
        child = subprocess.Popen([stemma, '--store', record, 'index'], stdout=null, stderr=null, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit('index: status %d' % child.returncode)
    return usage.ru_maxrss, os.path.getsize(record + '/index.db') // 1024

few, many = indexed(8), indexed(16)
good = many[1] > 1.8 * few[1] and many[0] - few[0] < (many[1] - few[1]) / 2
print('%sok 1 - memory does not grow with the index' % ('' if good else 'not '))
if not good:
    print('# %d KiB for an index of %d, then %d for %d' % (few + many))
print('1..1')
sys.exit(not good)
END
