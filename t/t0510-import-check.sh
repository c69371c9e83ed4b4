#!/bin/sh
# export --check: a document, or what would be exported, against PROV-CONSTRAINTS; what is no document says where.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./all.sh'])
sh = h.process(); h.exec(sh, ['sh', './all.sh'], exe='/usr/bin/dash', script='/w/all.sh')
out = h.file('/w/out'); first = h.write(sh, out, mode=WRITE | CREATE, via=DESCRIPTOR)
for n in range(3):
    p = h.process(sh); h.exec(p, ['cat', 'in%d' % n], exe='/usr/bin/cat')
    h.read(p, h.file('/w/in%d' % n, size=n)); h.write(p, out, size=n, mode=WRITE | APPEND, via=DESCRIPTOR); h.exit(p)
p = h.process(sh); h.exec(p, ['sort', 'out'], exe='/usr/bin/sort')
h.read(p, out); h.write(p, h.file('/w/sorted'), size=5); h.write(p, out, size=7, mode=WRITE); h.exit(p)
h.exit(sh); h.end(); h.save(home, evtext)
END
cmd 0 export --check && says "$err" 'valid' && [ ! -s "$out" ]
check 'what is recorded is valid'
for form in prov-json turtle ntriples; do
	cmd 0 export -f $form -o doc.$form
	case $form in
	prov-json) ;;
	*) "$STEMMA" doctor | grep -q '^serd  *ok' || { skip "as $form" 'built without serd'; continue; } ;;
	esac
	cmd 0 export --check doc.$form && says "$err" "doc.$form: valid"
	check "as $form"
	"$STEMMA" export --check - <doc.$form >"$out" 2>"$err" && says "$err" '-: valid'
	check "as $form, from standard input"
done
j()
{
	printf '{"prefix":{"x":"http://e/"},%s}' "$1" | tr "'" '"' >bad.json
	cmd "$2" export --check bad.json
}
j "'wasDerivedFrom':{'_:1':{'prov:generatedEntity':'x:b','prov:usedEntity':'x:a'},'_:2':{'prov:generatedEntity':'x:a','prov:usedEntity':'x:b'}}" 1 &&
	says "$out" 'constraint 42 (derivation-generation-generation-ordering)' && says "$out" 'wasDerivedFrom(b, a)  /wasDerivedFrom/_:1' && says "$out" 'wasDerivedFrom(a, b)  /wasDerivedFrom/_:2' && says "$err" 'bad.json: 1 violation'
check 'a cycle: its number and its statements'
j "'activity':{'x:p':{'prov:startTime':'2026-01-01T00:00:01Z'}},'used':{'_:1':{'prov:activity':'x:p','prov:entity':'x:a','prov:time':'2026-01-01T00:00:00Z'}}" 0 &&
	says "$out" 'remark on constraint 33' && says "$err" 'valid'
check 'times that contradict the order are a remark'

# What is no document: the place is named.
j "'used':{'_:1':{'prov:activity':'x:p','prov:entity':'y:a'}}" 125 && says "$err" "bad.json: /used/_:1/prov:entity: the prefix is not declared: 'y:a'"
check 'a prefix that is not declared'
j "'used':{'_:1':{'prov:entity':'x:a'}}" 125 && says "$err" "/used/_:1: lacks prov: 'activity'" && j "'used':{'_:1':{'prov:activity':7}}" 125 && says "$err" '/used/_:1/prov:activity: is not a name' &&
	j "'used':[]" 125 && says "$err" '/used: is not an object' && j "'usedd':{}" 125 && says "$err" '/usedd: is not a section' && j "'activity':{'x:p':{'prov:startTime':'yesterday'}}" 125 && says "$err" "/activity/x:p/prov:startTime: is not a time: 'yesterday'" &&
	j "'entity':{'x:~a/b':{'prov:label':null}}" 125 && says "$err" '/entity/x:~0a~1b/prov:label: is not a value' && j "'entity':{'x:a':{},'x:a':{}}" 125 && says "$err" 'bad.json:1:' && says "$err" 'duplicate'
check 'wrong types, sections, times, values, duplicate keys'
printf '{"entity":{\n  "a" 7}}' >bad.json && cmd 125 export --check bad.json && says "$err" 'bad.json:2:7: ' && printf '{"a":' >bad.json && cmd 125 export --check bad.json && says "$err" 'bad.json:1:5'
check 'no JSON: line and column'
awk 'BEGIN { printf "{\"entity\":"; for (i = 0; i < 100000; i++) printf "["; }' >bad.json && cmd 125 export --check bad.json && says "$err" 'depth'
check 'JSON that is too deep'
if "$STEMMA" doctor | grep -q '^serd  *ok'; then
	p='@prefix prov: <http://www.w3.org/ns/prov#> .'
	printf '%s\n\n<a:a> prov:used\n' "$p" >bad.ttl && cmd 125 export --check bad.ttl && says "$err" 'bad.ttl:4:' && printf '%s\n<a:a> <a:b> x:c .\n' "$p" >bad.ttl && cmd 125 export --check bad.ttl && says "$err" 'bad.ttl:2' &&
		printf '%s\n<a:a> prov:used "text" .\n' "$p" >bad.ttl && cmd 125 export --check bad.ttl && says "$err" "bad.ttl:2: <http://www.w3.org/ns/prov#used> 'text': is a literal"
	check 'Turtle: line and column'
	for open in '[<a:c> ' '( '; do
		awk -v open="$open" 'BEGIN { printf "<a:a> <a:b> "; for (i = 0; i < 1000000; i++) printf "%s", open; }' >bad.ttl && cmd 125 export --check bad.ttl && says "$err" 'nested too deep'
		check "Turtle that is too deep: $open"
	done
	printf '%s\n<a:a> a prov:Entity, prov:Activity .\n' "$p" >bad.ttl && cmd 1 export --check bad.ttl && says "$out" 'constraint 55 (entity-activity-disjoint)' && says "$out" 'line 2'
	check 'Turtle: a violation'
else
	skip 'Turtle' 'built without serd'
fi
cmd 125 export --check nosuch && says "$err" "cannot open 'nosuch'" && cmd 125 export --check . && says "$err" 'Is a directory'
check 'what cannot be read'
finish
