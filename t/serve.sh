# shellcheck shell=sh disable=SC2154
# serve.sh - for tests of `stemma serve`, behind lib.sh.
#
#   serving [OPTION...]   Python on standard input, with the server s (t/serve.py), and told(ARG...): what a command says as JSON

[ -e "$(dirname "$STEMMA")/../serve/stemma-serve.so" ] || {
	echo '1..0 # SKIP this stemma was built without libmicrohttpd'
	exit 0
}
serving()
{
	{
		echo "import json, os, signal, socket, subprocess, sys, time; sys.path.insert(0, '$here/t'); from serve import *; from concurrent.futures import ThreadPoolExecutor"
		echo "T, here, stemma, home = '$T', '$here', '$STEMMA', '$STEMMA_HOME'"
		echo "def told(*args): return json.loads(subprocess.run([stemma, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)"
		printf 'options = ['
		for o in "$@"; do printf "'%s', " "$o"; done
		echo ']'
		echo "with Server(stemma, home, *options) as s:"
		sed 's/^/    /'
	} >"$T/serving.py"
	$PYTHON -B "$T/serving.py" >"$out" 2>"$err"
}
