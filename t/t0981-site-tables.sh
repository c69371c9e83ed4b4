#!/bin/sh
# stemma site programs|libraries|compilers|built|files URL: what is used, by how many users, as the database's views count it for the role that asks.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

cmd 2 site programs && cmd 2 site nothing postgresql:///x && cmd 2 site programs /tmp && cmd 2 site programs postgresql:///x more
check 'what is asked for'
cmd 2 site programs postgresql:///x --replace && cmd 2 site load postgresql:///x --path /w && cmd 2 site programs postgresql:///x --unread-since 1d && says "$err" "'files' only" &&
	cmd 2 site files postgresql:///x --unread-since soon && cmd 2 site compilers postgresql:///x --path /w
check 'options that make no sense there'
if ! postgres_start; then
	skip 'tables of a site' "$postgres_lacks"
	finish
	exit
fi
createdb -T template0 -E SQL_ASCII --locale=C site
db=postgresql:///site
cmd 125 site programs "$db"
check 'a database in which nothing was loaded'
# Ann runs sort in January, Ben sort and a program in /opt, whose CPU time is not known; both load a library.
history <<'EOF'
def run(id, user, start, exe, own, end):
    h = History(id, argv=['./' + user], host='h1', user=user, start=start)
    p = h.process()
    h.exec(p, [exe.rpartition('/')[2], user], exe=exe)
    h.read(p, h.file('/usr/lib/libx.so.1', size=9))
    h.read(p, h.file('/w/shared', size=3))
    h.write(p, h.file(own, size=3))
    if end:
        h.exit(p)
    h.end()
    h.save(home, evtext)
run('01AAAAAAAAAAAAAAAAAAAAAAAA', 'ann', 0, '/usr/bin/sort', '/w/ann', True)
run('01BBBBBBBBBBBBBBBBBBBBBBBB', 'ben', 10, '/usr/bin/sort', b'/w/b\x1b\xff', True)
run('01CCCCCCCCCCCCCCCCCCCCCCCC', 'ben', 20, '/opt/x/prog', '/w/x/ben', False)
EOF
cmd 0 site load "$db" && cmd 0 site programs "$db" && [ "$(sed 's/  */ /g' "$out")" = 'PROGRAM MONTH USERS RUNS EXECUTIONS CORE HOURS CPU UNKNOWN
/usr/bin/sort 2026-01 2 2 2 0.00 0
/opt/x/prog 2026-01 1 1 1 - 1' ]
check 'programs: those that used most first; what is not known is not 0'
cmd 0 site programs "$db" --json && [ "$(jq -c '[.format, .table, (.rows[] | [.program, .month, .users, .runs, .executions, .of_unknown_cpu, (.core_hours | type)])]' "$out")" = '[1,"programs",["/usr/bin/sort","2026-01",2,2,2,0,"number"],["/opt/x/prog","2026-01",1,1,1,1,"null"]]' ]
check 'the same as JSON'
cmd 0 site libraries "$db" --json && [ "$(jq -c '[.rows[] | select(.library == "/usr/lib/libx.so.1") | [.users, .runs]]' "$out")" = '[[2,3]]' ]
check 'libraries'
cmd 0 site programs "$db" --path /opt && lines "$out" 2 && says "$out" /opt/x/prog && cmd 0 site programs "$db" --path /opt/x/ && lines "$out" 2 && cmd 1 site programs "$db" --path /op && cmd 0 site programs "$db" --path / && lines "$out" 3 && cmd 0 site programs "$db" -n 1 && lines "$out" 2 &&
	cmd 1 site programs "$db" --path "' OR 1 = 1 --"
check 'a folder, and what lies in it; so many rows'
cmd 0 site files "$db" --path /w && says "$out" 'LAST READ SEEN' /w/ann && says_not "$out" "$(printf '\033')" && says "$err" 'does not prove' && head -n 2 "$out" | tail -n 1 | grep -q '  -  '
check 'files: those without a read first; names are shown harmless'
cmd 0 site files "$db" --path /w --json && [ "$(jq -c '[.rows[] | select(.path == "/w/shared") | [.last_read_seen[0:7], .last_write_seen]] | unique' "$out")" = '[["2026-01",null]]' ]
check 'times, or null'
cmd 0 run -q -- sh -c 'echo x >"$1"; cat "$1"' - "$T/work/fresh" && cmd 0 site load "$db" && cmd 1 site files "$db" --unread-since 1d --path "$T/work/fresh" && cmd 0 site files "$db" --path "$T/work/fresh" && says "$out" fresh && cmd 0 site files "$db" --path /w --unread-since 2026-01-02 && says "$out" /w/shared && cmd 0 site files "$db" --path /w --unread-since 2026-01-01T00:00:20Z --json && [ "$(jq '.rows | map(select(.path == "/w/shared")) | length' "$out")" = 1 ]
check 'files that were not read for so long'
psql -X -q -d site -c 'CREATE ROLE ben LOGIN' -c 'CREATE ROLE eve LOGIN' -c "INSERT INTO stemma_load.reader VALUES ('ben', 'ben')"
cmd 0 site programs postgresql://ben@/site && [ "$(sed -n '2,3s/  */ /gp' "$out" | sort)" = '/opt/x/prog 2026-01 1 1 1 - 1
/usr/bin/sort 2026-01 1 1 1 0.00 0' ] && cmd 1 site programs postgresql://eve@/site && says "$err" 'may see' && cmd 0 site programs postgresql://eve@/site --json && [ "$(jq -c .rows "$out")" = '[]' ]
check 'a role is told of its users only'
cmd 1 site compilers "$db" && cmd 1 site built "$db" && cmd 125 site programs postgresql://ben:x@/site && says_not "$err" ':x@'
check 'nothing was built; no password in the URL'
if command -v cc >/dev/null; then
	echo 'int main(void) { return 0; }' >a.c
	cmd 0 cc cc -o a a.c && cmd 0 run -q -- ./a && cmd 0 site load "$db" && cmd 0 site compilers "$db" --json && [ "$(jq '.rows | length > 0 and .[0].builds == 1' "$out")" = true ] && cmd 0 site built "$db" && says "$out" "$T/work/a"
	check 'compilers, and runs of what they made'
else
	skip 'compilers, and runs of what they made' 'no C compiler here'
fi
finish
