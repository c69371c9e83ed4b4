#!/bin/sh
# stemma sparql: W3C's tests of the language; the record's own answers; bounds.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if "$STEMMA" sparql --check 'ASK {}' 2>"$err"; then
	check 'the language is there'
else
	skip 'SPARQL' "$(sed 's/^stemma: //' "$err")"
	finish
	exit
fi
suite=${STEMMA_RDF_TESTS:-$here/../shared/data/rdf-tests/sparql}
if [ -d "$suite" ] && command -v rapper >/dev/null; then
	$PYTHON -B "$here/tests/sparql/w3c.py" "$STEMMA" "$suite" >"$out" 2>"$err" && is "$out" '820 of 820'
	check "W3C's tests: 820 of 820"
else
	skip "W3C's tests" "no tests in $suite, or no rapper for RDF/XML"
fi

seq 100 >in
cmd 0 run -- sort -r in -o mid && cmd 0 run -- sh -c 'head -5 mid >out'
check 'something is recorded'
cmd 0 sparql 'SELECT ?p { ?v prov:wasGeneratedBy ?x ; stemma:path ?p FILTER STRENDS(?p, "/mid") }' && says "$out" /mid && lines "$out" 2
check 'a version that was generated'
cmd 0 sparql 'ASK { ?o stemma:path ?ol . ?i stemma:path ?il . ?o (prov:wasGeneratedBy/prov:used)+ ?i
	FILTER(STRENDS(?ol, "/out") && STRENDS(?il, "/in")) }' && is "$out" yes
check 'a path over both runs'
cmd 1 sparql 'ASK { ?o stemma:path ?ol . ?i stemma:path ?il . ?i (prov:wasGeneratedBy/prov:used)+ ?o
	FILTER(STRENDS(?ol, "/out") && STRENDS(?il, "/in")) }' && is "$out" no
check 'and not backwards'
cmd 0 sparql --format csv 'SELECT (COUNT(DISTINCT ?v) AS ?n) { ?x prov:used ?v }' && n=$(tr -d '\r' <"$out" | sed -n 2p) &&
	cmd 0 export -f turtle -o t.ttl && cmd 0 sparql -d t.ttl --format csv 'SELECT (COUNT(DISTINCT ?v) AS ?n) { ?x prov:used ?v }' &&
	[ "$n" = "$(tr -d '\r' <"$out" | sed -n 2p)" ] && [ "$n" -gt 1 ]
check 'the record and its export give the same'
cmd 0 sparql 'CONSTRUCT { ?x prov:used ?v } { ?x prov:used ?v }' >/dev/null && says "$out" '#used>' && cmd 0 sparql 'DESCRIBE ?v { ?x prov:used ?v } LIMIT 1' && says "$out" ' .'
check 'triples'
cmd 2 sparql 'SELECT ?x { ?x prov:used' && says "$err" 'line 1, column' && cmd 2 sparql 'INSERT DATA { <a> <b> <c> }' && cmd 2 sparql && cmd 2 sparql -f x y
check 'what is no query, with its place'
cmd 125 sparql 'SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }' && says "$err" SERVICE
check 'nothing is asked of other machines'
cmd 2 sparql --format csv 'ASK {}' && cmd 2 sparql --format turtle 'SELECT * {}'
check 'a form that does not fit'

# Queries made to hurt.
cmd 125 sparql --timeout 300ms 'SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }' && grep -qE 'takes too long|too many|too much' "$err"
check 'a product of everything ends'
{
	printf 'ASK { '
	yes '{' | head -n 300 | tr -d '\n'
	yes '}' | head -n 300 | tr -d '\n'
	printf ' }'
} >deep
cmd 2 sparql -f deep && says "$err" 'levels'
check 'groups inside each other end'
{
	printf 'SELECT (1'
	yes '+1' | head -n 100000 | tr -d '\n'
	printf ' AS ?x) {}'
} >chain
cmd 2 sparql -f chain && says "$err" 'parts'
check 'a chain of sums ends'
cmd 0 sparql 'SELECT (REGEX("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "(a+)+c") AS ?x) {}'
check 'a regular expression that would take for ever ends'
printf '@prefix : <http://e/> .\n' >cycle.ttl
i=0
while [ $i -lt 300 ]; do
	echo ":n$i :a :n$(((i + 1) % 300)) ; :b :n$(((i + 7) % 300)) ."
	i=$((i + 1))
done >>cycle.ttl
cmd 0 sparql -d cycle.ttl --format csv 'PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { :n0 (:a|:b|(:a/:b*))* ?x }' && says "$out" 300
check 'closures of closures over cycles end'
# Documents made to hurt.
{
	printf '@prefix : <http://e/> . :a :b '
	yes '[ :b ' | head -n 200000 | tr -d '\n'
	printf ':c'
	yes ' ]' | head -n 200000 | tr -d '\n'
	printf ' .'
} >brackets.ttl
cmd 125 sparql -d brackets.ttl 'ASK {}' && says "$err" 'nested too deep'
check 'brackets inside each other end'
{
	printf '@prefix : <http://e/> . :a :b '
	yes '(' | head -n 100000 | tr -d '\n'
	yes ')' | head -n 100000 | tr -d '\n'
	printf ' .'
} >lists.ttl
cmd 125 sparql -d lists.ttl 'ASK {}' && says "$err" 'nested too deep'
check 'lists inside each other end'
{
	printf '@prefix : <http://e/> . :a :b '
	yes '[ :b ' | head -n 100 | tr -d '\n'
	printf ':c'
	yes ' ]' | head -n 100 | tr -d '\n'
	printf ' .'
} >few.ttl
cmd 0 sparql -d few.ttl --format csv 'SELECT (COUNT(*) AS ?n) { ?s ?p ?o }' && says "$out" 101
check '... a hundred are read'
echo '@prefix : <http://e/> . :a :b "\u001b]0;owned\u0007 \u202e \u009b x", "=1+cmd|x" .' >steers.ttl
good=true
for f in table json xml csv tsv; do
	cmd 0 sparql -d steers.ttl --format $f 'SELECT ?o { ?s ?p ?o }' && ! LC_ALL=C grep -q "$(printf '\033\|\007\|\342\200\256\|\302\233')" "$out" && grep -q 'owned' "$out" || good=false
done
cmd 0 sparql -d steers.ttl --format turtle 'CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }' && ! LC_ALL=C grep -q "$(printf '\033\|\007\|\342\200\256\|\302\233')" "$out" || good=false
$good
check 'a literal steers no terminal, in any format'
cmd 0 sparql -d steers.ttl --format csv 'SELECT ?o { ?s ?p ?o }' && says "$out" "'=1+cmd"
check '... and is no formula'
finish
