#!/bin/sh
# stemma --store postgresql://...: a record whose index is in PostgreSQL answers as the folder that it was loaded from, byte by byte, whatever was
# added, forgotten or made anew; to a role that may see all of it, and to no other; from one state; and what the database makes of it is checked.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

if ! postgres_start; then
	skip 'questions to PostgreSQL' "$postgres_lacks"
	finish
	exit
fi
createdb -T template0 -E SQL_ASCII --locale=C site
db=postgresql:///site
export PGDATABASE=site
sql() # SQL...: as the owner, unaligned
{
	psql -X -q -A -t -v ON_ERROR_STOP=1 -c "$1" 2>>"$err"
}

# Ann's chain of 2,500 steps, and a step of Ben's that used its middle; then real runs, with pipes, a rename and a new version.
history <<'EOF'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./chain'], host='h1', user='ann', start=0)
for i in range(2500):
    p = h.process()
    h.exec(p, ['step', str(i)], exe='/usr/bin/step')
    h.read(p, h.file('/w/f%d' % i, size=3))
    h.write(p, h.file('/w/f%d' % (i + 1)), size=3)
    h.exit(p)
h.end()
h.save(home, evtext)
h = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['./ben', 'a\tb\\c\n'], host='h2', user='ben', start=10000)
p = h.process()
h.exec(p, ['sort', 'ben'], exe='/usr/bin/sort')
h.read(p, h.file('/w/f1200', size=3))
h.write(p, h.file(b'/w/ben\xff\t\\N\n'), size=3)
h.end()
h.save(home, evtext)
EOF
cmd 0 run -q -- sh -c 'echo a >a; sort a | tr a b >b; mv b c; cp c d'
cmd 0 run -q -- sh -c 'echo x >>a; cp a d; echo hushhush >private'

questions() # the file $T/asked: a question a line
{
	cat <<-'EOF'
		why c
		why d --json
		why /w/f2500 c nothere
		lineage d
		lineage /w/f1000 --depth 1100
		lineage /w/f2500 --json --depth 60
		lineage /w/f1 --down --depth 3000
		lineage a --down --json
		lineage d --stages
		find used a
		find user ben
		find path /w --json
		log
		log --json
		log user ann
		show @
		show d --json
		show /w/f1200@{1}
		diff @~1 @
		diff d@{1} d@{2} --json
		stat @
		stat d --json
		report @ -o -
		table
		export -f prov-turtle @
		export -f prov-json d
		sql --csv SELECT count(*), count(DISTINCT path), sum(id) FROM file
		sql --csv SELECT e.type, count(*), sum(from_id), sum(to_id) FROM edge e GROUP BY 1
		sql --json SELECT path, n, pub FROM file f JOIN version v ON v.file = f.id WHERE f.path LIKE '/w/f1%' ORDER BY 1, 2
		sparql SELECT (count(*) AS ?n) WHERE { ?a prov:used ?b }
	EOF
}
questions >"$T/asked"
ask() # RECORD: the answers of all questions, with what was said and the status
{
	while read -r what rest; do
		case $what in
		sql | sparql)
			flags=
			[ "${rest#--}" = "$rest" ] || flags=${rest%% *} rest=${rest#* }
			"$STEMMA" --store "$1" "$what" ${flags:+"$flags"} "$rest" ;;
		*) "$STEMMA" --store "$1" "$what" $rest ;;
		esac </dev/null 2>&1
		echo "$what $rest: $?"
	done <"$T/asked" >"$T/raw"
	# The folder's name is the only thing that may differ, and that a database says of which hosts it is.
	sed -e "s|'$1'|RECORD|g" -e '/^stemma: the answer is of /d' -e '/^stemma: .*: more may follow$/d' "$T/raw"
}
same() # both answer the same, and the folder does answer
{
	ask "$STEMMA_HOME" >"$T/folder" && ask "$db" >"$T/database" && [ "$(grep -c ': 0$' "$T/folder")" -ge "${1:-28}" ] || return 1
	cmp "$T/folder" "$T/database" >>"$err" 2>&1 || { diff -a "$T/folder" "$T/database" | head -n 20 >>"$err"; return 1; }
}

cmd 1 --store "$db" why c && says "$err" 'has no index'
check 'a database in which nothing was loaded says so'
cmd 0 site load "$db" && cmd 1 --store "$db" why c && says "$err" 'has no index' 'site load --questions'
check 'the tables alone are not asked'
cmd 0 site load "$db" --questions --json && [ "$(jq '.changed_index_pages == .index_pages and .index_pages > 100' "$out")" = true ] && same
check 'every question has the same answer, byte by byte'
cmd 0 site load "$db" --json && [ "$(jq '.index_pages > 100 and .changed_index_pages == 0' "$out")" = true ] && same
check 'nothing is written twice'

cmd 0 run -q -- sh -c 'cat c d >e; cp e a'
cmd 1 --store "$db" why e && cmd 0 site load "$db" --json && [ "$(jq '.changed_index_pages > 0 and .changed_index_pages < .index_pages / 2' "$out")" = true ] &&
	cmd 0 --store "$db" why e && says "$out" 'cat c d' && same
check 'what is new is there after the next load, and only what changed is written'
[ "$(sql "SELECT count(*) > 0 FROM stemma_index.page WHERE position('hushhush'::bytea IN bytes) > 0")" = t ] && cmd 0 forget @~1 && cmd 0 site load "$db" && cmd 0 --store "$db" log && says_not "$out" private &&
	[ "$(sql "SELECT count(*) FROM stemma_index.page WHERE position('hushhush'::bytea IN bytes) > 0")" = 0 ] && same 20
check 'what was forgotten is in no page any more'
cmd 0 index --rebuild && cmd 0 site load "$db" && same 20
check 'made anew: the same'
STEMMA_ADJACENCY=all cmd 0 index --rebuild && cmd 0 site load "$db" && [ "$(sql "SELECT count(*) FROM stemma_index.file WHERE name LIKE 'edges/%'")" -ge 2 ] && same 20 && STEMMA_ADJACENCY=off && export STEMMA_ADJACENCY && same 20
check 'with the edges beside the index, and without'
unset STEMMA_ADJACENCY
cmd 0 index --rebuild && cmd 0 site load "$db" && [ "$(sql "SELECT count(*) FROM stemma_index.page WHERE file LIKE 'edges/%' AND file NOT IN (SELECT name FROM stemma_index.file)")" = 0 ]
check 'edges of an older index go'

# ---- who may ----

sql "CREATE ROLE ann LOGIN; CREATE ROLE eve LOGIN; CREATE ROLE chief LOGIN; INSERT INTO stemma_load.reader VALUES ('ann', 'ann'), ('chief', NULL)"
for role in ann eve; do
	cmd 1 --store "postgresql://$role@/site" why c && says "$err" 'may not read the whole record' || failures=1
	[ "$(postgres_as $role 'SELECT count(*) FROM stemma_index.page')" = 0 ] && [ "$(postgres_as $role 'SELECT count(*) FROM stemma_index.file')" = 0 ] || failures=1
done
[ -z "${failures:-}" ]
check 'a role that may see a part sees no page: the pages have the rows of all'
db=postgresql://chief@/site && same 20
check 'a role that may see all has the same answers'
db=postgresql:///site
! postgres_as chief 'SELECT sum FROM stemma_index.page' >/dev/null && ! postgres_as chief 'DELETE FROM stemma_index.page' >/dev/null && ! postgres_as chief "UPDATE stemma_index.file SET size = 0" >/dev/null
check 'it changes nothing, and sees no sums'
for url in postgresql://chief:secret@/site 'postgresql:///site?password=secret' 'postgresql:///site?sslpassword=secret'; do
	cmd 125 --store "$url" why c && says "$err" 'has a password' 'pgpass' && says_not "$err" secret && cmd 125 site load "$url" && says "$err" 'has a password' && says_not "$err" secret || failures=1
done
[ -z "${failures:-}" ]
check 'a password in the URL is refused, and not repeated'

# ---- what does not read ----

for command in 'run -- true' 'index' 'forget @' 'gc' 'note a b' 'import x' 'fsck' 'collect --status' "site load $db" 'secrets' 'rerun @' 'cc cc --version'; do
	# shellcheck disable=SC2086
	cmd 2 --store "$db" $command && says "$err" 'cannot be used with a record in a database' || failures=1
	STEMMA_HOME=$db cmd 2 $command || failures=1
done
STEMMA_HOME=$db cmd 0 why c && [ ! -e postgresql: ] && [ ! -e postgres: ] && [ -z "${failures:-}" ]
check 'commands that write want a folder, and make none of that name'
{ "$STEMMA" --store "$db" doctor >"$out" 2>"$err" || :; } && says "$out" "$db (a database: it can be queried, not written)" && { "$STEMMA" --store postgresql:///nothere doctor >"$out" 2>"$err"; [ $? != 0 ]; } && says "$out" 'postgresql:///nothere: ' &&
	{ "$STEMMA" --store postgresql://chief:secret@/site doctor >"$out" 2>"$err" || :; } && says "$out" 'has a password' && says_not "$out" secret && says_not "$err" secret
check 'doctor says whether the database can be asked'
cmd 125 --store postgresql:///nothere why c && says "$err" nothere && cmd 125 --store "postgresql:///site?host=$T" why c
check 'a database that is not there'

# ---- one state ----

cmd 0 sql --csv 'SELECT id, path FROM file ORDER BY id' && cp "$out" "$T/whole"
mkfifo "$T/slow"
"$STEMMA" --store "$db" sql --csv 'SELECT id, path FROM file' >"$T/slow" 2>"$T/slow.err" &
asking=$!
exec 3<"$T/slow"
head -c 1000 <&3 >"$T/got"
home=$STEMMA_HOME
cmd 0 --store "$T/other" run -q -- true && cmd 0 --store "$T/other" site load "$db" --replace && cmd 1 --store "$db" why c
check 'another record takes its place'
cat <&3 >>"$T/got"
exec 3<&-
wait $asking && cmp "$T/got" "$T/whole" >"$out" 2>&1
check 'who has begun to ask is answered from the state that was there'
STEMMA_HOME=$home cmd 0 site load "$db" --replace && same 20
check 'and back'

# ---- the library ----

cat >"$T/library.py" <<'EOF'
import json, subprocess, sys
sys.path.insert(0, sys.argv[1])
import stemma.record as record
url, home, stemma = sys.argv[2:]
there, here = record.Record(url), record.Record(home)
for name in ['c', 'd', '/w/f2500']:
    assert there.why(name) == here.why(name), name
    assert there.lineage(name) == here.lineage(name), name
assert there.find('user ben') == here.find('user ben') and there.show('@') == here.show('@') and there.runs() == here.runs()
def run(*words):
    subprocess.run([stemma, '--store', home] + list(words), check=True, stdout=subprocess.DEVNULL)
run('run', '-q', '--', 'cp', 'c', 'newer')
run('site', 'load', url)
here.update()
assert 'newer' in json.dumps(there.why('newer'), default=str), 'each question has the latest state'
assert there.why('newer') == here.why('newer')
idle = subprocess.run(['psql', '-X', '-A', '-t', '-c', "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
assert idle == '0', 'no transaction is open between questions: ' + idle
subprocess.run(['psql', '-X', '-q', '-c', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()'], stdout=subprocess.DEVNULL, check=True)
assert there.why('d') == here.why('d'), 'a connection that was lost is made again'
try:
    record.Record(url.replace('//', '//eve@'))
    raise AssertionError('eve may not')
except record.RecordError as e:
    assert 'may not read' in str(e), e
EOF
LD_LIBRARY_PATH=$BUILD/src/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} $PYTHON -B "$T/library.py" "$here/bindings/python" "$db" "$STEMMA_HOME" "$STEMMA" >"$out" 2>"$err"
check 'the library: the same answers, of the latest state, also after the connection was lost'

# ---- a database that lies ----

cmd 0 site load "$db" && ask "$STEMMA_HOME" >/dev/null
printf '%s\n' 'why c' 'lineage /w/f900 --depth 40' 'find user ben' 'sql --csv SELECT path FROM file WHERE id % 50 = 1' >"$T/asked"
ask "$STEMMA_HOME" >"$T/right"
lie() # SQL WHAT: after it each question has its right answer, or none and 125; and then all is put back
{
	sql "$1" >/dev/null || { echo "$2: $1" >>"$T/lies"; return; }
	ask "$db" >"$T/answers"
	$PYTHON -B - "$T/right" "$T/answers" "$2" >>"$T/lies" 2>&1 <<-'EOF'
		import re, sys
		def parts(name):
		    found, part = [], b''
		    for line in open(name, 'rb'):
		        m = re.search(rb': (\d+)$', line.rstrip())
		        if m and re.match(rb'(why|lineage|find|sql) ', line):
		            found.append((part, m.group(1)))
		            part = b''
		        else:
		            part += line
		    return found
		right, got = parts(sys.argv[1]), parts(sys.argv[2])
		if len(right) != 4 or len(got) != 4:
		    print(sys.argv[3], 'answers', len(got))
		for r, g in zip(right, got):
		    if g != r and g[1] not in (b'125',):
		        print(sys.argv[3], g[1], g[0][:300])
	EOF
	wrong=$((wrong + $(grep -c ': 125$' "$T/answers")))
	sql "DELETE FROM stemma_index.page; INSERT INTO stemma_index.page SELECT * FROM page_kept; DELETE FROM stemma_index.file; INSERT INTO stemma_index.file SELECT * FROM file_kept" || echo "$2: not put back" >>"$T/lies"
}
: >"$T/lies"
wrong=0
sql 'CREATE TABLE page_kept AS SELECT * FROM stemma_index.page; CREATE TABLE file_kept AS SELECT * FROM stemma_index.file'
pages=$(sql "SELECT count(*) FROM stemma_index.page WHERE file = 'index'")
n=0
while [ $n -lt "$pages" ]; do
	lie "UPDATE stemma_index.page SET bytes = set_byte(bytes, 5000, get_byte(bytes, 5000) # 1) WHERE file = 'index' AND n = $n" "a byte of page $n"
	n=$((n + pages / 8 + 1))
done
cat "$T/lies" >"$err" && [ ! -s "$T/lies" ] && [ $wrong -gt 3 ]
check 'a page that was changed is noticed'
wrong=0
lie "UPDATE stemma_index.page SET bytes = substring(bytes FOR 1000) WHERE file = 'index' AND n % 3 = 1" 'short pages'
lie "DELETE FROM stemma_index.page WHERE file = 'index' AND n > 5" 'no pages'
lie "UPDATE stemma_index.page SET bytes = bytes || bytes WHERE n = 2" 'a long page'
lie "UPDATE stemma_index.page p SET bytes = k.bytes FROM page_kept k WHERE k.file = p.file AND k.n = p.n + 1" 'pages at the place of others'
lie "UPDATE stemma_index.file SET size = size * 1000" 'a file that is longer'
lie "UPDATE stemma_index.file SET size = 16384 * 7" 'a file that is shorter'
lie "UPDATE stemma_index.file SET size = -5" 'no length'
lie "UPDATE stemma_index.file SET size = 9223372036854775807" 'the greatest length'
lie "UPDATE stemma_index.file SET name = repeat('x', 500) WHERE name = 'index'" 'a long name'
lie "INSERT INTO stemma_index.file SELECT 'f' || i, 5, '', true FROM generate_series(1, 140000) i" 'many files'
cat "$T/lies" >"$err" && [ ! -s "$T/lies" ] && [ $wrong -gt 20 ]
check 'so is all else that cannot be: no answer is wrong'
most() # ROWS: the most memory in KiB that a question takes where that many files are said to be there
{
	sql "INSERT INTO stemma_index.file SELECT 'f' || i, 5, '', true FROM generate_series(1, $1) i" >/dev/null || return 1
	$PYTHON -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, stderr=2); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$STEMMA" --store "$db" why c 2>"$err"
	sql "DELETE FROM stemma_index.file; INSERT INTO stemma_index.file SELECT * FROM file_kept"
}
few=$(most 140000) && many=$(most 1200000) && echo "# $few and $many KiB" && says "$err" 'makes no sense' && [ "$many" -lt $((few + 16384)) ]
check 'however many rows are there, no more are fetched than can be used'

# A server that goes silent: at the first page, or before the first word. silent.py passes on what is said until a word comes, then nothing.
cat >"$T/silent.py" <<'EOF'
import select, socket, sys
to, word = sys.argv[1], sys.argv[2].encode()
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
other, held = {}, []
while True:
    for c in select.select([s] + list(other), [], [])[0]:
        if c is s:
            c = s.accept()[0]
            held.append(c)
            if word:
                server = socket.socket(socket.AF_UNIX)
                server.connect(to)
                other[c], other[server] = server, c
            continue
        data = c.recv(65536)
        if not data or word in data:
            held += [c, other[c]]
            gone = other.pop(c)
            other.pop(gone)
            if not data:
                gone.close()
            continue
        other[c].sendall(data)
EOF
silent() # WORD QUESTION...: its status is the function's; stopped after a minute and a half
{
	$PYTHON "$T/silent.py" "$PGHOST/.s.PGSQL.$PGPORT" "$1" >"$T/port" 2>>"$T/silent.err" &
	silent=$!
	while [ ! -s "$T/port" ]; do
		sleep 0.1
	done
	port=$(cat "$T/port")
	shift
	PGSSLMODE=disable PGGSSENCMODE=disable timeout 90 "$STEMMA" --store "postgresql://127.0.0.1:$port/site" "$@" >"$out" 2>"$err"
	set -- $?
	kill $silent
	: >"$T/port"
	return "$1"
}
silent '' why c
[ $? = 125 ] && says "$err" "127.0.0.1" "$port"
check 'a server that says nothing is given up'
export STEMMA_DATABASE_TIMEOUT=2
for word in stemma_index.file stemma_index.page; do
	silent $word why c
	[ $? = 125 ] && says "$err" "127.0.0.1" "$port" 'did not answer within 2 s'
	check "so is one that goes silent when it is asked for $word"
done
silent no_such_word why c && says "$out" 'made by'
check 'and one that answers answers'
unset STEMMA_DATABASE_TIMEOUT
sql "UPDATE stemma_index.page SET bytes = set_byte(bytes, 5000, get_byte(bytes, 5000) # 1) WHERE file = 'index'" && cmd 125 --store "$db" why c && says "$err" 'site load --questions' && cmd 0 site load "$db" --questions && cmd 0 --store "$db" why c
check 'and what was damaged is written again'
sql 'DROP SCHEMA stemma_index CASCADE' && cmd 1 --store "$db" why c && says "$err" 'has no index' && cmd 0 site load "$db" && cmd 1 --store "$db" why c
check 'without its schema it is gone, and stays so'

finish
