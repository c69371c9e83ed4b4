#!/bin/sh
# Network bytes: what a client says it has received and sent over a network of its own, and what the other end of its cable has
# counted, against --summary: by calls (--exact), by the devices of a namespace, and by sockets that are looked at.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
if [ "$(id -u)" = 0 ]; then apart="unshare -n"; else apart="unshare -rn"; fi
if ! command -v ip >/dev/null || ! $apart sh -c 'ip link add v0 type veth peer name v1' 2>why; then
	skip_ "network bytes" "no network of its own can be made: $(head -1 why)"
	finish
fi

cat >server.py <<'END'
import socket, sys
s = socket.socket()
s.bind((sys.argv[1], 5000))
s.listen(9)
open(sys.argv[2], 'w').close()
while True:
    c, _ = s.accept()
    c.sendall(b'x' * int(c.recv(20)))
    while c.recv(65536):
        pass
    c.close()
END
cat >client.py <<'END'
import os, socket, sys, time
host, down, up, nap = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
c = socket.create_connection((host, 5000))
c.sendall(b'%-20d' % down)
got = 0
while got < down:
    got += len(c.recv(65536))
c.sendall(b'y' * up)
time.sleep(nap)
c.shutdown(socket.SHUT_WR)
c.recv(1)
c.close()
print('received', got)
print('sent', up + 20)
END
# In a network of our own; the server lives in another, at the other end of a cable, and on this side's loopback.
cat >inside.sh <<'END'
wait_for() { for i in $(seq 1200); do [ -s "$1" ] || [ -e "$1" ] && return; sleep .05; done; }
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
unshare -n sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; touch there; exec sleep 300' &
far=$!
wait_for there
ip link add v0 type veth peer name v1
ip link set v1 netns $far
ip addr add 10.9.0.1/24 dev v0
ip link set v0 up
nsenter -t $far -n sh -c 'ip link set lo up; ip addr add 10.9.0.2/24 dev v1; ip link set v1 up'
nsenter -t $far -n $PYTHON server.py 10.9.0.2 up1 &
one=$!
$PYTHON server.py 127.0.0.1 up2 &
two=$!
wait_for up1
wait_for up2
go() { name=$1; shift; "$STEMMA" run --summary $name.json $OPTIONS -- $PYTHON client.py "$@" >$name.truth 2>$name.err; }
OPTIONS=--exact
go exact 10.9.0.2 300000 100000 0
go exact-loopback 127.0.0.1 3000 1000 0
OPTIONS=
go sampled 10.9.0.2 3000000 1000000 .7
go loopback 127.0.0.1 3000000 1000000 .3
OPTIONS=--level=1
go level1 10.9.0.2 3000000 1000000 .7
OPTIONS='--limit received=2M --grace 100ms'
go limit 10.9.0.2 3000000 1000 30
echo $? >limit.status
# A namespace that the command makes: the cable is laid when it is there. Nothing but the client's bytes may pass once they are
# counted: no IPv6, which tells the world of itself seconds later, and no ARP, which asks again.
"$STEMMA" run --summary own.json -- unshare -n sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; echo $$ >own.pid; until [ -e go ]; do sleep .02; done
	'"$PYTHON"' client.py 10.8.0.1 300000 100000 0; touch came; until [ -e counted ]; do sleep .02; done' >own.out 2>own.err &
run=$!
wait_for own.pid
pid=$(cat own.pid)
ip link add w0 type veth peer name w1
ip link set w1 netns $pid
ip addr add 10.8.0.1/24 dev w0
ip link set w0 up
nsenter -t $pid -n sh -c 'ip link set lo up; ip addr add 10.8.0.2/24 dev w1; ip link set w1 up'
ip neigh replace 10.8.0.2 lladdr "$(nsenter -t $pid -n ip -o link show dev w1 | sed -n 's/.*link\/ether \([^ ]*\).*/\1/p')" dev w0 nud permanent
mac=$(ip -o link show dev w0 | sed -n 's/.*link\/ether \([^ ]*\).*/\1/p')
nsenter -t $pid -n ip neigh replace 10.8.0.1 lladdr "$mac" dev w1 nud permanent
$PYTHON server.py 10.8.0.1 up3 &
three=$!
wait_for up3
touch go
wait_for came
sleep .1
sed -n 's/^ *w0: *\([0-9]*\) *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *\([0-9]*\) .*/sent \1\nreceived \2/p' /proc/net/dev >own.truth
touch counted
wait $run
kill $far $one $two $three
END
PYTHON=$PYTHON STEMMA=$STEMMA STEMMA_HOME=$T/record timeout -k 5 280 $apart sh inside.sh >out 2>err

# holds NAME RUN CLAIM...
holds()
{
	name=$1
	what=$2
	shift 2
	$PYTHON -B "$here/t/figures.py" "$what.json" "$what.truth" "$@" >why 2>&1
	bad=$?
	cat "$what.err" err >>why 2>/dev/null
	result $bad "$name" why
}
holds "bytes over connections, by calls" exact "v('bytes_received') == T['received'] == 300000" \
	"v('bytes_sent') == T['sent']" "complete('bytes_received') and complete('bytes_sent')" "method('bytes_sent') == 'calls'"
holds "loopback is no network, by calls" exact-loopback "v('bytes_received') == 0 == v('bytes_sent')" \
	"complete('bytes_received')" "T['received'] == 3000"
for run in sampled level1; do
	holds "bytes over connections, when looked at ($run)" $run "v('bytes_received') <= T['received']" \
		"T['received'] - 4 <= low('bytes_received')" "T['sent'] - 4 <= low('bytes_sent')" "not complete('bytes_sent')" \
		"'$run' == 'level1' or T['received'] <= high('bytes_received') < T['received'] * 1.1"
done
# What is not seen is said with its bound; the devices may have carried a packet of their own.
holds "loopback is no network, when looked at" loopback \
	"(absent('bytes_received') and 'no more than' in D['bytes_received']['absent']) or v('bytes_received') == 0"
holds "bytes over the devices of a namespace of its own" own "low('bytes_received') <= T['received'] <= high('bytes_received')" \
	"v('bytes_received') == T['received'] > 300000" "v('bytes_sent') == T['sent'] > 100000" "complete('bytes_received')" \
	"'namespace' in method('bytes_received')"
[ "$(cat limit.status 2>&1)" = 124 ] && grep -q 'received reached' limit.err
result $? "a limit of what is received" limit.err
finish
