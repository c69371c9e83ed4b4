#!/bin/sh
# The corpus of made-up secrets (tests/redact) is recorded: in arguments, variables, names of files, labels, notes, and in
# documents that are imported. Then the logs, the index and all that is exported are searched for each of them.
# Usage: t0601-secrets-corpus.sh FOLDER-OF-THE-CORPUS
here=$(cd "$(dirname "$0")" && pwd)
corpus=$(cd "${1:-$here/../tests/redact}" && pwd)
record=$here/secrets_record.py
# shellcheck source=t/lib.sh
. "$here/lib.sh"

if ! command -v python3 >/dev/null || ! "$STEMMA" run -- true >"$out" 2>"$err" || ! cmd 0 log; then
	skip 'the corpus' "no python3, or nothing can be recorded here: $(head -n 1 "$err")"
	finish
	exit
fi

mkdir "$T/files"
(cd "$T/files" && "$STEMMA" run --label 'note=see https://ann:hunter2label@h/x' --label password=hunter2label -- \
	python3 "$record" "$corpus/gone.tsv" "$corpus/gone-apart.tsv") >"$T/made" 2>"$err"
sort -u "$T/made" >"$T/secrets"
cp "$err" "$out" && [ "$(wc -l <"$T/made")" -ge 500 ]
check 'the cases happened'

"$STEMMA" note @ 'the password=hunter2note and token gh''p_0123456789abcdefABCDEF0123456789abcd' >>"$out" 2>>"$err"
printf '%s\n' hunter2label hunter2note "gh""p_0123456789abcdefABCDEF0123456789abcd" >>"$T/secrets"

# search FILE...: prints the secrets that are in the files. Words that are also the corpus's own ordinary ones do not count.
search() {
	LC_ALL=C grep -aohF -f "$T/searched" -- "$@" 2>/dev/null | LC_ALL=C sort -u
}
# A secret that some file of the system is called, or that is too short to be found by its text, cannot be looked for so.
awk 'length($0) >= 8' "$T/secrets" >"$T/searched"
total=$(wc -l <"$T/searched")
"$STEMMA" index --rebuild >>"$out" 2>>"$err"
find "$STEMMA_HOME" -type f >"$T/list"
: >"$T/leaks"
while IFS= read -r f; do search "$f"; done <"$T/list" | sort -u >"$T/leaks"
echo "# $total different secrets, $(wc -l <"$T/leaks") of them in logs or index"
cp "$T/leaks" "$out" && [ $((100 * $(wc -l <"$T/leaks"))) -le "$total" ]
check 'at most one in a hundred is in logs or index'

# svg is what dot draws of the text that is searched; so many commands take it minutes.
"$STEMMA" export --formats 2>>"$err" | awk 'NF && $1 != "svg" { print $1 }' >"$T/formats"
n=0
while IFS= read -r format; do
	mkdir -p "$T/x/$format"
	"$STEMMA" export --all --format "$format" >"$T/x/$format/out" 2>>"$err" ||
		"$STEMMA" export --all --format "$format" -o "$T/x/$format/dir" >>"$T/x/$format/out" 2>>"$err" ||
		"$STEMMA" export --format "$format" @ >>"$T/x/$format/out" 2>>"$err"
	[ -n "$(find "$T/x/$format" -type f -size +0)" ] && n=$((n + 1))
done <"$T/formats"
for c in 'log --json' 'show --json @' 'show --all @' 'sql --json select*from(execution)' 'find --json' 'stat --json @'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" $c >>"$T/x/said" 2>>"$err"
done
find "$T/x" -type f >"$T/list"
while IFS= read -r f; do search "$f"; done <"$T/list" | sort -u >"$T/leaks"
echo "# $(wc -l <"$T/formats") formats, $n with output, $(wc -l <"$T/leaks") secrets in exports"
cp "$T/leaks" "$out" && [ "$n" -ge 12 ] && [ $((100 * $(wc -l <"$T/leaks"))) -le "$total" ]
check 'at most one in a hundred is in what is exported or shown'

# Two files whose names differ in a token are two, and so are two of these names where nothing is.
"$STEMMA" run -- sh -c 'for i in c d; do : >"$0$i.json"; cat "$0$i.none"; done' "gh""p_0123456789abcdefABCDEF0123456789ab" >>"$out" 2>>"$err"
cmd 0 show --json --all @ && [ "$(grep -o '[*][*][*]-[0-9a-f]*[.]\(json\|none\)' "$out" | sort -u | wc -l)" -eq 4 ]
check 'names that differ in a token stay different'

# What the task used, as a file and as the archive takes it from somebody who redacts nothing.
"$STEMMA" run --summary "$T/summary.json" --label password=hunter2sum -- sh -c ': >"$0.json"; cat "$0.json" >/dev/null; sleep 0.2' "gh""p_0123456789abcdefABCDEF0123456789abcd" >>"$out" 2>>"$err"
[ -s "$T/summary.json" ] && ! grep -qF -e hunter2sum -e "gh""p_01234" "$T/summary.json"
check 'a summary holds none'

# A document of somebody who redacts nothing.
cat >"$T/doc.json" <<D
{"prefix": {"ex": "http://example.org/", "prov": "http://www.w3.org/ns/prov#"},
 "activity": {"ex:a": {"prov:label": "curl -u ann:hunter2import https://e.org/", "prov:startTime": "2026-01-01T00:00:00Z", "ex:password": "hunter2import"}},
 "entity": {"ex:f": {"prov:label": "/data/login?password=hunter2import", "ex:path": "/data/login?password=hunter2import"}},
 "used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:f"}}}
D
"$STEMMA" import "$T/doc.json" >"$out" 2>"$err"
"$STEMMA" index --rebuild >>"$out" 2>>"$err"
find "$STEMMA_HOME" -type f >"$T/list"
while IFS= read -r f; do LC_ALL=C grep -aoF hunter2import "$f"; done <"$T/list" >"$T/leaks"
cp "$T/leaks" "$out" && [ ! -s "$T/leaks" ]
check 'an imported document is redacted, too'
finish
