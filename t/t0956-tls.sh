#!/bin/sh
# ship and collect over a network that somebody else holds: a certificate of another name, of another authority, or that is over;
# an old version of TLS; a proxy. None of them gets the token or a frame.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! [ -f "$BUILD/src/site/stemma-http.so" ] || ! command -v openssl >/dev/null; then
	skip 'ship and collect by TLS' 'built without libcurl or libmicrohttpd, or no openssl'
	finish
	exit
fi
authority()
{ # NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.pem" -days 3 -subj "/CN=$1" 2>/dev/null
}
certificate()
{ # NAME AUTHORITY DAYS ALTERNATIVE-NAMES
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.csr" -subj /CN=x 2>/dev/null &&
		echo "subjectAltName=$4" >"$1.ext" &&
		openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}
serve()
{ # CERTIFICATE: url is where the collector listens
	"$STEMMA" --store "$T/site" collect --listen 127.0.0.1:0 --certificate "$1.pem" --key "$1.key" >"$T/port" 2>"$T/said" &
	server=$!
	for _ in $(seq 100); do
		grep -q port "$T/port" 2>/dev/null && break
		sleep 0.2
	done
	address=127.0.0.1:$(sed 's/.* //' "$T/port")
}
unserve()
{
	kill_child TERM $server
	wait $server 2>/dev/null
}
sends()
{ # STATUS
	cmd 0 run -q -- true && cmd "$1" ship --to "https://$address" --token token --ca ours.pem
}
here=127.0.0.1,DNS:localhost
authority ours && authority theirs && certificate good ours 2 "IP:$here" && certificate other ours 2 DNS:elsewhere.example &&
	certificate foreign theirs 2 "IP:$here" && certificate over ours -1 "IP:$here" && cmd 0 --store "$T/site" collect --add-node n1 --host "$(uname -n)" && cp "$out" token
check 'two authorities, four certificates'

serve good
sends 0 && says "$out" sent
check 'the right one'
for version in 1 1_1; do
	echo | openssl s_client "-tls$version" -cipher 'ALL:@SECLEVEL=0' -connect "$address" >"$T/tls" 2>&1
	grep -q 'Cipher is ECDHE' "$T/tls" && echo "TLS $version" >>"$T/old"
done
echo | openssl s_client -tls1_2 -connect "$address" >"$T/tls" 2>&1
grep -q 'Cipher is ECDHE' "$T/tls" && [ ! -e "$T/old" ]
check 'TLS 1.2 is spoken, TLS 1.0 and 1.1 are not'
unserve
for c in other:name foreign:authority over:time; do
	serve "${c%:*}"
	sends 1 && says "$err" 'cannot send to' && says "$out" '0 frames sent'
	check "a certificate of another ${c#*:}"
	unserve
done

serve foreign
mkdir certs && cp theirs.pem "certs/$(openssl x509 -hash -noout -in theirs.pem).0" && cp theirs.pem certs/ca-certificates.crt
if [ -d /etc/ssl/certs ] && unshare -m true 2>/dev/null; then
	cmd 0 run -q -- true
	unshare -m sh -c "mount --bind certs /etc/ssl/certs && exec '$STEMMA' ship --to https://$address --token token --ca ours.pem" >"$out" 2>"$err"
	[ $? = 1 ] && says "$err" 'cannot send to' && says "$out" '0 frames sent'
	check 'an authority that the system trusts, and --ca does not name'
	unshare -m sh -c "mount --bind certs /etc/ssl/certs && exec '$STEMMA' ship --to https://$address --token token" >"$out" 2>"$err" && says "$out" sent
	check '... which is trusted without --ca'
else
	skip 'an authority that the system trusts, and --ca does not name' 'mounts cannot be made here, or certificates lie elsewhere'
fi
unserve

cat >proxy.py <<'END'
import socket, sys
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(5)
s.settimeout(100)
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
sys.stderr.write(c.recv(65536).decode('latin1'))
c.send(b'HTTP/1.1 502 no\r\nContent-Length: 0\r\n\r\n')
END
$PYTHON proxy.py >"$T/proxy" 2>"$T/asked" &
proxy=$!
for _ in $(seq 100); do
	[ -s "$T/proxy" ] && break
	sleep 0.2
done
cmd 0 run -q -- true
https_proxy=http://127.0.0.1:$(cat "$T/proxy") cmd 1 ship --to https://somewhere.example:443 --token token --ca ours.pem
wait $proxy
says "$T/asked" 'CONNECT somewhere.example:443' && says_not "$T/asked" "$(cut -c 1-20 token)" && says_not "$T/asked" Authorization
check 'a proxy is asked for the way, and gets no token'
finish
