#!/bin/sh
# site_load.sh BUILD [SEED [SCALE]] - loads the generated record (bench/generate.c) into a PostgreSQL server of its own, and beside it, in the
# same run, COPY alone writes the same rows into the same logged, indexed tables. Prints CPU time of client and server, and wall time.
BUILD=$1
export BUILD
set -- "${2:-1}" "${3:-10}"
# shellcheck source=t/lib.sh
. "$(dirname "$0")/../t/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"
postgres_start '-c max_wal_size=4GB -c maintenance_work_mem=256MB' || { echo "skipped: $postgres_lacks"; exit; }
"$BUILD/bench/stemma-bench-generate" "$T/gen" "$1" "$2"
record=$T/gen/main
"$STEMMA" --store "$record" index >/dev/null
createdb -T template0 -E SQL_ASCII --locale=C site
"$PYTHON" -B - "$STEMMA" "$record" "$sockets/data/postmaster.pid" "$T/rows" "$T/gen/late" <<'END'
import os, resource, subprocess, sys, time
stemma, record, pid, rows, late = sys.argv[1:]
pid = open(pid).readline().strip()
tick = os.sysconf('SC_CLK_TCK')
os.makedirs(rows)

def server():  # CPU of the server's processes that have ended
    f = open('/proc/%s/stat' % pid).read().rpartition(')')[2].split()
    return (int(f[13]) + int(f[14])) / tick

def measure(what, *command):
    wall, cpu, theirs = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN), server()
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    time.sleep(0.5)  # its backend has ended
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = now.ru_utime + now.ru_stime - cpu.ru_utime - cpu.ru_stime
    theirs = server() - theirs
    print('%-44s %8.2f s CPU (client %.2f, server %.2f), %.2f s' % (what, client + theirs, client, theirs, time.time() - wall - 0.5))
    return client + theirs, said

def psql(*sql):
    return ['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', 'site'] + [w for s in sql for w in ('-c', s)]

load = [stemma, '--store', record, 'site', 'load', 'postgresql:///site']
first, said = measure('site load, into an empty database', *load)
print(said.strip())
tables = subprocess.run(psql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'stemma' AND table_type = 'BASE TABLE'"),
    stdout=subprocess.PIPE, check=True).stdout.decode().split()
subprocess.run(psql(*[r"\copy stemma.%s TO '%s/%s'" % (t, rows, t) for t in tables]), check=True)
empty = psql('TRUNCATE ' + ', '.join('stemma.' + t for t in tables))
subprocess.run(empty, check=True)
bare, _ = measure('COPY alone, the same tables and indexes', *psql(*[r"\copy stemma.%s FROM '%s/%s'" % (t, rows, t) for t in tables]))
again, said = measure('site load, nothing has changed', *load)
subprocess.run('cp -r %s/logs %s' % (late, record), shell=True, check=True)
subprocess.run([stemma, '--store', record, 'index'], check=True, stdout=subprocess.DEVNULL)
more, said = measure('site load, a tenth more came', *load)
print(said.strip())
n = int(subprocess.run(psql('SELECT ' + ' + '.join('(SELECT count(*) FROM stemma.%s)' % t for t in tables)), stdout=subprocess.PIPE, check=True).stdout)
print('COPY alone / site load, CPU: %.2f (%d rows; %.0f rows a CPU second beside %.0f)' % (bare / first, n, n / first, n / bare))
END
