#!/bin/sh
# stemma site load: values that are longer than a row of a sorted index may be are loaded as any others, and who may read them does.
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

# Each long value is of its own kind: a user, a group, a host, an argument, a folder, a path, a label, an environment, a job. Hexadecimal
# digits at random: PostgreSQL cannot make them small.
history <<'EOF'
import random
r = random.Random(7)
def long(n=40000):
    return ''.join(r.choice('0123456789abcdef') for _ in range(n))
user = long()
with open(work + '.user', 'w') as f:
    f.write(user)
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['a', long()], host=long(), user=user, group=long(), cwd='/' + long(), labels=['x=' + long()])
p = h.process()
h.exec(p, ['sort', long()], exe='/usr/' + long(), env=['A=' + long()])
h.read(p, h.file('/w/' + long(), size=3))
h.write(p, h.file('/w/' + long()), size=3)
h.exit(p)
h.end()
h.save(home, evtext)
EOF
cmd 0 site load "$db" && [ "$(psql -X -A -t -d site -c 'SELECT count(*) FROM run')" = 1 ]
check 'a record with long values is loaded'
[ "$(psql -X -A -t -d site -c 'SELECT length("user") FROM run')" = 40000 ] && [ "$(psql -X -A -t -d site -c 'SELECT max(length(path)) FROM file')" -gt 40000 ]
check 'they are whole'
{
	echo "CREATE ROLE ann LOGIN; CREATE ROLE eve LOGIN;"
	echo "INSERT INTO stemma_load.reader VALUES ('ann', '$(cat "$T/work.user")'), ('eve', 'eve');"
} >"$T/roles.sql"
psql -X -q -d site -f "$T/roles.sql" >"$out" 2>"$err"
PGDATABASE=site
export PGDATABASE
[ "$(postgres_as ann 'SELECT count(*) FROM run')" = 1 ] && [ "$(postgres_as eve 'SELECT count(*) FROM run')" = 0 ] && [ "$(postgres_as ann "SELECT count(*) FROM edge WHERE type = 'wasGeneratedBy'")" = 1 ]
check 'the user with the long name reads its own, and nobody else does'
cmd 0 site load "$db" && says "$out" ' 0 were written' && cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cmd 0 site load "$db" && [ "$(psql -X -A -t -c 'SELECT count(*) FROM run')" = 0 ]
check 'nothing is written twice, and what is forgotten is gone'
finish
