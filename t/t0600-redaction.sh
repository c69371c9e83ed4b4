#!/bin/sh
# Secrets in arguments, variables, labels and addresses go nowhere: not into a segment, not into the index, not into
# what any command prints. What is no secret stays. The secrets are made here; each holds the word XYZZY.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! "$STEMMA" run -- true >"$out" 2>"$err" || ! cmd 0 log; then
	skip 'redaction' "nothing can be recorded here: $(head -n 1 "$err")"
	finish
	exit
fi

# record ARG...: one more run; what the command itself got is in $T/got, so that it is known to have come whole.
record() { "$STEMMA" run -- "$@" >>"$T/got" 2>>"$err"; }
# shellcheck disable=SC2016 # for the shell that is recorded
say='printf "%s\n" "$0" "$@"; env'
token=gh
token=${token}p_XYZZY0123456789abcdefABCDEF012345
key="-----BEGIN RSA PRIVATE KEY-----
MIIXYZZYabcdefgh
XYZZYsecondline
-----END RSA PRIVATE KEY-----"
: >"$T/got"
record sh -c "$say" prog --password XYZZY-one --db-password=XYZZY-two "--token=XYZZY three four"
record sh -c "$say" prog "$token" "say '$token' again" "$key" "--key-text=$key" x
record sh -c "$say" prog 'postgres://ann:XYZZYpw@db/base' 'https://example.org/x?access_token=XYZZY5&page=2'
record sh -c "$say" prog -H 'Authorization: Bearer XYZZYabcdef012345' '{"user":"ann","password":"XYZZYjson"}'
record sh -c "$say" curl -u ann:XYZZYcurl https://example.org/
record sh -c ': ; PASSWORD="XYZZYline one
XYZZYline two" sh -c "echo \"\$PASSWORD\""; : --password=XYZZYscript; echo XYZZYdone >/dev/null --api-key XYZZYkey'
CONDA_TOKEN='XYZZYenv one
XYZZYenv two' APPTAINER_DOCKER_PASSWORD=XYZZYdocker OMPI_MCA_url=https://ann:XYZZYurl@h/x CFLAGS="-O2 -DAPI_KEY=XYZZYflag -g" record sh -c "$say"
"$STEMMA" run --label password=XYZZYlabel --label kind=ordinary -- true 2>>"$err"
record sh -c 'cat https://ann:XYZZYfile@example.org/x 2>/dev/null; true'
[ "$(grep -c XYZZY "$T/got")" -ge 20 ]
check 'the commands themselves got what they were given'

# A script's own text names XYZZYdone, which is no secret: that is how this test knows that it would find one.
grep -rqaF XYZZYdone "$STEMMA_HOME/logs"
check 'the search finds what is there'
cmd 0 index --rebuild && find "$STEMMA_HOME" "$HOME" -type f | while IFS= read -r f; do
	LC_ALL=C grep -aoE 'XYZZY[A-Za-z0-9 -]*' "$f" | grep -v '^XYZZYdone'
done >"$T/found"
cp "$T/found" "$out" && [ ! -s "$out" ]
check 'no secret in logs and index'

: >"$T/said"
for c in 'log --json' 'log' 'log --jsonl' 'export --all' 'export --format prov-json --all' 'find path:/*' 'find --json path:*' 'sql --json select*from(run)' 'sql select*from(execution)' 'fsck'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" $c >>"$T/said" 2>>"$err"
done
for i in 0 1 2 3 4 5 6 7 8; do
	for c in show 'show --json' 'show --all' stat 'stat --json' export; do
		# shellcheck disable=SC2086 # words
		"$STEMMA" $c "@~$i" >>"$T/said" 2>>"$err"
	done
done
"$STEMMA" diff --json '@~8' '@~7' >>"$T/said" 2>>"$err"
"$STEMMA" diff --all '@~8' '@~7' >>"$T/said" 2>>"$err"
for x in $("$STEMMA" sql 'SELECT pub FROM execution' --csv 2>/dev/null | sed 1d); do
	"$STEMMA" show --json "$x" >>"$T/said" 2>>"$err"
done
LC_ALL=C grep -aoE 'XYZZY[A-Za-z0-9 -]*' "$T/said" | grep -v '^XYZZYdone' >"$out"
[ ! -s "$out" ] && grep -q XYZZYdone "$T/said" && [ "$(wc -l <"$T/said")" -gt 200 ]
check 'no command says one'
for w in '--db-password=\*\*\*' 'ann:\*\*\*@db/base' 'page=2' 'CONDA_TOKEN=\*\*\*' 'APPTAINER_DOCKER_PASSWORD=\*\*\*' '-O2 -DAPI_KEY=\*\*\* -g' 'ann:\*\*\*' 'ordinary'; do
	grep -q -e "$w" "$T/said" || echo "missing: $w"
done >"$out"
[ ! -s "$out" ]
check 'that there was one is said'

"$STEMMA" run -- sh -c : prog --tokenizer bert --max-tokens 512 -o d41d8cd98f00b204e9800998ecf8427e \
	--commit=da39a3ee5e6b4b0d3255bfef95601890afd80709 --password-file /home/ann/pw --key=2,2 secret.csv src/token.c 2>"$err"
cmd 0 show --json @ && json '[.things[0].executions[] | .argv | index("bert", "512", "d41d8cd98f00b204e9800998ecf8427e", "--commit=da39a3ee5e6b4b0d3255bfef95601890afd80709", "/home/ann/pw", "--key=2,2", "secret.csv", "src/token.c")] | flatten | map(select(. != null)) | length >= 8' && says_not "$out" '***'
check 'what is no secret stays'

"$STEMMA" run -- sh -c 'exit 0' prog --password XYZZY-again 2>"$err"
cmd 1 rerun @ && says "$err" 'an argument of the run was redacted as a secret' '5, ***' && says_not "$err" XYZZY
check 'rerun names the argument that it lacks'
finish
