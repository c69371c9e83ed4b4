#!/bin/sh
# Several collectors, one record; several builders, one database: relays pass on what they collected, as their senders'; one builder writes
# at a time; one that was thought dead changes nothing; none takes over with less than the database has.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

events()
{
	find "$@" -name '*.stl' -exec "$EVTEXT" dump {} + 2>/dev/null | sort -u
}
node() # NAME USER: a record with one session of the host NAME
{
	# shellcheck disable=SC2034 # for history
	STEMMA_HOME=$T/$1
	history <<EOT
h = History('01${1}AAAAAAAAAAAAAAAAAAAA', argv=['./$2'], host='$1', user='$2', start=$3)
p = h.process()
h.exec(p, ['sort', '$2'], exe='/usr/bin/sort')
h.read(p, h.file('/w/shared', size=3))
h.write(p, h.file('/w/$1'), size=3)
h.exit(p)
h.end()
h.save(home, evtext)
EOT
}
node NNN1 ann 0
node NNN2 ben 10
ship() # RECORD FOLDER COLLECTOR OPTION...: until the collector has it; its words in $T/ship
{
	from=$1 spool=$2 to=$3
	shift 3
	timeout 60 "$STEMMA" --store "$T/$from" ship --to "$T/$spool" "$@" >"$T/ship" 2>&1 </dev/null &
	shipping=$!
	while kill -0 $shipping 2>/dev/null; do
		"$STEMMA" --store "$T/$to" collect --from "$T/$spool" >>"$T/collect" 2>&1 </dev/null
		sleep 0.1
	done
	wait $shipping
}

# ---- relays ----

mkdir "$T/s1" "$T/s2" "$T/b" "$T/b2"
ship NNN1 s1 east && ship NNN2 s2 west && cmd 0 --store "$T/east" collect --status && says "$out" "uid-$(id -u)"
check 'two collectors, each with a node'
ship east b builder --collected && ship west b builder --collected && events "$T/NNN1/logs" "$T/NNN2/logs" >"$T/want" && events "$T/builder/logs" >"$T/have" && [ -s "$T/want" ] && cmp "$T/want" "$T/have"
check 'a builder receives what both collected'
[ -d "$T/builder/logs/NNN1/collected-uid-$(id -u)" ] && cmd 0 --store "$T/builder" collect --status && says "$out" "uid-$(id -u)" && [ "$(find "$T/builder/logs" -maxdepth 2 -name 'collected-*' | wc -l)" = 2 ]
check 'kept as that of the first sender'
ship NNN1 s2 west && ship west b builder --collected && events "$T/builder/logs" >"$T/have" && cmp "$T/want" "$T/have" &&
	[ "$(find "$T/builder/logs/NNN1" -name '*.stl' -exec cat {} + | wc -c)" = "$(find "$T/NNN1/logs" -name '*.stl' -exec cat {} + | wc -c)" ]
check 'a node that changes its collector is not doubled'
ship east b builder && says "$T/ship" '0 frames sent'
check 'without --collected, what others recorded is not sent'
cmd 2 --store "$T/builder" collect --add-node r --relay --host x && cmd 2 --store "$T/builder" collect --relay --from "$T/b" && cmd 0 --store "$T/builder" collect --add-node r --relay && grep -q '^r \* \* ' "$T/builder/collect/nodes"
check 'a relay is no node of one host'

# A sender that is no relay cannot speak as another one.
printf 'stemma-relay 1 uid-0\n' >"$T/batch" && find "$T/NNN1/logs" -name '*.stl' -exec cat {} + >>"$T/batch"
cat >"$T/relayed.py" <<'EOT'
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
c.request('POST', '/v1/frames', open(sys.argv[2], 'rb').read(), {'Authorization': 'Bearer ' + open(sys.argv[3]).read().strip()})
print(c.getresponse().read().decode())
EOT
if [ -f "$BUILD/src/site/stemma-http.so" ]; then
	for who in relay plain; do
		if [ $who = relay ]; then how=--relay; else how='--host NNN1'; fi
		# shellcheck disable=SC2086 # words
		"$STEMMA" --store "$T/$who" collect --add-node $who $how >"$T/$who.token"
		"$STEMMA" --store "$T/$who" collect --listen 127.0.0.1:0 >"$T/$who.port" 2>"$T/$who.said" </dev/null &
		listening=$!
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			[ ! -s "$T/$who.port" ] || break
			sleep 0.2
		done
		$PYTHON "$T/relayed.py" "$(sed 's/.* //' "$T/$who.port")" "$T/batch" "$T/$who.token" >"$T/$who.answer" 2>>"$err"
		kill $listening && wait $listening
	done
	[ "$(jq .refused "$T/relay.answer")" = 0 ] && [ -d "$T/relay/logs/NNN1/collected-uid-0" ] && ! [ -d "$T/plain/logs/NNN1/collected-uid-0" ] && [ "$(jq '.refused > 0' "$T/plain.answer")" = true ]
	check 'only a relay speaks for other senders'
else
	skip 'only a relay speaks for other senders' 'built without HTTP'
fi

mkdir "$T/b3" "$T/s4"
"$STEMMA" --store "$T/later" ship --collected --to "$T/b3" --watch --interval 50ms >"$T/said" 2>&1 </dev/null &
relay=$!
sleep 0.3
kill -0 $relay && ship NNN1 s4 later && [ -d "$T/later/logs" ]
check 'a relay may be started before anything was received'
kill $relay && wait $relay
check 'and ends when it is told to'

# ---- builders ----

if ! postgres_start; then
	skip 'builders' "$postgres_lacks"
	finish
	exit
fi
createdb -T template0 -E SQL_ASCII --locale=C site
PGDATABASE=site
export PGDATABASE
db=postgresql:///site
ask()
{
	psql -X -q -A -t -c "$1" 2>>"$err"
}
until_is() # QUERY WHAT
{
	for _ in $(seq 150); do
		[ "$(ask "$1")" != "$2" ] || return 0
		sleep 0.2
	done
	echo "$1: $(ask "$1"), not $2" >>"$err"
	return 1
}
build() # RECORD: a builder, its process in $builder
{
	record=$1
	shift
	"$STEMMA" --store "$T/$record" site load --watch --interval 100ms --take-over 3s "$@" $db >>"$T/$record.out" 2>>"$T/$record.err" </dev/null &
	builder=$!
}
cmd 2 site load --interval 1s $db && cmd 2 site programs --watch $db && cmd 2 site load --watch --take-over no $db && says "$err" '--take-over needs'
check 'options that make no sense'
build builder --questions
first=$builder
until_is 'SELECT count(*) FROM stemma.run' 2 && [ "$(ask 'SELECT epoch FROM stemma_load.builder')" = 1 ]
check 'a builder loads'
rows='SELECT count(*), sum(events), bool_and(ended), bool_or(lacks) FROM stemma_load.session'
[ "$(ask "$rows")" = "2|$(wc -l <"$T/want")|t|f" ] || { ask "$rows" >>"$err"; false; }
check 'the database says how much of each session it has'
cmd 0 site hosts $db && says "$out" NNN1 && cmd 0 site hosts --json $db && [ "$(jq '.rows | map(.sessions) | add' "$out")" = 2 ] && [ "$(jq '[.rows[] | select(.last_recorded == null)] | length' "$out")" = 0 ]
check 'and of each host'
psql -X -q -c 'CREATE ROLE ann LOGIN' -c 'CREATE ROLE eve LOGIN' -c "INSERT INTO stemma_load.reader VALUES ('ann', 'ann')"
[ "$(postgres_as ann 'SELECT count(*) FROM host_state')" = 2 ] && [ "$(postgres_as eve 'SELECT count(*) FROM host_state')" = 0 ] && ! postgres_as ann 'SELECT * FROM stemma_load.session' >/dev/null && ! postgres_as ann "UPDATE stemma_load.builder SET epoch = 9" >/dev/null
check 'hosts are for those who may see something'
cmd 0 --store $db why /w/NNN1 && says "$err" 'the answer is of 2 hosts' && says "$out" '@NNN1'
check 'a question says of which hosts the answer is'

# The second has the same.
kill -STOP $first
cp -a "$T/builder" "$T/second" && rm -rf "$T/second/collect/lock"
kill -CONT $first
build second --questions
second=$builder
for _ in $(seq 50); do
	[ ! -s "$T/second.err" ] || break
	sleep 0.2
done
says "$T/second.err" 'writes to this database; waiting' && [ "$(ask 'SELECT epoch FROM stemma_load.builder')" = 1 ]
check 'a second one waits'
kill -9 $first
wait $first 2>/dev/null
until_is 'SELECT epoch FROM stemma_load.builder' 2 && until_is "SELECT value LIKE '%/second' FROM stemma_load.meta WHERE key = 'source'" t && [ "$(ask 'SELECT count(*) FROM stemma.run')" = 2 ]
check 'it takes over if the first is killed'

# One that stands still in the midst of a load is dead to others, and wakes up.
node NNN3 cy 20
STEMMA_HOME=$T/record
ship NNN3 s1 east && ship east b2 second --collected
until_is 'SELECT count(*) FROM stemma.run' 3
check 'what comes later is loaded'
cat >"$T/slow.sql" <<'EOT'
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
IF (SELECT epoch FROM stemma_load.builder) = 2 THEN PERFORM pg_catalog.pg_sleep(1000); END IF; RETURN NEW; END$$;
CREATE TRIGGER slow BEFORE INSERT ON stemma.version FOR EACH ROW EXECUTE FUNCTION slow();
EOT
node NNN4 dee 30
STEMMA_HOME=$T/record
psql -X -q -f "$T/slow.sql" && ship NNN4 s2 west && ship west b2 second --collected
until_is "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'" t
kill -STOP $second
build builder --questions
first=$builder
for _ in $(seq 100); do
	! grep -q 'has more of' "$T/builder.err" || break
	sleep 0.2
done
says "$T/builder.err" 'has more of 1 session than this record' && [ "$(ask 'SELECT epoch FROM stemma_load.builder')" = 2 ]
check 'none takes over that has less than the database'
ship east b builder --collected && ship west b builder --collected
until_is 'SELECT epoch FROM stemma_load.builder' 3
check 'once it has as much, it does'
until_is 'SELECT count(*) FROM stemma.run' 4
check 'and loads'
kill -CONT $second
for _ in $(seq 50); do
	[ "$(grep -c 'waiting' "$T/second.err")" -lt 2 ] || break
	sleep 0.2
done
[ "$(ask "SELECT value LIKE '%/builder' FROM stemma_load.meta WHERE key = 'source'")" = t ] && [ "$(ask 'SELECT epoch FROM stemma_load.builder')" = 3 ] && [ "$(ask 'SELECT count(*) FROM stemma.run')" = 4 ] && [ "$(grep -c 'waiting' "$T/second.err")" = 2 ]
check 'the one that stood still changes nothing'

kill $second && wait $second
check 'a builder ends when it is told to'

# An epoch of somebody else.
ask "UPDATE stemma_load.builder SET epoch = 10, holder = 'somebody', beat = now() + interval '1 day'" && node NNN5 eva 40
STEMMA_HOME=$T/record
ship NNN5 s1 east && ship east b builder --collected
for _ in $(seq 50); do
	! grep -q "'somebody' writes" "$T/builder.err" || break
	sleep 0.2
done
says "$T/builder.err" "'somebody' writes to this database" && [ "$(ask 'SELECT count(*) FROM stemma.run')" = 4 ] && [ "$(ask 'SELECT epoch FROM stemma_load.builder')" = 10 ]
check 'an epoch of another is respected'
kill $first && wait $first
cmd 125 --store "$T/second" site load $db && says "$err" 'the database has the record'
check 'nor does another record come in without a claim'

# Forgotten is forgotten: who has it still does not take over.
build builder
first=$builder
ask "UPDATE stemma_load.builder SET beat = '-infinity'"
until_is 'SELECT count(*) FROM stemma.run' 5 && cmd 0 --store "$T/builder" forget 01NNN2AAAAAAAAAAAAAAAAAAAA && until_is 'SELECT count(*) FROM stemma.run' 4 && until_is 'SELECT count(*) FROM stemma_load.forgotten' 1
check 'what is forgotten leaves the database'
kill $first && wait $first
build second
second=$builder
ship east b2 second --collected
for _ in $(seq 50); do
	! grep -q 'has more of' "$T/second.err" || break
	sleep 0.2
done
says "$T/second.err" 'has more of' && [ "$(ask "SELECT count(*) FROM stemma.run WHERE ulid LIKE '01NNN2%'")" = 0 ]
check 'and does not come back with another builder'
cmd 0 --store "$T/second" forget 01NNN2AAAAAAAAAAAAAAAAAAAA && until_is "SELECT value LIKE '%/second' FROM stemma_load.meta WHERE key = 'source'" t && [ "$(ask 'SELECT count(*) FROM stemma.run')" = 4 ]
check 'which takes over once it has forgotten it, too'
kill $second && wait $second
finish
