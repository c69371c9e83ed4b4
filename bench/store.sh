#!/bin/sh
# store.sh BUILD [SEED [SCALE]] - index the generated logs and ask of them; prints a table. SCALE 10 makes a tenth.
set -eu

build=$1
seed=${2:-1}
scale=${3:-1}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/stemma-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$build/bench/stemma-bench-generate" "$dir" "$seed" "$scale"
logs=$(du -ck "$dir"/main/logs/*/*/*.stl "$dir"/late/logs/*/*/*.stl | tail -n 1 | cut -f 1)
events=$(sed -n 's/^events=//p' "$dir/facts")
echo "Logs made with seed $seed: $events events, $((logs / 1024)) MiB, $((logs * 1024 / events)) bytes an event."
echo
"$build/bench/stemma-bench-store" "$dir"
echo
# Taking the same logs into a record that is empty: against indexing them.
PATH=/usr/bin:$PATH python3 - "$build/src/cmd/stemma" "$dir" <<'END'
import os, resource, shutil, subprocess, sys
stemma, folder = sys.argv[1:]
def cpu(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([stemma, '--store', *command], check=True, stdout=subprocess.DEVNULL, env={'HOME': folder, 'PATH': os.environ['PATH']})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
main, new = os.path.join(folder, 'main'), os.path.join(folder, 'imported')
ratios = []
for _ in range(3):
    shutil.rmtree(new, ignore_errors=True)
    index = cpu(main, 'index', '--rebuild')
    ratios.append((cpu(new, 'import', main) + cpu(new, 'index')) / index)
print('import and index, against index alone (CPU, median of 3): %.2f' % sorted(ratios)[1])
END
