#!/bin/sh
# trust.sh BUILD [SEALED] - what benchmarks under stemma cost: looking at the machine, digests, judging a claim of many
# runs, verifying a long chain; prints a table. CPU time; pairs and medians.
set -eu

build=$(cd "$1" && pwd -P)
sealed=${2:-1000000}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/stemma-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
PATH=/usr/bin:$PATH python3 -B - "$build/src/cmd/stemma" "$build/bench/bench-sessions" "$dir" "$sealed" <<'END'
import json, os, resource, subprocess, sys, time
stemma, sessions, folder, sealed = sys.argv[1:]
sealed = int(sealed)
home = os.path.join(folder, 'home')
env = {'HOME': folder, 'PATH': os.environ['PATH'], 'STEMMA_HOME': home}

def cpu(*command, cwd=folder, out=subprocess.DEVNULL, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=out, stderr=subprocess.DEVNULL, env={**env, **more}, cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

def middle(values):
    return sorted(values)[len(values) // 2]

def row(what, measured, target, met):
    print('| %s | %s | %s | %s |' % (what, measured, target, '' if met is None else 'met' if met else 'missed'))

print('| what | measured | target | |')
print('|---|---|---|---|')

# Looking at the machine: pairs of a run without and with.
with open(os.path.join(folder, 'in.txt'), 'w') as f:
    f.write('1\n')
def pair(option):
    subprocess.run([stemma, 'run', option, '--', 'true'], env=env, cwd=folder)
    return middle([cpu(stemma, 'run', option, '--', 'true') - cpu(stemma, 'run', '--', 'true') for _ in range(100)])
extra = pair('--machine')
row('`--machine` adds to a run', '%.1f ms' % (extra * 1e3), '≤ 10 ms, nothing during it', extra <= 0.010)

# Digests: a large file, beside the library's own program.
big = os.path.join(folder, 'big.bin')
with open(big, 'wb') as f:
    block = os.urandom(1 << 20)
    for _ in range(512):
        f.write(block)
def wall(*command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd=folder)
    return time.monotonic() - start
ratios = []
for i in range(5):
    os.utime(big, (i + 1, i + 1))
    plain = wall(stemma, 'run', '--', 'head', '-c', '1', big)
    mine = wall(stemma, 'run', '--digest', '--', 'head', '-c', '1', big) - plain
    ratios.append(wall('openssl', 'dgst', '-sha256', big) / mine)
ratio = middle(ratios)
row('digest of an input of 512 MiB, speed beside `openssl dgst`', '%.0f %%' % (ratio * 100), '≥ 95 %', ratio >= 0.95)
time.sleep(3) # what was changed a moment ago is not kept
wall(stemma, 'run', '--digest', '--', 'head', '-c', '1', big)
again = wall(stemma, 'run', '--digest', '--', 'head', '-c', '1', big) - plain
row('... once more: kept by its fingerprint', '%.0f ms' % (again * 1e3), '', None)
os.unlink(big)

# A claim of a thousand runs.
subprocess.run([stemma, 'bench', 'run', '-n', '1000', '--', 'sh', '-c', 'cat in.txt; echo "score: 5"'], check=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd=folder)
first = cpu(stemma, 'trust', 'bench:')
with open(os.path.join(folder, 'claim.json'), 'wb') as out:
    cpu(stemma, 'trust', 'bench:', '--report', out=out)
took = middle([cpu(stemma, 'trust', '--claim', 'claim.json') for _ in range(3)])
row('trust over 1,000 runs', '%.2f s' % took, '≤ 1 s', took <= 1)

# A long chain.
logs = os.path.join(folder, 'long', 'logs', 'host', '2026-01-01')
os.makedirs(logs)
subprocess.run([sessions, str(sealed), os.path.join(logs, '0.stl')], check=True)
long = os.path.join(folder, 'long')
seal = cpu(stemma, 'trust', '--seal', STEMMA_HOME=long)
verify = middle([cpu(stemma, 'trust', '--verify', STEMMA_HOME=long) for _ in range(3)])
size = os.path.getsize(os.path.join(logs, '0.stl')) / 1e6
row('sealing %d sessions of one run each, %.0f MB' % (sealed, size), '%.2f s' % seal, '', None)
row('verifying them', '%.2f s' % verify, '≤ 5 s for 1,000,000', verify <= 5 if sealed >= 1000000 else None)
END
