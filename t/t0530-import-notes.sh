#!/bin/sh
# import and export: notes go with what they are on, and come back; what was forgotten does not.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
for i, letter in enumerate('AB'):
    h = History('01' + letter * 24, argv=['step', 'arg-of-' + letter], host='h1', start=1000 * i, labels=['name=' + letter])
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['step', 'arg-of-' + letter], exe='/opt/step')
    h.read(p, h.file(work + '/in', ino=100, size=1), bytes_read=1); h.write(p, h.file(work + '/out' + letter, ino=101 + i), size=3)
    h.exit(p); q = h.process(); h.exec(q, ['again'], exe='/opt/step')
    h.write(q, h.file(work + '/out' + letter), size=5, mode=WRITE); h.exit(q); h.end()
    h.save(home, evtext, letter)
END
cmd 0 note AAAA 'the one for the paper' && cmd 0 note outA 'looks odd, "really" <b> & more
second line' && cmd 0 note 'outA@{1}' "$(printf 'bytes \351')" && cmd 0 note outA 'later' && cmd 0 note BBBB 'of B'
check 'notes are written'
cmd 0 note --json && jq -S '[.notes[] | del(.file)]' "$out" >notes.json

cmd 0 export -f prov-json -o all.json && cp all.json "$out" &&
	json '.activity["id:r01AAAAAAAAAAAAAAAAAAAAAAAA"] | ."stemma:note" == "[\"the one for the paper\"]" and (."stemma:noteTime" | fromjson | .[0] | endswith("Z")) and (."stemma:noteUser" | fromjson | length == 1) and (."stemma:noteHost" | fromjson | length == 1)' &&
	json '[.entity[] | select(."stemma:note" and ."stemma:versionNumber"."$" == "2") | ."stemma:note" | fromjson] == [["looks odd, \"really\" <b> & more\nsecond line", "later"]]' &&
	json '[.entity[] | select(."stemma:note" and ."stemma:versionNumber"."$" == "1") | ."stemma:noteBase64" | fromjson] == [["Ynl0ZXMg6Q=="]]' && json '[.. | objects | select(has("stemma:note"))] | length == 4'
check 'PROV-JSON: at the versions and runs that they are on'
bad=0
for f in turtle ntriples prov-jsonld prov-n; do
	cmd 0 export -f $f && says "$out" 'the one for the paper' && says "$out" 'looks odd' && says "$out" 'Ynl0ZXMg6Q==' && says "$out" noteBase64 || { bad=1; break; }
done
[ $bad = 0 ]
check 'the other notations'
cmd 0 export -f csv -o csv && $PYTHON - csv >"$out" 2>"$err" <<'END' && is "$out" 'the one for the paper,of B;looks odd,later'
import csv, json, sys
def notes(name):
    with open(sys.argv[1] + '/' + name, newline='', encoding='utf-8') as f:
        return [n for row in csv.DictReader(f) if row['note'] for n in json.loads(row['note'])]
print(','.join(notes('activity.csv')) + ';' + ','.join(n.split(',')[0] for n in notes('entity.csv') if 'bytes' not in n))
END
check 'tables'
cmd 0 export -f ro-crate -o crate && cp crate/ro-crate-metadata.json "$out" && json '.["@graph"][] | select(.["@id"] == "./") | .description | (contains("\nthe one for the paper") and contains("\nof B"))' && json '[.["@graph"][] | select(.["@type"] == "File" and .description) | .description] | length == 2 and (map(startswith("looks odd")) | any)'
check 'RO-Crate: descriptions'
cmd 0 export -f dot && says "$out" 'tooltip="looks odd, \"really\" <b> &amp; more\nsecond line\nlater"' && [ "$(grep -c tooltip= "$out")" = 2 ]
check 'DOT: tooltips'
if command -v dot >/dev/null; then
	dot -Tjson "$out" >"$T/graph.json" 2>"$err" && cp "$T/graph.json" "$out" && json '[.objects[].tooltip // empty] | length == 2' && [ ! -s "$err" ]
	check 'Graphviz reads them'
else
	skip 'Graphviz reads them' 'Graphviz is not installed'
fi

# The same notes with the same times, users and hosts; once, where both are there.
notes_are()
{
	cmd 0 --store "$1" note --json && jq -S '[.notes[] | del(.file)]' "$out" | cmp - notes.json
}
for f in prov-json turtle; do
	if [ $f = turtle ] && ! "$STEMMA" doctor | grep -q '^serd  *ok'; then
		skip 'notes come back from turtle' 'built without serd'
		continue
	fi
	rm -rf again && cmd 0 export -f $f -o doc && cmd 0 --store again import doc && notes_are again && cmd 0 --store again note outA && lines "$out" 4 && cmd 0 --store again show AAAA && says "$out" 'for the paper' && cmd 0 --store again fsck && cmd 0 --store again index --rebuild && notes_are again
	check "notes come back from $f"
done
mkdir both && cp -r "$STEMMA_HOME/logs" both/ && cmd 0 --store both import doc && notes_are both && cmd 0 --store both log --json && json '.runs | map(.notes | length) == [1, 1]' && cmd 0 --store both export -f prov-json -o both.json && jq -S '[.activity, .entity | .[]]' all.json >one && jq -S '[.activity, .entity | .[]]' both.json | cmp one - >"$out"
check 'into the record they came from: once'
cmd 0 --store late import all.json && cmd 0 --store late log && cmd 0 --store late import "$STEMMA_HOME" && notes_are late
check 'and the other way round'
jq '(.activity["id:r01AAAAAAAAAAAAAAAAAAAAAAAA"]["stemma:noteTime"]) = "[\"soon\"]"' all.json >bad.json && cmd 125 --store none import bad.json && says "$err" 'a note whose time is none' && jq 'del(.activity["id:r01AAAAAAAAAAAAAAAAAAAAAAAA"]["stemma:noteUser"])' all.json >bad.json && cmd 125 --store none import bad.json && says "$err" 'notes without their times' && [ ! -e none ]
check 'notes that are none'

# What was forgotten.
nowhere() { ! LC_ALL=C grep -rlaF -e "$1" "$STEMMA_HOME" >"$out" 2>/dev/null && ! holds "$1"; }
cmd 0 export -f prov-json -o part.json BBBB && cmd 0 forget BBBB && nowhere arg-of-B && cmd 0 import all.json && says "$err" 'forgotten records: skipped' && says "$out" 'added' && nowhere arg-of-B && nowhere name=B && nowhere 'of B' && nowhere 01BBBBBBBBBBBBBBBBBBBBBBBB/ && cmd 0 log && lines "$out" 2 && says_not "$out" arg-of-B && cmd 1 show BBBB && cmd 0 fsck
check 'a document of a forgotten run and another one brings back the other one alone'
! nowhere arg-of-A && cmd 0 why outA && cmd 1 why outB
check 'this search would find it'
find "$STEMMA_HOME/logs" -type f | sort >before && cmd 0 import --json part.json && json '.imports[0] | .added == false and .forgotten > 5' && find "$STEMMA_HOME/logs" -type f | sort | cmp before - && cmd 0 import part.json && says "$out" 'part.json: nothing new' && says_not "$out" 'imported before' && nowhere outB
check 'a document of nothing else adds nothing'
cmd 0 --store fresh import part.json && cmd 0 --store fresh log && says "$out" arg-of-B && cmd 0 --store fresh forget BBBB && cmd 0 --store fresh import part.json all.json && cmd 0 --store fresh log && lines "$out" 2 && says_not "$out" arg-of-B
check 'what came from a document and was forgotten stays so'
jq '.prefix.x = "http://e/" | .wasDerivedFrom["_:z"] = {"prov:generatedEntity": "x:verdict", "prov:usedEntity": ([.entity | to_entries[] | select(.value."stemma:ident") | .key][0])} | .used["_:y"] = {"prov:activity": "x:review", "prov:entity": "x:verdict"}' part.json >mixed.json
cmd 0 import mixed.json && nowhere arg-of-B && cmd 0 lineage http://e/verdict && says "$out" 'verdict'
check "another program's part of such a document is taken"
finish
