#!/bin/sh
# import: what export writes is read again, whichever notation: the same nodes and edges, by the sets that a small reader
# of its own makes of both documents. And PROV-N and PROV-JSONLD of others, and such that are wrong.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
sets() { $PYTHON -B "$here/t/prov_sets.py" "$@"; }

history <<'END'
from export_record import *
make(home, evtext)
END
original=$STEMMA_HOME
# Things that no relation is about are left out of an import, and said; of a part of a record also what only fork joins.
for selection in '--all --fork' '' '--certain'; do
	for notation in prov-n prov-jsonld; do
		# shellcheck disable=SC2086 # options
		cmd 0 export $selection -f $notation -o "first.$notation" || break
	done
	sets first.prov-n >"$T/n" && sets first.prov-jsonld >"$T/jsonld" && [ "$(wc -l <"$T/n")" -gt 50 ] && cmp "$T/n" "$T/jsonld" >"$err"
	check "the two notations have the same nodes and edges${selection:+, $selection}"
	[ "$selection" != '--all --fork' ] || cp "$T/n" "$T/all"
	sets --related first.prov-n >"$T/want"
	for notation in prov-n prov-jsonld prov-json turtle; do
		rm -rf "$T/by"
		# shellcheck disable=SC2086 # options
		cmd 0 export $selection -f $notation -o "first.$notation" && STEMMA_HOME=$T/by cmd 0 import "first.$notation" && says_not "$err" 'skipped' && STEMMA_HOME=$T/by cmd 0 export $selection -f prov-n -o again.prov-n && STEMMA_HOME=$T/by cmd 0 export $selection -f prov-jsonld -o again.prov-jsonld &&
			sets --related again.prov-n >"$T/a" && sets --related again.prov-jsonld >"$T/b" && cmp "$T/a" "$T/b" >"$err" && diff "$T/want" "$T/a" >"$err"
		check "by $notation and back: the same${selection:+, $selection}"
	done
done
cmp "$T/all" "$T/want" >/dev/null
[ $? = 1 ] && grep -c ^used "$T/all" >/dev/null
check 'and these are three different sets'
# All that the documents say, the exact bytes of strange names among it; PROV-JSON has no order.
cat >same.py <<'END'
import json, sys
def said(path):
    d = json.load(open(path, encoding='utf-8'))
    return {k: sorted(json.dumps([i if k in ('entity', 'activity', 'agent', 'prefix') else '', x], sort_keys=True) for i, x in v.items()) for k, v in d.items()}
a, b = map(said, sys.argv[1:])
assert a == b, [x for k in a for x in set(a[k]) ^ set(b.get(k, []))][:2]
print(sum(map(len, a.values())) > 200)
END
cmd 0 export --all --fork -f prov-json -o first.json
for notation in prov-n prov-jsonld; do
	rm -rf "$T/by" "$T/copy" && cmd 0 export --all --fork -f $notation -o first.$notation && STEMMA_HOME=$T/by cmd 0 import first.$notation && STEMMA_HOME=$T/by cmd 0 export --all --fork -f prov-json -o again.json && $PYTHON same.py first.json again.json >"$out" 2>"$err" && is "$out" True
	check "an import of $notation says all that the record says"
	STEMMA_HOME=$T/by cmd 0 import first.$notation && says "$out" 'nothing new' && cp -r "$original" "$T/copy" && STEMMA_HOME=$T/copy cmd 0 import first.$notation && STEMMA_HOME=$T/copy cmd 0 export --all --fork -f prov-json -o same.json && cmp first.json same.json >"$err"
	check '... once, and into the record that it came from nothing comes'
	cmd 0 export --check first.$notation && says "$err" valid
	check "... and $notation can be checked"
done

# ---- of others
cat >other.provn <<'END'
// a comment
document
  default <http://example.org/>
  prefix ex <http://example.org/ns#>
  /* another
     one */
  entity(in, [ prov:type='ex:Table', prov:label="in \"1\"\n", ex:n=5, ex:note="x" %% xsd:string, ex:t="Gr\\n"@de ])
  entity(ex:out)
  activity(ex:a\=1, 2020-01-01T00:00:00, -)
  agent(ex:bob, [prov:type='prov:Person'])
  used(ex:a\=1, in, 2020-01-01T00:00:01Z)
  wasGeneratedBy(ex:g1; ex:out, ex:a\=1, 2020-01-01T01:00:02+01:00, [prov:role="""long
"role" """])
  wasAssociatedWith(ex:a\=1, ex:bob, -)
  wasDerivedFrom(ex:out, in)
  bundle ex:b
    prefix ex <http://other.example/>
    entity(ex:out)
  endBundle
endDocument
END
cat >other.jsonld <<'END'
{"@context": [{"ex": "http://example.org/ns#", "d": "http://example.org/"}, "https://openprovenance.org/prov-jsonld/context.jsonld"],
 "@graph": [
  {"@type": "prov:Entity", "@id": "d:in", "type": ["ex:Table"], "label": [{"@value": "in \"1\"\n"}], "ex:n": [{"@value": "5", "@type": "xsd:integer"}], "ex:flag": true, "ex:list": [1, 2.5, "x"]},
  {"@type": "Entity", "@id": "ex:out", "prov:wasDerivedFrom": [{"@id": "d:in"}], "prov:wasGeneratedBy": "ex:a=1"},
  {"@type": ["Activity", "ex:Own"], "@id": "ex:a=1", "startTime": "2020-01-01T00:00:00"},
  {"@type": "Agent", "@id": "ex:bob", "type": ["prov:Person"]},
  {"@type": "Usage", "activity": "ex:a=1", "entity": {"@id": "d:in"}, "time": "2020-01-01T00:00:01Z"},
  {"@type": "Generation", "@id": "ex:g1", "entity": "ex:out", "activity": "ex:a=1", "time": "2020-01-01T01:00:02+01:00", "role": [{"@value": "r"}]},
  {"@type": "Association", "activity": "ex:a=1", "agent": "ex:bob"},
  {"@type": "Bundle", "@id": "ex:b", "@graph": [{"@type": "Entity", "@id": "ex:out"}]}
 ]}
END
for document in other.provn other.jsonld; do
	rm -rf "$T/o1" && STEMMA_HOME=$T/o1 cmd 0 import --json $document && json '.imports[0] | .executions == 1 and .versions >= 2' && STEMMA_HOME=$T/o1 cmd 0 lineage --json http://example.org/ns#out && json '[.entities[].path] | sort == ["http://example.org/ns#out", "in \"1\"\n"]' &&
		STEMMA_HOME=$T/o1 cmd 0 sql --csv "SELECT * FROM run" && says "$out" bob
	check "of others: $document"
done
if $PYTHON -c 'import prov.model' 2>/dev/null; then
	# Of a record without backslashes, which it does not escape, not even before quotes; and it has no nanoseconds, by which a version is
	# known that came from outside.
	touch -d '2020-01-01 00:00:00' other.provn
	rm -rf "$T/o2" "$STEMMA_HOME" && cmd 0 run -q -- sh -c 'sort other.provn | uniq >sorted; cp sorted copy' && cmd 0 export -f prov-json -o first.json && $PYTHON -c 'import sys
from prov.model import ProvDocument
print(ProvDocument.deserialize("first.json", format="json").get_provn())' >theirs.provn 2>"$err" && STEMMA_HOME=$T/o2 cmd 0 import theirs.provn && STEMMA_HOME=$T/o2 cmd 0 export -f prov-n -o again.prov-n && cmd 0 export -f prov-n -o first.prov-n && sets --related first.prov-n >"$T/a" && sets --related again.prov-n >"$T/b" && [ "$(wc -l <"$T/a")" -gt 10 ] && cmp "$T/a" "$T/b" >"$err"
	check 'PROV-N as python3-prov writes it'
else
	skip 'PROV-N as python3-prov writes it' 'python3-prov is not installed'
fi

# ---- wrong ones: refused as a whole, with the line or the pointer
wrong()
{ # NAME PLACE
	rm -rf "$T/w"
	STEMMA_HOME=$T/w cmd 125 import "$1" && says "$err" "$1$2" && ! [ -e "$T/w/logs" ]
	check "refused: $1 $2"
}
printf 'document\nprefix ex <http://e/>\nentity(ex:a)\n' >end.provn && wrong end.provn ':4: no statement'
printf 'document\nentity(ex:a)\nendDocument\n' >prefix.provn && wrong prefix.provn ':2: a name whose prefix is not declared'
printf 'document\nprefix ex <http://e/>\nentity(ex:a, [ex:b="x\n"])\nendDocument\n' >string.provn && wrong string.provn ':3: a string'
printf 'document\nprefix ex <http://e/>\nused(ex:a, ex:b, yesterday)\nendDocument\n' >time.provn && wrong time.provn ':3: no time'
printf 'document\nprefix ex <http://e/>\nused(-, ex:b)\nendDocument\n' >need.provn && wrong need.provn ':3: the statement'
printf 'document\nprefix ex <http://e/>\nused(ex:a, ex:b, -, ex:c)\nendDocument\n' >more.provn && wrong more.provn ':3: more than'
printf 'document\nendDocument\nentity(x)\n' >behind.provn && wrong behind.provn ':3: something behind'
printf 'document\nprefix ex <http://e/>\nex:own(ex:a)\nendDocument\n' >own.provn && wrong own.provn ':3: no statement of PROV'
printf 'document\nprefix ex <http://e/>\nentity(ex:a, [ex:b="\\u0041"])\nendDocument\n' >escape.provn && wrong escape.provn ':3: an escape'
printf '{"@context": {}, "@graph": [{"@type": "Nothing"}]}' >type.jsonld && wrong type.jsonld ': /@graph/0: is not a statement'
printf '{"@context": {"ex": "http://e/"}, "@graph": [{"@type": "Usage", "entity": "ex:a"}]}' >need.jsonld && wrong need.jsonld ': /@graph/0: lacks'
printf '{"@context": {"ex": "http://e/"}, "@graph": [{"@type": "Entity", "@id": "ey:a"}]}' >prefix.jsonld && wrong prefix.jsonld ': /@graph/0: the prefix is not declared'
printf '{"@context": {"ex": "http://e/"}, "@graph": [{"@type": "Activity", "@id": "ex:a", "startTime": "x"}]}' >time.jsonld && wrong time.jsonld ': /@graph/0/startTime: is not a time'
printf '{"@context": {}, "@graph": {}}' >list.jsonld && wrong list.jsonld ': /@graph: is not a list'
printf '{"@context": {}}' >none.jsonld && wrong none.jsonld ": /: has a context and no '@graph'"
$PYTHON -c 'print("{\"@context\": {\"e\": \"http://e/\"}, \"@graph\": [" + "{\"@type\": \"Bundle\", \"@id\": \"e:b\", \"@graph\": [" * 500 + "]}" * 500 + "]}")' >deep.jsonld && wrong deep.jsonld ': '
$PYTHON -c 'print("document\nprefix e <http://e/>\n" + "/*" * 100000 + "(" * 100000)' >deep.provn && wrong deep.provn ':3: no statement'
finish
