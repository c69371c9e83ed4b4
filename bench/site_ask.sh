#!/bin/sh
# site_ask.sh BUILD [LEVELS [SCALE]] - a chain of so many levels, within a generated record (bench/generate.c), asked in the folder and in a
# PostgreSQL server of its own, by turns: a process for each question, and questions to a record that is open (libstemma). In each pair the folder comes first; CPU time is
# that of who asks, without the server's.
BUILD=$1
export BUILD
set -- "${2:-1000}" "${3:-1}"
# shellcheck source=t/lib.sh
. "$(dirname "$0")/../t/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"
postgres_start || { echo "skipped: $postgres_lacks"; exit; }
createdb -T template0 -E SQL_ASCII --locale=C site
[ "$2" = 0 ] || { "$BUILD/bench/stemma-bench-generate" "$T/gen" 1 "$2" && mkdir "$STEMMA_HOME" && cp -r "$T/gen/main/logs" "$STEMMA_HOME"; } || exit
history <<EOF
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./chain'], host='h1', user='ann', start=0)
for i in range($1):
    p = h.process()
    h.exec(p, ['step', str(i)], exe='/usr/bin/step')
    h.read(p, h.file('/w/f%d' % i, size=3))
    h.write(p, h.file('/w/f%d' % (i + 1)), size=3)
    h.exit(p)
h.end()
h.save(home, evtext)
EOF
cmd 0 index && cmd 0 site load postgresql:///site --questions && cat "$out" && du -sh "$STEMMA_HOME"/index.db*
LD_LIBRARY_PATH=$BUILD/src/lib $PYTHON -B - "$here/bindings/python" "$STEMMA" "$STEMMA_HOME" postgresql:///site "$1" <<'END'
import resource, statistics, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import stemma.record
stemma_program, folder, url, levels = sys.argv[2:]
last, first = '/w/f' + levels, '/w/f0'

def cpu_of(_where):  # of who asks, without the server's
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(u.ru_utime + u.ru_stime for u in used)

def compare(what, ask, times):
    spent, cpu = {folder: [], url: []}, {folder: 0, url: 0}
    for i in range(times + 1):
        for where in spent:
            began, used = time.perf_counter(), cpu_of(where)
            ask(where)
            if i:
                spent[where].append(time.perf_counter() - began)
                cpu[where] += cpu_of(where) - used
    a, b = (min(v) * 1000 for v in spent.values())
    c, d = (statistics.median(v) * 1000 for v in spent.values())
    e, f = (v * 1000 / times for v in cpu.values())
    print('%-32s least: %6.2f ms, %6.2f: %.2f; median: %6.2f ms, %6.2f: %.2f; CPU: %6.2f ms, %6.2f: %.2f'
        % (what, a, b, b / a, c, d, d / c, e, f, f / e), flush=True)

def process(*words):
    def ask(where):
        subprocess.run([stemma_program, '--store', where, *words], check=True, stdout=subprocess.DEVNULL)
    return ask

deep = str(int(levels) + 10)
compare('why, a process', process('why', last), 31)
compare('lineage, a process', process('lineage', last, '--depth', deep), 31)
compare('lineage --down, a process', process('lineage', first, '--down', '--depth', deep), 31)
compare('log, a process', process('log'), 31)
record = {where: stemma.record.Record(where) for where in (folder, url)}
compare('why, an open record', lambda where: record[where].why(last), 101)
compare('lineage, an open record', lambda where: record[where].lineage(last, depth=int(deep)), 31)
compare('lineage --down, an open record', lambda where: record[where].lineage(first, down=True, depth=int(deep)), 31)
END
