#!/bin/sh
# Sockets: a server that was not recorded is said to be so; one that was is passed through; other clients are no makers.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >server.py <<'END'
import socket, sys
unix = len(sys.argv) > 3
s = socket.socket(socket.AF_UNIX) if unix else socket.socket()
s.bind(sys.argv[3] if unix else ('127.0.0.1', 0))
s.listen(9)
with open('port.new', 'w') as f:
    f.write('' if unix else str(s.getsockname()[1]))
import os
os.rename('port.new', sys.argv[2])
for i in range(int(sys.argv[1])):
    c = s.accept()[0]
    c.sendall(open('data', 'rb').read())
    c.close()
END
cat >client.py <<'END'
import socket, sys
a = sys.argv[1]
if a.isdigit():
    c = socket.create_connection(('127.0.0.1', int(a)))
else:
    c = socket.socket(socket.AF_UNIX)
    c.connect(a)
with open(sys.argv[2], 'wb') as f:
    f.write(c.recv(100))
END
echo text >data
rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
wait_for()
{
	i=0
	while ! [ -e "$1" ] && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.05
	done
}

$PYTHON -I server.py 3 port &
wait_for port
port=$(cat port)
rec $PYTHON -I client.py "$port" one
cmd 0 why one && says "$out" "from client.py@{1}, socket 127.0.0.1:$port (not observed)? by" && says_not "$out" 'data@'
check 'a server that was not recorded is an input by its address'
cmd 0 lineage one && says "$out" "? socket 127.0.0.1:$port  (external: the other end was not observed)  via socket" && lines "$out" 7 && says_not "$out" '[1]'
check 'and the tree says so, once'
rec sh -c "$PYTHON -I client.py $port two && $PYTHON -I client.py $port /dev/stdout | sort >three"
wait
cmd 0 why two && says "$out" "made by python3 -I client.py $port two from client.py@{1}, socket 127.0.0.1:$port (not observed)? by" &&
	cmd 0 why three && says "$out" "made by python3 -I client.py $port /dev/stdout | sort in sh" && says "$out" "socket 127.0.0.1:$port (not observed)?" && says_not "$out" 'two'
check 'other clients are no makers; a pipe is passed through to the socket'
cmd 0 lineage three && [ "$(grep -c 'was not observed' "$out")" = 1 ] && says_not "$out" "client.py $port two" one@
check 'nor are they ancestors'
cmd 0 lineage --through-servers three && says "$out" "client.py $port two" "client.py $port one" 'derived from socket' &&
	cmd 0 lineage --through-servers --certain three && says_not "$out" "client.py $port two" &&
	cmd 0 lineage --through-servers one && says_not "$out" "client.py $port two" &&
	cmd 0 lineage --through-servers --down client.py@{1} && says "$out" three@
check 'but with --through-servers those that came before are, for the server may have passed on what they sent'
cmd 0 why --through-servers --json two && json '[.answers[0].helpers[].argv[-1]] | index("one") != null and index("three") == null'
check 'and to why they are helpers'
cmd 0 why --json two && json '[.answers[0].inputs[] | select(.kind == "socket") | .peer] == ["unobserved"]' &&
	cmd 0 lineage --json two && json '[.entities[] | select(.kind == "socket") | .peer] == ["unobserved"]' && cmd 0 lineage --format dot two && says "$out" 'the other end was not observed'
check 'JSON and dot'
cmd 0 lineage --down --all client.py && says_not "$out" 'external: the other'
check 'descendants do not come from there'

cat >both.sh <<'END'
"$1" -I server.py 1 "$2" $3 &
while ! [ -e "$2" ]; do sleep 0.05; done
"$1" -I client.py "${3:-$(cat "$2")}" "$4"
wait
END
rec sh both.sh $PYTHON port4 '' four
port=$(cat port4)
cmd 0 why four && says "$out" "made by python3 -I client.py $port four from data@{1}" && says "$out" 'data@{1}' && says_not "$out" 'not observed' &&
	cmd 0 lineage four && says "$out" 'data@{1}' && says_not "$out" 'not observed' && cmd 0 lineage --json four && json '[.entities[] | select(.kind == "socket") | .peer] == ["observed"]'
check 'a server that was recorded is passed through'
rec sh both.sh $PYTHON port5 ./sock five
cmd 0 why five && says "$out" 'data@{1}' && says_not "$out" 'not observed'
check 'also by a path'
$PYTHON -I server.py 1 port6 ./sock6 &
wait_for port6
rec $PYTHON -I client.py ./sock6 six
wait
COLUMNS=2000 cmd 0 why six && says "$out" "socket unix:$T/work/sock6 (not observed)?"
check 'a path whose server was not recorded'

# Data come first; of several sockets and segments of memory the number is told.
history <<'END'
h = History('01EEEEEEEEEEEEEEEEEEEEEEEE', argv=['./rank'], start=40000)
p = h.process(); h.exec(p, ['./rank'], exe='/w/rank', env=['PMI_RANK=0'])
for port in range(3):
    h.read(p, h.file('inet:10.0.0.1:%d' % (80 + port), SOCKET), via=VSOCKET, sure=0, api=6)
for n in range(4):
    h.read(p, h.file('/dev/shm/vader_segment.h1.%d' % n, size=9))
h.read(p, h.file('/tmp/ompi.h1.0/pid.7/contact.txt', size=9))
h.read(p, h.file('/dev/shm/mine.dat', size=9)); h.read(p, h.file('/w/b', size=9))
h.write(p, h.file('/w/result', size=5)); h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 why /w/result && says "$out" 'by rank from /w/b@{1}, /dev/shm/mine.dat@{1}, 5 segments of shared memory, 3 sockets (not observed)? by ann@h1'
check 'why: data first, then segments and sockets by their number'
cmd 0 why --json /w/result && json '[.answers[0].inputs[].kind] == ["regular","regular","regular","regular","regular","regular","regular","socket","socket","socket"] and [.answers[0].inputs[:2][].path] == ["/w/b", "/dev/shm/mine.dat"]'
check '... as JSON, each'
COLUMNS=100 cmd 0 why /w/result && says "$out" '/w/b@' && says_not "$out" segments && says "$out" ' more'
check '... where there is little room'
cmd 0 why --json /w/result && exec=$(jq -r '.answers[0].makers[0].id' "$out") && cmd 0 show "$exec" && sed -n '/^used/,/^made/p' "$out" | cut -d' ' -f1-6 | tr '\n' ';' >"$T/got" && grep -q '/dev/shm/mine.dat@.*/w/b@.*  5 segments of shared.*  3 sockets (--all).*' "$T/got" && cmd 0 show --all "$exec" && says "$out" vader_segment.h1.3 10.0.0.1:82
check 'show'
finish
