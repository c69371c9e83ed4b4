#!/bin/sh
# sql: rows in each shape, and that nothing can be changed by it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['a'])
p = h.process(); h.exec(p, ['a'], exe='/usr/bin/a'); h.write(p, h.file('/w/x'), size=1); h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 sql 'SELECT 1 AS one, NULL AS none, 2.5 AS half, '"'a,\"b' AS text" && is "$out" 'one  none  half  text
  1  -      2.5  a,"b'
check 'a table'
cmd 0 sql --csv 'SELECT 1 AS one, NULL AS none, '"'a,\"b' AS text" && [ "$(tr -d '\r' <"$out")" = 'one,none,text
1,,"a,""b"' ] && grep -q "$(printf '\r')" "$out"
check 'comma-separated values'
cmd 0 sql --json "SELECT 1 AS one, NULL AS none, x'ff41' AS bytes, 'a' AS text" && json '.format == 1 and .rows == [{"one":1,"none":null,"bytes":"\ufffdA","bytes_base64":"/0E=","text":"a"}]' &&
	cmd 0 sql --jsonl 'SELECT 1 AS a UNION SELECT 2' && lines "$out" 2 && jq -es 'map(.a) == [1,2]' "$out" >/dev/null
check 'JSON'
cmd 0 sql 'SELECT count(*) AS n FROM execution' && says "$out" '2' && cmd 0 sql 'SELECT count(*) FROM run' && cmd 0 sql 'SELECT count(*) FROM file' && cmd 0 sql 'SELECT count(*) FROM version'
check 'the tables'
cmd 0 sql 'SELECT 1 WHERE 0' && [ ! -s "$out" ] && cmd 0 sql 'SELECT 1; ' && cmd 0 sql "SELECT x'1b5b6d' AS e" && ! grep -q "$(printf '\033')" "$out"
check 'no rows; a semicolon; control characters'
refused=true
for bad in 'DELETE FROM run' 'INSERT INTO run(id) VALUES (9)' 'UPDATE run SET id = 1' 'DROP TABLE run' 'CREATE TABLE t(a)' 'CREATE TEMP TABLE t(a)' 'CREATE VIEW v AS SELECT 1' \
	"ATTACH '$T/other.db' AS o" 'DETACH main' 'PRAGMA journal_mode = delete' 'PRAGMA user_version = 7' 'PRAGMA writable_schema = 1' 'VACUUM' "VACUUM INTO '$T/copy.db'" 'REINDEX' 'ANALYZE' 'BEGIN' 'COMMIT' \
	"SELECT load_extension('x')" 'WITH t AS (SELECT 1) DELETE FROM run' 'EXPLAIN DELETE FROM run' 'SELECT 1; DELETE FROM run' 'SELECT 1; SELECT 2' 'SELEC 1' 'SELECT nosuch' 'SELECT * FROM nosuch' '' ' ' ';' '-- nothing'; do
	cmd 2 sql "$bad" && [ ! -s "$out" ] && [ -s "$err" ] || { refused=false; break; }
done
$refused
check "what is not a question is refused (the last was '$bad')"
[ ! -e "$T/other.db" ] && [ ! -e "$T/copy.db" ] && cmd 0 log && lines "$out" 2
check 'and nothing was changed'
cmd 2 sql --json --csv 'SELECT 1' && cmd 2 sql 'SELECT 1' 'SELECT 2'
check 'mistakes'

# the page of the format
page=$here/doc/format/store.md
sed -n 's/^VIEW(\(.*\))$/\1:/p; s/^COLUMN(\([a-z_0-9]*\), \([a-z_0-9]*\), .*/\1 \2/p' "$here/src/store/views/views.def" | awk '/:$/ { if (line) print line; line = $0; next } { line = line " " $2 } END { print line }' >"$T/tables"
sed -n '/^## Tables/,/^## Layout/s/^| `\(.*\)` | \(.*\) |$/\1: \2/p' "$page" | tr -d '*,' >"$out"
[ "$(wc -l <"$T/tables")" -gt 5 ] && diff "$T/tables" "$out" >"$err"
check 'the page tells the tables and their columns as they are'
ok=true
while read -r table columns; do
	for column in $columns; do
		cmd 0 sql "SELECT $column FROM ${table%:} LIMIT 1" || ok=false
	done
done <"$T/tables"
$ok
check 'and they can be asked for'
rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['a'], labels=['sample=B7', 'kind=a test'])
w = h.process(); h.exec(w, ['edit'], exe='/usr/bin/edit'); r = h.process(); h.exec(r, ['early', 'reader'], exe='/usr/bin/r')
h.write(w, h.file('/w/run.ini'), size=1); h.read(r, h.file('/w/run.ini')); h.exit(r)
h.write(w, h.file('/w/run.ini'), size=2); r = h.process(); h.exec(r, ['late', 'reader'], exe='/usr/bin/r')
h.read(r, h.file('/w/run.ini')); h.exit(r); h.exit(w); h.end(); h.save(home, evtext)
END
example=$(sed -n '/^    stemma sql "/,/"$/p' "$page") && eval "$(printf '%s\n' "$example" | sed 's/^ *stemma sql/cmd 0 sql --csv/')" && [ "$(tr -d '\r' <"$out")" = "argv
late reader" ]
check "the page's example"
cmd 0 sql --jsonl 'SELECT labels FROM run' && json '.labels == "sample=B7 kind=a test"' && cmd 0 sql --jsonl "SELECT value FROM attribute WHERE kind = 'run' AND source = 'label' AND name = 'kind'" && json '.value == "a test"'
check 'labels'
rm -rf "$STEMMA_HOME"
history <<'END2'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['b'])
p = h.process(); h.exec(p, ['b'], exe='/usr/bin/b')
part, whole, out = h.file('/w/part', size=9), h.file('/w/whole', size=9), h.file('/w/out')
h.read(p, part, bytes_read=5); h.read(p, part)
h.read(p, whole, bytes_read=5); h.read(p, whole, bytes_read=4)
h.write(p, out, size=7, bytes_written=7); h.write(p, out, size=9, mode=WRITE)
h.exit(p); h.end(); h.save(home, evtext)
END2
cmd 0 sql --csv "SELECT path, e.bytes FROM edge e JOIN version v ON v.id IN (e.from_id, e.to_id) JOIN file f ON f.id = v.file WHERE e.type IN ('used', 'wasGeneratedBy') AND path IN ('/w/part', '/w/whole', '/w/out') ORDER BY path" &&
	[ "$(sed 1d "$out" | tr -d '\r' | tr '\n' ' ')" = '/w/out, /w/part, /w/whole,9 ' ]
check 'the bytes of several accesses are known if those of each are'
rm -rf "$STEMMA_HOME"
history <<'END3'
h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['c'])
p = h.process(); h.exec(p, ['c'], exe='/usr/bin/c'); h.add('gap', p, reason=2, count=7, text='of a process')
h.add('gap', reason=2, count=9, text='of all'); h.exit(p); h.end(); h.save(home, evtext)
END3
cmd 0 sql --jsonl 'SELECT count, text FROM gap ORDER BY count' &&
	jq -es 'map([.count, .text]) == [[7, "of a process"], [9, "of all"]]' "$out" >/dev/null
check 'gaps of one process and of the whole session'
finish
