#!/bin/sh
# archive.sh BUILD [TASKS] - takes in made summaries and asks of them; prints a table. CPU time, median of 5.
set -eu

build=$1
tasks=${2:-100000}
here=$(cd "$(dirname "$0")/.." && pwd -P)
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/stemma-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
PATH=/usr/bin:$PATH python3 -B - "$build/src/cmd/stemma" "$dir" "$tasks" "$here/t" <<'END'
import os, random, resource, subprocess, sys
stemma, folder, n, tests = sys.argv[1:]
n = int(n)
sys.path.insert(0, tests)
from summaries import task, write

# Tasks as a scheduler sees them: needs that follow the input, long tails, one in a hundred killed.
r = random.Random(1)
made = os.path.join(folder, 'tasks.jsonl')
with open(made, 'w', encoding='utf-8') as out:
    for i in range(n):
        size = int(r.lognormvariate(18, .7))
        memory = max(int(5e7 + 1.8 * size + r.gauss(0, 5e6)), 10 ** 7)
        wall = round(max(.1, size / 3e7 + r.gauss(1, .2)), 6)
        killed = {'oom': True, 'signal': 9} if r.random() < .01 else {}
        host = {'name': 'n%d' % (i % 40), 'cpu': 'Made CPU', 'cores': '64', 'memory': str(256 << 30), 'load': '%.2f' % r.uniform(0, 64)}
        write([task(['/usr/bin/samtools', 'sort', '-@', '2', '-o', 'out%d.bam' % i, 'in%d.bam' % i], i * 60.0 + r.random(), wall,
                    cpu_time=round(wall * 1.7, 6), memory_resident_peak=(memory, memory - 5000, memory + 8192) if i % 3 else memory,
                    bytes_read=size, bytes_written=size // 2, cores=round(r.uniform(1.6, 1.9), 3), disk_footprint_peak=2 * size,
                    label={'input_bytes': str(size), 'sample': 's%d' % (i % 7)}, user='ann' if i % 4 else 'bob', host=host, **killed)], out)

def cpu(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([stemma, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={'HOME': folder, 'PATH': os.environ['PATH'], 'STEMMA_HOME': os.path.join(folder, 'home')})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

def middle(*command):
    return sorted(cpu(*command) for _ in range(5))[2]

def row(what, seconds, target):
    met = '' if target is None or n != 100000 else 'met' if seconds <= target else 'missed'
    print('| %s | %.2f s CPU | %s | %s |' % (what, seconds, '≤ %d s' % target if target else '', met))

print('Summaries of %d tasks.\n' % n)
print('| what | measured | target | |')
print('|---|---|---|---|')
row('taking them in (`archive --submit`)', cpu('archive', '--submit', made), None)
row('indexing them', cpu('index'), None)
row('statistics of wall time, CPU time and memory', middle('archive', 'wall_time', 'cpu_time', 'memory_resident_peak'), 1)
row('the same by user and label, of tasks of more than 2 s', middle('archive', 'wall_time', 'cpu_time', 'memory_resident_peak', '--by', 'user,label:sample', '--where', 'wall_time>2'), 1)
row('advice with back-test, five methods, three resources', middle('advise', '--input', '100M', 'samtools', 'sort', '-@', '2', '-o', 'out.bam', 'in.bam'), 3)
size = os.path.getsize(os.path.join(folder, 'home', 'index.db'))
print('| size of the index | %.1f MB | | |' % (size / 1e6))
END
