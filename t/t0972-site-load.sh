#!/bin/sh
# stemma site load: the record's tables in PostgreSQL are those of stemma sql, row for row, whatever was added, forgotten or made anew;
# a role reads what its users ran, and what that touched, and nothing else.
# An argument: how many histories (the slow suite's are more).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

if ! postgres_start; then
	skip 'in PostgreSQL' "$postgres_lacks"
	finish
	exit
fi
createdb -T template0 -E SQL_ASCII --locale=C site
db=postgresql:///site

cmd 2 site && cmd 2 site load && cmd 2 site load /tmp && cmd 2 site load "$db" more
check 'what is asked for'
cmd 1 site load "$db" && says "$err" 'no runs have been recorded'
check 'there has to be a record'

# Ann and Ben, each with a run: both read `shared`, each writes a file of their own. One path is no UTF-8, one has what COPY writes otherwise.
history <<'EOF'
def run(id, user, start, own):
    h = History(id, argv=['./' + user, 'a\tb\\c\n'], host='h1', user=user, start=start)
    p = h.process()
    h.exec(p, ['sort', user], exe='/usr/bin/sort')
    h.read(p, h.file('/w/shared', size=3))
    h.write(p, h.file(own), size=3)
    if user == 'ann':
        h.exit(p)
    h.end()
    h.save(home, evtext)
run('01AAAAAAAAAAAAAAAAAAAAAAAA', 'ann', 0, b'/w/ann\xff\t\\N\n')
run('01BBBBBBBBBBBBBBBBBBBBBBBB', 'ben', 10, '/w/ben')
EOF
cmd 0 site load "$db" && says "$out" 'rows, of which' && cmd 0 site load "$db" && says "$out" ' 0 were written'
check 'a record is loaded, and nothing is written twice'
[ "$(psql -X -A -t -d site -c 'SELECT count(*) FROM run')" = 2 ] && cmd 0 sql --csv 'SELECT count(*) FROM access' && [ "$(sed 1d "$out" | tr -d '\r')" = "$(psql -X -A -t -d site -c 'SELECT count(*) FROM access')" ]
check 'the tables are found under the names that they have'
[ "$(psql -X -A -t -d site -c "SELECT encode(convert_to(path, 'SQL_ASCII'), 'hex') FROM file WHERE path LIKE '%/ann%'")" = "$(printf '/w/ann\377\t\\N\n' | od -An -tx1 | tr -d ' \n')" ]
check 'a path is its bytes'
psql -X -A -t -d site -c "SELECT program, month, users, runs, executions, core_hours, of_unknown_cpu FROM program_use" >"$out" && is "$out" '/usr/bin/sort|2026-01|2|2|2|0.000001|1'
check 'programs, by month and users; what is unknown is not nothing'

# ---- who may read what ----

psql -X -q -d site -c "CREATE ROLE ann LOGIN" -c "CREATE ROLE ben LOGIN" -c "CREATE ROLE eve LOGIN" -c "CREATE ROLE chief LOGIN" -c "CREATE ROLE lab" \
	-c "CREATE ROLE cy LOGIN IN ROLE lab" -c "INSERT INTO stemma_load.reader VALUES ('ann', 'ann'), ('ben', 'ben'), ('chief', NULL), ('lab', 'ben'), ('gone', 'ann')"
PGDATABASE=site
export PGDATABASE
sees() # ROLE QUERY WHAT: it is all that the role's query says
{
	[ "$(postgres_as "$1" "$2" | paste -sd' ')" = "$3" ] || { echo "$1: $2: $(postgres_as "$1" "$2" | paste -sd' ')" >>"$err"; return 1; }
}
: >"$err"
sees ann 'SELECT r."user" FROM run r' ann && sees ben 'SELECT r."user" FROM run r' ben && sees eve 'SELECT count(*) FROM run' 0 && sees chief 'SELECT count(*) FROM run' 2 && sees cy 'SELECT r."user" FROM run r' ben
check 'runs: each their own, a group its own, an administrator all'
sees ben "SELECT path FROM file WHERE kind = 'regular' ORDER BY path" '/usr/bin/sort /w/ben /w/shared' && sees ann "SELECT count(*) FROM file WHERE path = '/w/ben'" 0 && sees eve 'SELECT count(*) FROM file' 0
check 'files: those that the own runs touched'
sees ann "SELECT count(*) FROM name WHERE path = '/w/ben'" 0 && sees ann "SELECT count(*) > 0 FROM name WHERE path = '/w/shared'" t
check 'so names'
for table in run execution file version access io edge input attribute name gap property result annotation mpi_rank mpi_io hdf5_object hdf5_part summary figure build \
	build_input build_output; do
	sees eve "SELECT count(*) FROM $table" 0 || { echo "$table" >>"$err"; failures=1; }
	[ "$(postgres_as chief "SELECT count(*) FROM $table")" = "$(psql -X -A -t -c "SELECT count(*) FROM $table")" ] || { echo "chief: $table" >>"$err"; failures=1; }
	both=$(psql -X -A -t -c "SELECT count(*) FROM $table") of_ann=$(postgres_as ann "SELECT count(*) FROM $table")
	[ "$of_ann" -le "$both" ] || failures=1
done
[ -z "${failures:-}" ]
check 'each table has its policy'
sees ann "SELECT count(*) FROM edge e JOIN execution x ON x.id = e.to_id WHERE e.type = 'wasGeneratedBy'" 1 && sees ann "SELECT count(*) FROM edge WHERE type = 'wasGeneratedBy'" 1 && sees chief "SELECT count(*) FROM edge WHERE type = 'wasGeneratedBy'" 2
check 'edges: of the own executions'
sees ann 'SELECT users, runs FROM program_use' '1	1' && sees eve 'SELECT count(*) FROM program_use' 0
check 'views of a centre count what the reader may see'
for sql in 'SELECT * FROM stemma_load.meta' 'SELECT * FROM stemma_load.piece' "INSERT INTO stemma_load.reader VALUES ('eve', NULL)" 'DELETE FROM run' 'CREATE TABLE stemma.x (a int)'; do
	postgres_as eve "$sql" >/dev/null && { echo "eve: $sql" >>"$err"; failures=1; }
done
sees ann 'SELECT role, sees FROM stemma_load.reader' 'ann	ann' && [ -z "${failures:-}" ]
check 'nobody changes a thing, nor sees what others may'

# ---- more, less ----

cmd 0 run -q -- cp /dev/null new && cmd 0 site load "$db" --json && [ "$(jq '.written_rows < .rows and .changed_pieces > 0' "$out")" = true ] && sees chief 'SELECT count(*) FROM run' 3
check 'what is new is written'
cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cmd 0 site load "$db" && sees ann 'SELECT count(*) FROM run' 0 && sees chief "SELECT count(*) FROM run WHERE argv LIKE './ann%'" 0 && sees ann 'SELECT count(*) FROM file' 0
check 'what was forgotten is gone'
home=$STEMMA_HOME
cmd 0 --store "$T/other" run -q -- true && cmd 125 --store "$T/other" site load "$db" && says "$err" 'the database has the record' && sees chief 'SELECT count(*) FROM run' 2 &&
	cmd 0 --store "$T/other" site load "$db" --replace && sees chief 'SELECT count(*) FROM run' 1 && cmd 0 site load "$db" --replace && sees chief 'SELECT count(*) FROM run' 2
check 'another record is not mixed with it'
STEMMA_HOME=$home
createdb -T template0 -E UTF8 --locale=C utf8 && cmd 125 site load postgresql:///utf8 && says "$err" 'SQL_ASCII' && ! psql -X -d utf8 -c 'SELECT * FROM stemma.run' >/dev/null 2>&1
check 'a database that cannot hold all paths is refused'
cmd 125 site load 'postgresql:///nothere' && says "$err" 'nothere'
check 'one that is not there, too'
psql -X -q -c 'CREATE ROLE loader LOGIN' -c 'CREATE DATABASE theirs TEMPLATE template0 ENCODING SQL_ASCII' && cmd 125 site load 'postgresql://loader@/theirs' && says "$err" 'permission denied'
check 'nor does stemma do what the role may not'

# A load that is killed leaves what was there.
rows=$(psql -X -A -t -c 'SELECT count(*) FROM access')
cmd 0 run -q -- sh -c 'i=0; while [ $i -lt 200 ]; do : >f.$i; i=$((i + 1)); done'
for ms in 0.05 0.1 0.2 0.3 0.4; do
	"$STEMMA" site load "$db" >/dev/null 2>&1 &
	load=$!
	sleep $ms
	kill -9 $load 2>/dev/null
	wait $load 2>/dev/null
	now=$(psql -X -A -t -c 'SELECT count(*) FROM access')
	cmd 0 sql --csv 'SELECT count(*) FROM access'
	whole=$(sed 1d "$out" | tr -d '\r')
	[ "$now" = "$rows" ] || [ "$now" = "$whole" ] || failures=1
done
cmd 0 site load "$db" && [ "$(psql -X -A -t -c 'SELECT count(*) FROM access')" = "$whole" ] && [ -z "${failures:-}" ]
check 'who asks while one loads sees one record or the other'

# ---- row for row ----

$PYTHON -B "$here/t/site_load.py" "$STEMMA" "$EVTEXT" "${1:-4}" >"$out" 2>"$err"
check 'random histories, forgotten runs, all events: row for row'
# What somebody who may make functions there has put into public is not called by the one who loads.
createdb -T template0 -E SQL_ASCII --locale=C shared && psql -X -q -d shared -c 'GRANT CREATE ON SCHEMA public TO eve' &&
	psql -X -q -U eve -d shared -c "CREATE FUNCTION public.format(text, name) RETURNS text LANGUAGE sql AS \$\$SELECT 'ALTER ROLE eve SUPERUSER'::text\$\$" \
		-c "CREATE FUNCTION public.to_timestamp(bigint) RETURNS timestamptz LANGUAGE plpgsql AS \$\$BEGIN RAISE 'called as %', current_user; END\$\$" 2>"$err" &&
	cmd 0 site load postgresql:///shared && [ "$(psql -X -A -t -d shared -c "SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'")" = f ] &&
	psql -X -A -t -d shared -c 'SELECT count(*) FROM stemma.program_use' >"$out" 2>"$err"
check "functions of others in the database are not called as the loader, nor bound into the views"

finish
