#!/bin/sh
# A connect that failed is nothing; one that came about is a connection, also where its socket was closed at once. The
# servers here are not in the record.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# Arguments NAME:FAMILY:HOW, how by letters: l (somebody listens), r (... and resets what is connected), c (the client closes
# the socket at once), n (it does not wait), b (a byte comes). The server prints a line "NAME FAMILY HOW HOST PORT" or an abstract name each.
cat >serve.py <<'END_PY'
import os, select, socket, struct, sys
fam = {'inet': (socket.AF_INET, '127.0.0.1'), 'inet6': (socket.AF_INET6, '::1'), 'unix': (socket.AF_UNIX, '')}
listening = {}
with open('servers.new', 'w') as f:
    for word in sys.argv[2:]:
        name, family, how = word.split(':')
        s = socket.socket(fam[family][0])
        address = '\0%s-%s' % (sys.argv[1], name) if family == 'unix' else (fam[family][1], 0)
        s.bind(address)
        at = '@' + address[1:] if family == 'unix' else '%s %d' % s.getsockname()[:2]
        print(name, family, how or '-', at, file=f)
        if 'l' in how:
            s.listen(8)
            listening[s] = how
        else:
            s.close()
os.rename('servers.new', 'servers')
kept = []
while os.path.exists('servers'):
    for s in select.select(list(listening), [], [], 0.01)[0]:
        a = s.accept()[0]
        kept.append(a)
        if 'b' in listening[s]:
            a.send(b'x')
        if 'r' in listening[s]:
            a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            kept.pop().close()
END_PY
cat >try.py <<'END_PY'
import socket, sys, time
fam = {'inet': socket.AF_INET, 'inet6': socket.AF_INET6, 'unix': socket.AF_UNIX}
kept = []
for line in sys.stdin:
    name, family, how, *at = line.split()
    s = socket.socket(fam[family])
    s.setblocking('n' not in how)
    try:
        s.connect('\0' + at[0][1:] if family == 'unix' else (at[0], int(at[1])))
    except OSError:
        pass
    if 'b' in how:
        s.recv(1)
    if 'r' in how:
        time.sleep(0.05)
    if 'c' in how:
        s.close()
    else:
        kept.append(s)
with open('made', 'w') as f:
    f.write('x')
END_PY
# try OPTIONS NAME:FAMILY:HOW...: $names are the names of those that are in the lineage of what was made then
try()
{
	options=$1
	shift
	rm -f made servers
	$PYTHON -I serve.py "${T##*/}" "$@" &
	i=0
	while ! [ -e servers ] && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.02
	done
	cp servers tried && "$STEMMA" run -q $options -- $PYTHON -I try.py <tried >"$out" 2>"$err"
	rm servers
	wait
	names=?
	cmd 0 lineage --json --all made || return 1
	names=$($PYTHON - "$out" tried <<'END_PY'
import json, sys
with open(sys.argv[1]) as f:
    seen = {e.get('path') for e in json.load(f)['entities'] if e['kind'] == 'socket'}
with open(sys.argv[2]) as f:
    for line in f:
        name, family, how, *at = line.split()
        if ('unix:' + at[0] if family == 'unix' else 'inet:127.0.0.1:' + at[1]) in seen:
            print(name, end=' ')
END_PY
	)
	echo "seen: $names" >"$out"
}
refused='a:inet:c b:inet: c:inet6:c d:unix:c e:unix: f:inet:n g:inet:nc h:unix:n'
made='a:inet:l b:inet:lc c:inet:ln d:inet:lr e:inet6:lc f:unix:l g:unix:lc h:inet:lrc i:inet:lnc j:inet:lb'
both()
{ # OPTIONS [NAMES]
	try "$1" $refused && [ -z "$names" ]
	check "refused connects are nothing ${1:-(${STEMMA_TRANSPORT:-plain})}"
	try "$1" $made && [ "$names" = "${2:-a b c d e f g h i j }" ]
	check "and those that came about are there ${1:-(${STEMMA_TRANSPORT:-plain})}"
}
both ''
both --count
both --exact 'j ' # only there it is known that no byte came
if STEMMA_TRANSPORT=trace "$STEMMA" run -q -- true 2>"$err" && ! [ -s "$err" ]; then
	export STEMMA_TRANSPORT=trace
	both ''
	unset STEMMA_TRANSPORT
else
	skip 'traced as well' 'ptrace does not work here'
fi

# Whoever closes a socket that came about is not heard later for it: the other side sees the end, 200 times.
cat >end.py <<'END_PY'
import socket
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(4)
for i in range(200):
    c = socket.create_connection(s.getsockname())
    a = s.accept()[0]
    c.close()
    assert a.recv(1) == b''
    a.close()
END_PY
"$STEMMA" run -q -- timeout 60 $PYTHON -I end.py >"$out" 2>"$err" </dev/null
check 'the other side of a socket sees its end'

# Sixty jobs that look for displays are no ancestors of each other.
cat >probe.py <<'END_PY'
import socket, sys
for display in range(3):
    for family, address in (socket.AF_UNIX, '\0/tmp/.X11-unix/X%d' % (98700 + display)), (socket.AF_INET, ('127.0.0.1', int(sys.argv[2]))):
        with socket.socket(family) as s:
            try:
                s.connect(address)
            except OSError:
                pass
with open(sys.argv[1], 'w') as f:
    f.write(open('in' + sys.argv[1]).read())
END_PY
rm -f servers
$PYTHON -I serve.py "${T##*/}" a:inet: &
while ! [ -e servers ]; do sleep 0.02; done
port=$(cut -d' ' -f5 servers)
rm servers
wait
for i in 1 2 3; do echo $i >in$i; done
"$STEMMA" run -q -- sh -c "for i in 1 2 3; do $PYTHON -I probe.py \$i $port & done; wait" 2>"$err" && cmd 0 lineage --all 2 &&
	says "$out" in2@ && says_not "$out" in1@ in3@ && says_not "$out" 'socket 127' 'socket unix'
check 'who looks for a server in vain has nothing to do with others who do'
# A connection lasts, whatever else the client opens meanwhile: what it reads and sends last goes through.
cat >long.py <<'END_PY'
import os, socket
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(1)
if os.fork() == 0:
    c = socket.create_connection(s.getsockname())
    s.close()
    for i in range(3000):
        open('many/%d' % i).close()
    c.sendall(open('secret', 'rb').read())
    os._exit(0)
a = s.accept()[0]
with open('got', 'wb') as f:
    f.write(a.recv(100))
os.wait()
END_PY
mkdir many && (cd many && seq 0 2999 | xargs touch) && echo secret >secret
"$STEMMA" run -q -- $PYTHON -I long.py 2>"$err" && cmd 0 lineage --json got && json '[.entities[].path | select(. != null and endswith("/secret"))] | length == 1'
check 'a connection lasts while its client opens many files'
finish
