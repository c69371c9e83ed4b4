#!/bin/sh
# stemma collect: whoever has no token holds no connection for long, however slowly it sends, and nobody holds all of them.
# stemma ship: a token goes over no network without TLS.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! [ -f "$BUILD/src/site/stemma-http.so" ]; then
	echo '1..0 # SKIP stemma was built without HTTP'
	exit 0
fi
cmd 0 --store site collect --add-node n1 --user "$(id -u)" && cp "$out" token
"$STEMMA" --store site collect --listen 127.0.0.1:0 >port 2>said </dev/null &
server=$!
for _ in $(seq 600); do
	grep -q port port && break
	sleep 0.1
done
url=http://127.0.0.1:$(sed 's/.* //' port)
cat >slow.py <<'END'
import select, socket, sys, time
port, kind = int(sys.argv[1].rsplit(':', 1)[1]), sys.argv[2]
head = b'POST /v1/frames HTTP/1.1\r\nHost: x\r\n'

def connect(n):
    got = []
    for i in range(n):
        s = socket.create_connection(('127.0.0.1', port))
        s.send(head)
        got.append(s)
    return got

def ended(s):
    try:
        return bool(select.select([s], [], [], 0)[0]) and s.recv(4096) == b''
    except OSError:
        return True

if kind == 'address':  # some are closed at once: those beyond what one address may have
    s = connect(100)
    for turn in range(600):  # a busy machine's server takes its time
        left = [x for x in s if not ended(x)]
        if len(left) <= 64:
            break
        time.sleep(0.1)
    print(0 < len(left) <= 64)
elif kind == 'drip':  # a byte each second; none is left in the end
    s = connect(60)
    print('open', flush=True)
    for turn in range(120):
        for x in list(s):
            try:
                x.send(b'a')
            except OSError:
                pass
            if ended(x):
                s.remove(x)
        if not s:
            break
        time.sleep(1)
    print('left', len(s), 'after some turns' if turn > 3 else 'at once')  # a turn of 60 may take some seconds of the 30
elif kind == 'body':
    token = open('token').read().strip().encode()
    s = []
    for i in range(6):
        x = socket.create_connection(('127.0.0.1', port))
        x.send(head + b'Authorization: Bearer ' + token + b'\r\nContent-Length: 100000\r\n\r\nabc')
        s.append(x)
    for turn in range(600):
        if len(select.select(s, [], [], 0)[0]) >= 2:
            break
        time.sleep(0.1)
    time.sleep(1)  # and no third one
    said = [x.recv(4096).split(b'\r\n')[0] for x in s if select.select([x], [], [], 0)[0]]
    print(len(said), said and b'429' in said[0])
    for x in s:
        x.close()
END
cmd 0 run -q -- true
[ "$("$PYTHON" -B slow.py "$url" address 2>"$err")" = True ] && cmd 0 ship --to "$url" --token token && says "$out" sent
check 'one address does not hold all connections'
[ "$("$PYTHON" -B slow.py "$url" body 2>"$err")" = '2 True' ]
check 'one token has four requests at once'
"$PYTHON" -B slow.py "$url" drip >drip 2>"$err" &
drip=$!
for _ in $(seq 600); do grep -q open drip && break; sleep 0.1; done
cmd 0 run -q -- true && cmd 0 ship --to "$url" --token token && says "$out" sent
check 'while somebody sends a byte a second, others are heard'
wait $drip && says drip 'left 0 after some turns'
check 'without a token a connection ends, whatever comes'
# A token without TLS stays within this machine: no proxy gets it, and a URL that only begins with this machine's name does not.
cmd 0 run -q -- true && http_proxy=http://127.0.0.1:9 ALL_PROXY=http://127.0.0.1:9 cmd 0 ship --to "$url" --token token && says "$out" sent
check 'no proxy of the environment is asked'
cmd 0 run -q -- true
for there in "http://127.0.0.1:1@127.0.0.2:${url##*:}" "http://localhost:1@127.0.0.2:${url##*:}" "http://127.0.0.1:1\\@127.0.0.2:${url##*:}"; do
	cmd 1 ship --to "$there" --token token && says_not "$err" 'connect' || break
done
check 'a URL that begins with 127.0.0.1 and leads elsewhere gets no token'
kill $server
finish
