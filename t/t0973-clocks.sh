#!/bin/sh
# stemma collect --status --clocks: how far the clocks of two hosts can be apart, by files that one wrote and the other read; it holds where the
# clocks are so far apart that a reading seems to come before the writing.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# Host b's clock is 3600 s behind a's. a writes x; b reads it and writes y; a reads y.
history <<'EOF'
def host(name, start, session):
    h = History(name, argv=['./' + name], host=name[2].lower(), session=session, start=start)
    h.lines[1].update({'type': 'nfs4', 'network': 1})
    return h
def at(h, seconds):
    h.now = T0 + seconds * SECOND
def begin(h):
    p = h.process(); h.exec(p, ['sh']); return p
X, Y = dict(size=10, mtime=T0 + 77), dict(size=20, mtime=T0 + 99)
a, b = host('01AAAAAAAAAAAAAAAAAAAAAAAA', 0, 10), host('01BBBBBBBBBBBBBBBBBBBBBBBB', 0, 11)
c = host('01CCCCCCCCCCCCCCCCCCCCCCCC', 0, 12)
at(a, 5000); p = begin(a); fa = a.file('/s/x', ino=71); at(a, 6000)
a.write(p, fa, **X)
at(b, 1400); q = begin(b); fb = b.file('/s/x', ino=71); at(b, 2405)
b.file('/s/x', **X); b.read(q, fb)
gb = b.file('/s/y', ino=72); at(b, 2500)
b.write(q, gb, **Y)
ga = a.file('/s/y', ino=72); at(a, 6110)
a.file('/s/y', **Y); a.read(p, ga)
# c reads a file of the same size, of another time.
at(c, 9000); r = begin(c); fc = c.file('/s/x', ino=71, size=10, mtime=T0 + 78); c.read(r, fc)
for h, p in ((a, p), (b, q), (c, r)):
    h.exit(p); h.end(); h.save(home, evtext)
EOF
cmd 2 collect --clocks && cmd 2 collect --from "$T" --clocks
check '--clocks is a part of --status'
cmd 0 collect --status --clocks --json && jq -c '.clocks' "$out" >"$T/clocks"
# a's opening of x is at 6001 s of a, b's at 2407 s of b: b - a <= -3594. b's opening of y is at 2501 s of b, a's at 6112 s of a: b - a >= -3611.
[ "$(jq -r '.[] | "\(.host) \(.other) \(.low_ns / 1e9) \(.high_ns / 1e9) \(.files)"' "$T/clocks")" = 'a b -3611 -3594 2' ]
check 'two hosts, bounded from both sides; a file of another state says nothing'
cmd 0 collect --status --clocks && says "$out" 'AHEAD OF' && grep -qE '^b +a +-1:00:11 +-59:54 +2$' "$out"
check 'for people'
# b's clock is set: a reads later what b wrote under the old clock.
history <<'EOF'
b, a = History('01DDDDDDDDDDDDDDDDDDDDDDDD', host='b', session=13), History('01EEEEEEEEEEEEEEEEEEEEEEEE', host='a', session=14)
for h in (a, b):
    h.lines[1].update({'type': 'nfs4', 'network': 1})
b.now = T0 + 20000 * SECOND
p = b.process(); b.exec(p, ['sh']); b.write(p, b.file('/s/z', ino=73), size=30, mtime=T0 + 5)
a.now = T0 + 20010 * SECOND
q = a.process(); a.exec(q, ['sh']); a.read(q, a.file('/s/z', ino=73, size=30, mtime=T0 + 5))
for h, p in ((a, q), (b, p)):
    h.exit(p); h.end(); h.save(home, evtext)
EOF
cmd 0 collect --status --clocks && says "$err" 'a clock was set' && cmd 0 collect --status --clocks --json && [ "$(jq '.clocks[0] | .low_ns > .high_ns' "$out")" = true ]
check 'a clock that was set is told'
STEMMA_HOME=$T/alone
cmd 0 run -q -- cp /dev/null x && cmd 0 collect --status --clocks && says "$out" 'nothing is known of their clocks' && cmd 0 collect --status --clocks --json && [ "$(jq -c .clocks "$out")" = '[]' ]
check 'one host alone'
finish
