#!/bin/sh
# What moved how many bytes, by which calls, when: the table io, and what stat makes of it.
. "$(dirname "$0")/lib.sh"

# Two runs. In the first `copy` reads /w/in (three reads and two preads, 12,150 bytes; one call failed) and writes /w/out
# (two writes, 12,150 bytes); its figures are told twice, the last hold; `look` maps /w/in; a shell reads a library. In the second,
# which was not counted, `cat` reads /w/out.
cat >"$T/two.py" <<'END'
first = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./copy.sh'])
a = first
p = a.process()
a.exec(p, ['copy', '/w/in', '/w/out'], exe='/usr/bin/copy')
t = a.now
r = a.read(p, a.file('/w/in', size=12150), bytes_read=12150)
w = a.write(p, a.file('/w/out'), size=12150, bytes_written=12150)
a.io(p, r, 1, 0, [50], first=t + 10**9, last=t + 10**9 + 1000, spent=500)
a.io(p, r, 1, 0, [50, 100, 2000], 1, t + 10**9, t + 2 * 10**9 + 500, 3000000)
a.io(p, r, 2, 0, [9900, 100], 0, t + 10**9 + 5000, t + 10**9 + 9000, 1000000)
a.io(p, w, 1, 1, [12000, 150], 0, t + 3 * 10**9, t + 4 * 10**9, 250000000)
a.io(p, 9999, 1, 1, [7])
l = a.read(p, a.file('/usr/lib/libc.so.6', size=77), bytes_read=77)
a.io(p, l, 1, 0, [77], 0, t, t + 9, 9)
a.exit(p)
q = a.process(parent=p)
a.exec(q, ['look', '/w/in'], exe='/usr/bin/look')
m = a.read(q, a.file('/w/in'))
a.io(q, m, 10, 0, [12150], 0, a.now, a.now + 10, 10)
a.exit(q)
a.end()
b = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['cat', '/w/out'], start=100)
p = b.process()
b.exec(p, ['cat', '/w/out'], exe='/usr/bin/cat')
b.files['/w/out'] = 9
b.add('file', num=9, kind=REGULAR, domain=1, ino=[f for f in first.lines if f.get('path') == '/w/out'][0]['ino'], path='/w/out')
b.read(p, 9)
b.exit(p)
b.end()
END
both="exec(open('$T/two.py').read())"

# ---- the table
table="SELECT x.argv, i.session, i.seq, f.path, g.pub AS made, u.pub AS read_from, i.api, i.direction, i.calls, i.failed, i.bytes, i.largest, i.spent,
	i.first, i.last, size0, size1, size2, size3, size4, size5 + size6 + size7 + size8 + size9 AS more FROM io i JOIN execution x ON x.id = i.execution
	JOIN file f ON f.id = i.file LEFT JOIN version g ON g.id = i.generated LEFT JOIN version u ON u.id = i.used
	ORDER BY f.path, i.seq, i.api, i.direction"
history <<END
$both
a.save(home, evtext); b.save(home, evtext)
END
cmd 0 sql --csv "SELECT path, x.argv, api, direction, calls, failed, bytes, largest, spent, last - first, size0, size1, size2, size3, size4, generated IS NULL, used IS NULL
	FROM io i JOIN execution x ON x.id = i.execution JOIN file f ON f.id = i.file WHERE path LIKE '/w/%' ORDER BY path, x.argv, api"
tr -d '\r' <"$out" | sed 1d >"$T/rows"
cat >"$err" <<'END'
/w/in,copy /w/in /w/out,pread,read,2,0,10000,9900,1000000,4000,1,0,1,0,0,1,0
/w/in,copy /w/in /w/out,read,read,3,1,2150,2000,3000000,1000000500,2,0,1,0,0,1,0
/w/in,look /w/in,mmap,read,1,0,12150,12150,10,10,0,0,0,1,0,1,0
/w/out,copy /w/in /w/out,read,write,2,0,12150,12000,250000000,1000000000,0,1,0,1,0,0,1
END
cmp -s "$T/rows" "$err"
check 'the figures are there, the last of several; those of no access are not'
cmd 0 sql "SELECT count(*) AS n FROM io WHERE execution = (SELECT id FROM execution WHERE argv LIKE 'copy%')" && grep -qx 4 "$out" &&
	cmd 0 sql "SELECT count(*) AS n FROM io WHERE file = (SELECT id FROM file WHERE path = '/w/in')" && grep -qx 3 "$out" &&
	cmd 0 sql "SELECT bytes FROM edge WHERE type = 'wasGeneratedBy' AND bytes NOT NULL" && says "$out" 12150
check 'asked for one execution, for one file; the edge has its bytes'

cmd 0 sql --csv "$table" && cp "$out" "$T/want" && lines "$T/want" 6
check 'all of it'
cmd 0 index --rebuild && cmd 0 sql --csv "$table" && cmp "$T/want" "$out"
check 'made anew: the same'
rm -rf "$STEMMA_HOME"
history <<END
$both
b.save(home, evtext)
END
cmd 0 log && history <<END
$both
a.save(home, evtext, 'late')
END
cmd 0 sql --csv "$table" && cmp "$T/want" "$out"
check 'the second log first: the same'
rm -rf "$STEMMA_HOME"
history <<END
$both
half = [l for l in a.lines if l['k'] != 'io' or l['seq'] % 2]
a.lines, whole = half[:len(half) * 2 // 3], a.lines
a.save(home, evtext, 'a'); b.save(home, evtext, 'b')
END
cmd 0 log && cmd 0 sql 'SELECT count(*) AS n FROM io' && ! grep -qx 5 "$out" && history <<END
$both
a.save(home, evtext, 'a2')
END
cmd 0 sql --csv "$table" && cmp "$T/want" "$out"
check 'a part of the log first, then the whole: the same'
cmd 0 fsck
check 'fsck has nothing to say'
cmd 0 forget /w/in && cmd 0 sql --csv 'SELECT path FROM io i JOIN file f ON f.id = i.file ORDER BY path' && [ "$(tr -d '\r' <"$out" | tr '\n' ' ')" = 'path /usr/lib/libc.so.6 /w/out ' ] &&
	"$EVTEXT" dump "$STEMMA_HOME"/logs/*/*/*.stl | sort -u >"$T/events" && [ "$(grep -c '"k":"io"' "$T/events")" = 3 ]
check 'with a file its figures are forgotten'
cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cmd 0 sql 'SELECT count(*) AS n FROM io' && grep -qx 0 "$out" && ! grep -rq 'copy' "$STEMMA_HOME/logs"
check 'with the run its figures are forgotten'

finish
