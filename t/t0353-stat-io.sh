#!/bin/sh
# What moved how many bytes, by which calls, when: the table io, and what stat makes of it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

row()
{ # PATTERN: the output has such a line
	grep -q -e "$1" "$out" || { echo "no line: $1" >>"$err"; return 1; }
}

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
b.add('exit', p=p, ending=1, known=1 << 5 | 1 << 6, rchar=14000, wchar=12150)
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

# ---- stat
cmd 0 stat @~1 && sed -n '1,/^files/p' "$out" >"$T/got" && cat >"$err" <<'END'
@~1: 2 executions, 2 files

CALLS  FAILED     BYTES      MEAN   LARGEST    TIME  CALL
    3       1   2.1 KiB     716 B   2.0 KiB    3 ms  read
    2       0  11.9 KiB   5.9 KiB  11.7 KiB  250 ms  write
    2       0   9.8 KiB   4.9 KiB   9.7 KiB    1 ms  pread
    1       0  11.9 KiB  11.9 KiB  11.9 KiB   10 ns  mmap
    5       1  11.9 KiB   2.4 KiB   9.7 KiB    4 ms  all that read
    2       0  11.9 KiB   5.9 KiB  11.7 KiB  250 ms  all that wrote

executions
CALLS      READ  TIME  CALLS   WRITTEN    TIME
    5  11.9 KiB  4 ms      2  11.9 KiB  250 ms  copy /w/in /w/out
    0         ?     -      -         -       -  look /w/in

files
END
cmp -s "$T/got" "$err" && row '^ *5  >=11.9 KiB  4 ms      -         -       -  /w/in$' && says_not "$out" 'exact' && says_not "$out" 'libc'
check 'stat: a run that was counted; what was mapped is not known'
cmd 0 stat --json @~1 && json '.total.calls.read == {calls: 5, failed: 1, bytes: 12150, largest: 9900, spent_ns: "4000000",
	first: "2026-01-01T00:00:09.000000000Z", last: "2026-01-01T00:00:10.000000500Z", sizes: [3, 0, 2, 0, 0, 0, 0, 0, 0, 0]} and .total.calls_complete' &&
	json '.total.bytes_read == 12150 and .total.bytes_written == 12150 and (.total.bytes_complete | not) and .total.calls.mapped.bytes == 12150' &&
	json '[.calls[] | [.api, .direction, .calls, .bytes]] == [["read", "read", 3, 2150], ["read", "write", 2, 12150], ["pread", "read", 2, 10000], ["mmap", "read", 1, 12150]]' &&
	json '.executions | length == 2 and .[0].calls.written.sizes == [0, 1, 0, 1, 0, 0, 0, 0, 0, 0] and .[1].calls.read.calls == 0 and .[1].bytes_read == null and .[0].process.read == null' &&
	json '.files | length == 2 and (map(select(.path == "/w/out")) | .[0].calls.read == null and .[0].calls.written.largest == 12000)'
check 'stat --json'
cmd 0 stat --tsv --all @~1 && awk -F '\t' -v OFS=' ' 'NF != 23 { print "fields", NF } { print $2, $4, $5, $6, $7, $8, $9, $10, $11, ($13 - $12 >= 0), $14 + $15 + $16 + $17 }' "$out" >"$T/got" && cat >"$err" <<'END'
command path direction api calls failed bytes largest spent_ns 1 0
copy /w/in /w/out /usr/lib/libc.so.6 read read 1 0 77 77 9 1 1
copy /w/in /w/out /w/in read pread 2 0 10000 9900 1000000 1 2
copy /w/in /w/out /w/in read read 3 1 2150 2000 3000000 1 3
copy /w/in /w/out /w/out write read 2 0 12150 12000 250000000 1 2
look /w/in /w/in read mmap 1 0 12150 12150 10 1 1
END
[ "$(wc -l <"$T/got")" = 6 ] && sort "$T/got" >"$T/a" && sort "$err" | cmp -s - "$T/a"
check 'stat --tsv'
cmd 0 stat --tsv @ && awk -F '\t' -v OFS=' ' '{ print $2, $4, $5, $6, $7, $9, $11, $12, $23 }' "$out" >"$T/got" && printf '%s\n' 'command path direction api calls bytes spent_ns first size9' 'cat /w/out /w/out read ? ? ? ? ? ?' | cmp -s - "$T/got"
check 'stat --tsv: what is not known is a question mark'
cmd 0 stat --json --all @~1 && json '.total.calls_complete and .total.calls.read.calls == 6 and (.files[] | select(.path == "/usr/bin/copy") | .calls.read == null and .calls_complete)'
check 'stat --all: what an exec loads is no call'
cmd 0 stat --sizes --times @~1 && row '^  3   -    2     -   -   -    -     -   -     -  r /w/in$' && row '^  -   -    -     1   -   -    -     -   -     -  mmap$' &&
	row '^seconds since 2026-01-01T00:00:09Z$' && row '^  0.000000   1.000001     2.000000    3.000000  copy /w/in /w/out$' && row '^         -          -     2.000000    3.000000  /w/out$'
check 'stat --sizes, --times'
# Over time: copy reads from 1 to 2 s (5 calls, 12,150 bytes) and writes from 3 to 4 s (2 calls, 12,150 bytes): slices of 0.3 s.
cmd 0 stat --times --json @~1 && json '.over_time | length == 10 and (map(.read.calls) | add) == 5 and (map(.read.bytes) | add) == 12150 and (map(.written.calls) | add) == 2 and (map(.written.bytes) | add) == 12150 and (map(.written.spent_ns | tonumber) | add) == 250000000' &&
	json '.over_time | (.[:6] | map(.written.calls, .written.bytes) | add) == 0 and (.[4:] | map(.read.calls, .read.bytes) | add) == 0 and (.[7].written.bytes - .[8].written.bytes | . >= -1 and . <= 1)' && json '.over_time as $o | [range(9) | $o[.].to == $o[. + 1].from] | all'
check 'stat --times: how calls lie over time'
# shellcheck disable=SC2046 # two words
moment() { # API DIRECTION SHARE: so far between the first and the last of these calls
	cmd 0 sql --csv "SELECT CAST((first + (last - first) * $3) / 1000000000 AS INTEGER) || ' ' || CAST((first + (last - first) * $3) % 1000000000 AS INTEGER) FROM io WHERE api = '$1' AND direction = '$2' AND last - first > 900000000" && set -- $(tr -d '"\r' <"$out" | sed -n 2p) && at=$(date -u -d "@$1" +%Y-%m-%dT%H:%M:%S).$(printf '%09d' "$2")Z
}
moment read write 0.5 && cmd 0 stat --json --at "$at" @~1 && json '[.under_way[] | .api, .direction, .calls, .path] == ["read", "write", 2, "/w/out"]' && cmd 0 stat --at "$at" @~1 && row '^write *2  -0.50[0-9]*  +0.[0-9]*  *-  copy .* /w/out$'
check 'stat --at: what was under way'
moment read read 1.5 && cmd 1 stat --at "$at" @~1 && says "$out" 'no calls were in progress' && cmd 1 stat --json --at "$at" @~1 && json '.under_way == []' && cmd 2 stat --at 'never' @~1 && cmd 2 stat --at "$at" --tsv @~1
check '... and that nothing was'
cmd 0 stat @ && row '^    1       0  13.7 KiB  11.9 KiB  cat /w/out$' && row '^READS  WRITES  CALL$' && ! grep -q '[?]' "$out" && says "$out" 'IN, OUT: all bytes that the process' &&
	[ "$(tail -n 1 "$out")" = 'bytes and calls are unknown: stemma run --count counts most of them, --exact all' ] && [ "$(grep -c exact "$out")" = 1 ] &&
	cmd 0 stat --json @ && json '.total.calls.read == null and .total.bytes_read == null and (.total.calls_complete | not) and .calls == [] and .executions[0].process.read == 14000'
check 'stat: a run that was not counted: the totals of its processes, and a hint'
cmd 0 stat /w/out && row '^/w/out: 2 executions, 1 file$' && row '^    ?     ?     ?      2  11.9 KiB  250 ms  /w/out$' && row '^    ?     ?     ?      -         -       -  cat /w/out$' &&
	[ "$(tail -n 1 "$out")" = 'some calls are unknown: stemma run --exact counts all' ] && cmd 0 stat --json '/w/out@{1}' && json '.total.calls.written.calls == 2 and (.executions | length) == 2' &&
	cmd 0 stat /w/in && says "$out" '2 executions, 1 file' && says_not "$out" '/w/out$'
check 'stat: a file'
x=$("$STEMMA" sql --csv "SELECT pub FROM execution WHERE argv LIKE 'look%'" | tr -d '\r' | tail -n 1)
cmd 0 stat "$x" && row ': 1 execution, 1 file$' && row 'mmap$' && cmd 2 stat --json --tsv @ && cmd 0 stat -n 1 --json @~1 && json '(.files | length) == 1'
check 'stat: an execution; mistakes'
history <<'END'
h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['big'], start=10000)
p = h.process(); h.exec(p, ['big', 'x' * 100], exe='/usr/bin/big')
r = h.read(p, h.file('/w/' + 'y' * 100), bytes_read=1 << 62); big = 123456789012345678
h.add('io', p=p, access=r, api=8, calls=big, failed=big, bytes=1 << 62, largest=1 << 61, spent=big, first=h.now - 10**15, last=h.now, **{'size%d' % k: big for k in range(10)})
w = h.write(p, h.file('/w/out2'), bytes_written=(1 << 40) - 1)
h.add('io', p=p, access=w, api=8, write=1, calls=99999, bytes=(1 << 40) - 1, largest=1 << 39, spent=3599 * 10**9, first=h.now, last=h.now, **{'size%d' % k: 99999 for k in range(10)})
h.exit(p); h.end(); h.save(home, evtext, 'big')
END
cmd 0 stat --sizes --times @ && ! grep -q '^.\{81\}' "$out" && says "$out" '123P' && cmd 0 stat --bytes --sizes @ && says "$out" 123456789012345678
check 'large numbers fit into 80 columns, unless they are asked for'
cmd 0 export --format prov-json /w/out && json '[.wasGeneratedBy[] | .["stemma:bytes"]? | select(. != null)] | map(if type == "object" then .["$"] else . end | tonumber) | index(12150) != null'
check 'exports have the bytes of an edge'

# ---- one access of a file was counted, another was not (a library that saw part of the calls)
rm -rf "$STEMMA_HOME"
history <<'END'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['half', '/w/in'])
p = h.process()
h.exec(p, ['half', '/w/in'], exe='/usr/bin/half')
f = h.file('/w/in', size=624)
r = h.read(p, f)
h.io(p, r, 1, 0, [22, 624], 0, h.now, h.now + 9, 9)
h.exit(p); h.end(); h.save(home, evtext, 'half')
END
cmd 0 stat @ && row '>=646 B .* all that read' && row '>=2  *>=646 B .* half' && cmd 0 stat --json @ && json '.total.calls_complete == false' &&
	cmd 0 stat --tsv @ && [ "$(cut -f 4-9 "$out" | grep -c /w/in)" = 2 ] && cut -f 5-9 "$out" | grep -qx "$(printf 'read\t?\t?\t?\t?')"
check 'calls are not all known where the bytes of an access are not'

# ---- however the logs come
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
cmd 0 forget 01AAAAAAAAAAAAAAAAAAAAAAAA && cmd 0 sql 'SELECT count(*) AS n FROM io' && grep -qx 0 "$out" && ! holds copy "$STEMMA_HOME/logs"
check 'with the run its figures are forgotten'

# ---- one access of two versions, which each edge to them tells; and a reader beside it that was not counted
rm -rf "$STEMMA_HOME"
history <<'END'
c = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['./follow.sh'])
log = c.file('/w/log', size=4)
p = c.process()
c.exec(p, ['follow', '/w/log'], exe='/usr/bin/follow')
a = c.add('access', p=p, file=log, mode=c.with_state(log, READ), via=DATA, sure=1, api=1)
q = c.process()
c.exec(q, ['add', '/w/log'], exe='/usr/bin/add')
c.write(q, log, size=6, mode=WRITE, bytes_written=2)
c.exit(q)
c.end_access(p, a, bytes_read=6)
c.io(p, a, 1, 0, [4, 2])
c.exit(p)
r = c.process()
c.exec(r, ['other', '/w/log'], exe='/usr/bin/other')
c.read(r, log)
c.exit(r)
c.end()
c.save(home, evtext)
END
cmd 0 sql --csv "SELECT count(*) AS n FROM io" && cmd 0 stat --json @ && jq -e '.files | length == 1 and (.[0] | .edges > 3 and .bytes_read == 6 and .bytes_complete == false)' "$out" >"$err" &&
	jq -e '.total.bytes_read == 6 and ([.api[].bytes_read // 0] | add) == 6 and ([.executions[].bytes_read // 0] | add) == 6' "$out" >"$err"
check 'what was read of several versions moved once'

# ---- beside a program that could not be looked into
rm -rf "$STEMMA_HOME"
history <<'END'
d = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['./two.sh'])
f = d.file('/w/f', size=5)
p = d.process()
d.exec(p, ['seen', '/w/f'], exe='/usr/bin/seen')
d.io(p, d.read(p, f, bytes_read=5), 1, 0, [5])
d.exit(p)
q = d.process()
d.exec(q, ['static', '/w/f'], exe='/w/static')
d.add('gap', p=q, reason=18)
d.exit(q)
d.end()
d.save(home, evtext)
END
cmd 0 stat --json @ && jq -e '.unseen == ["without_library"] and (.total.bytes_complete or .files[0].bytes_complete | not) and .files[0].bytes_read == 5 and
	.executions[0].bytes_complete' "$out" >"$err" && cp "$out" "$T/json" && cmd 0 stat @ && row '>=5 B .*/w/f$' && row '^the record is incomplete: more may have been read'
check 'where a program could not be looked into the sums are lower bounds'
row '^ *>=1  *>=5 B .*/w/f$' && jq -e '.total.calls_complete or .files[0].calls_complete | not' <"$T/json" >"$err" &&
	cmd 0 stat /w/f && row '>=5 B .*/w/f$' && row '^the record is incomplete: more may have been read'
check '... which goes for a file of that run, too, and for calls'

# ---- nothing to count
history <<'END'
e = History('01EEEEEEEEEEEEEEEEEEEEEEEE', argv=['tree'], start=1000)
p = e.process()
e.exec(p, ['tree'], exe='/usr/bin/tree')
e.add('gap', reason=9)
e.exit(p)
e.end()
e.save(home, evtext, 'tree')
g = History('01GGGGGGGGGGGGGGGGGGGGGGGG', argv=['machine'], start=2000)
p = g.process()
g.exec(p, ['machine'], exe='/w/machine')
g.read(p, g.file('/usr/lib/libc.so.6', size=77), bytes_read=77)
g.exit(p)
g.end()
g.save(home, evtext, 'machine')
h = History('01HHHHHHHHHHHHHHHHHHHHHHHH', argv=['none'], start=3000)
p = h.process()
h.exec(p, ['none'], exe='/usr/bin/none')
h.exit(p)
h.end()
h.save(home, evtext, 'none')
i = History('01JJJJJJJJJJJJJJJJJJJJJJJJ', argv=['maps'], start=4000)
[l for l in i.lines if 'mode' in l][0]['mode'] = 'complete/exact'
p = i.process()
i.exec(p, ['maps'], exe='/usr/bin/maps')
r = i.read(p, i.file('/w/counted', size=77), bytes_read=77)
i.io(p, r, 1, 0, [77], 0, i.now, i.now + 9, 9)
i.read(p, i.file('/w/mapped'))
i.exit(p)
i.end()
i.save(home, evtext, 'exact')
END
cmd 0 stat 01EEEEEEEEEEEEEEEEEEEEEEEE && [ "$(cat "$out")" = '01EEEEEEEEEEEEEEEEEEEEEEEE: only processes were recorded, no files' ] &&
	cmd 0 stat --json 01EEEEEEEEEEEEEEEEEEEEEEEE && jq -e '.unseen == ["tree_only"] and .files == [] and .total.bytes_read == null and (.total.calls_complete | not)' "$out" >"$err"
check 'where only processes were recorded one line says so'
cmd 0 stat 01HHHHHHHHHHHHHHHHHHHHHHHH && [ "$(cat "$out")" = '01HHHHHHHHHHHHHHHHHHHHHHHH: only system files were used: --all counts them' ] && cmd 0 stat --all 01GGGGGGGGGGGGGGGGGGGGGGGG && row 'libc.so.6$'
check 'where only system files were used one line says so'
cmd 0 stat /w/machine && [ "$(tail -n 1 "$out")" = 'executed or loaded with a program: there are no calls to count' ]
check 'a file that was only run'
exactly='?: data may have moved through mapped memory; every call was counted'
cmd 0 stat 01JJJJJJJJJJJJJJJJJJJJJJJJ && [ "$(tail -n 1 "$out")" = "$exactly" ] && cmd 0 stat /w/mapped && [ "$(tail -n 1 "$out")" = "$exactly" ] &&
	cmd 0 stat /w/counted && says_not "$out" 'mapped memory'
check 'whoever did run --exact is not told to do so'

# ---- run --count --granularity=access: calls, bytes and moments; neither times nor sizes of calls, nor which failed
rm -rf "$STEMMA_HOME"
history <<'END'
k = History('01KKKKKKKKKKKKKKKKKKKKKKKK', argv=['count'])
p = k.process()
k.exec(p, ['count', '/w/f'], exe='/usr/bin/count')
r = k.read(p, k.file('/w/f', size=12), bytes_read=12)
k.add('io', p=p, access=r, api=1, calls=2, bytes=12, first=k.now, last=k.now + 10**9)
k.exit(p)
k.end()
k.save(home, evtext)
END
figures='.calls == 2 and .bytes == 12 and .first and .last and has("sizes") and ([.failed, .largest, .spent_ns, .sizes] | unique) == [null]'
cmd 0 stat @ && row '^ *2  *?  *12 B  *6 B  *?  *?  read$' && row '^ *2  *12 B  *?  .* /w/f$' && cmd 0 stat --json --times @ &&
	json "[.total.calls.read, .calls[0], .files[0].calls.read | $figures] | all" && json '[.over_time[].read.spent_ns] | unique == [null]' &&
	cmd 0 stat --tsv @ && awk -F '\t' -v OFS=' ' 'NR > 1 { print $7, $8, $9, $10, $11, ($13 > $12), $14, $23 }' "$out" >"$T/got" && echo '2 ? 12 ? ? 1 ? ?' | cmp -s - "$T/got"
check 'where --count knows when, what it does not know is not said to be zero'
cmd 0 stat --sizes --times @ && row '^  *?  *?  .*  ?  r count /w/f$' && row '^  *?  .*  ?  read$' && row '^[0-9.]*  *[01]  *[12] B  *?  *0  *0 B  *0 ns$'
check '... nor by size or over time'
moment read read 0.5 && cmd 0 stat --json --at "$at" @ && json '[.under_way[] | .calls, .bytes, .spent_ns] == [2, 12, null]'
check '... nor at a moment'

finish
