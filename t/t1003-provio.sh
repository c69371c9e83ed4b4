#!/bin/sh
# The record in PROV-IO's vocabulary, asked what its paper asks (Table 5), by rdflib; and the counts of `stat --hdf5`. What the
# answers must be is known from the program, which did a known number of calls.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

H5=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
[ -x "$H5" ] || {
	echo '1..0 # SKIP HDF5 was not there when the tests were built'
	exit 0
}
unset LD_PRELOAD
cp "$H5" ./h5steps
cmd 0 run --hdf5 -- ./h5steps make in.h5 && cmd 0 run --hdf5 -- ./h5steps scale in.h5 mid.h5 && cmd 0 run --hdf5 -- ./h5steps columns in.h5 cut.h5
check 'three programs'

# scenario 1: how often each API was called; scale opens a file, three datasets and an attribute, makes a file, a group, a
# dataset and an attribute, reads two datasets and writes one
run=$("$STEMMA" log --json | jq -r '.runs[1].id')
cmd 0 sql --csv "SELECT api, direction, sum(calls), sum(bytes) FROM io WHERE execution IN (SELECT id FROM execution WHERE argv LIKE '%scale in.h5%') GROUP BY api, direction ORDER BY api, direction"
tr -d '\r' <"$out" >"$T/o" && mv "$T/o" "$out" && says "$out" 'data,read,2,6464' 'data,write,1,6400' 'attr,read,1,8' 'attr,write,1,8' 'create,write,4,0' 'h5open,read,5,0'
check 'calls by API'
cmd 0 stat --hdf5 "$run" && says "$out" H5Dread H5Dwrite 'in.h5//raw/trace' 'in.h5//raw/trace[0:7, 0:99]' && says_not "$out" 'in.h5//raw/time['
check 'stat --hdf5: the most used datasets, and parts'
cmd 0 stat "$run" && says_not "$out" '//'
check 'stat counts no byte twice'

# When its process began is said as the kernel does, not as a time of 1970; documents with such times are taken in as before.
cmd 0 export --format prov-json -o all.json && cp all.json "$out" && json '[.. | .["stemma:processStarted"]? // empty | .["$"]? // . | tonumber] | length > 0 and all(. > 0 and . <= '"$(cut -d. -f1 /proc/uptime)999999999"')'
check 'when processes began'
jq 'walk(if type == "object" and has("stemma:processStarted") then .["stemma:processStarted"] |= (((.["$"]? // .) | tostring) as $n |
	{"$": (($n[:-9] | tonumber | todate | rtrimstr("Z")) + "." + $n[-9:] + "Z"), "type": "xsd:dateTime"}) else . end)' all.json >old.json &&
	grep -q 1970- old.json && cmd 0 --store new import all.json && cmd 0 --store old import old.json && cmd 0 --store new sql --csv 'SELECT pub FROM execution ORDER BY 1' && cp "$out" "$T/pubs" &&
	cmd 0 --store old sql --csv 'SELECT pub FROM execution ORDER BY 1' && cmp -s "$T/pubs" "$out" && [ "$(wc -l <"$T/pubs")" -gt 3 ]
check '... in documents of before'

$PYTHON -c 'import rdflib' 2>"$err" || {
	skip 'queries' "no rdflib for $PYTHON"
	finish
	exit
}
cmd 0 export --format provio -o all.ttl
cat >ask.py <<'END'
import rdflib, sys
g = rdflib.Graph().parse('all.ttl', format='turtle')
P = '''PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX provio: <urn:stemma:provio#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> '''
def ask(q, **given):
    return sorted({tuple(str(v) for v in row) for row in g.query(P + q, initBindings={k: rdflib.Literal(v) for k, v in given.items()})})
def short(rows):
    return sorted(r[0].split('/work/')[-1] for r in rows)
if sys.argv[1] == 'lineage':
    # 1: data_object_a prov:wasAttributedTo ?program. 2: ?data_object prov:wasAttributedTo program. 3: provio:wasReadBy ?IO_API
    for p in short(ask('''SELECT DISTINCT ?in WHERE { ?o rdfs:label ?name ; provio:wasWrittenBy/prov:wasAssociatedWith ?program .
        ?d prov:wasAttributedTo ?program ; a ?class ; provio:wasReadBy ?api ; rdfs:label ?in . ?api prov:wasAssociatedWith ?program .
        FILTER(?class IN (provio:Dataset, provio:Attribute)) }''', name=sys.argv[2])):
        print(p)
elif sys.argv[1] == 'apis':
    # 4: ?IO_API prov:wasMemberOf prov:Activity. 5, 6: with provio:elapsed ?duration
    for label, n, t in ask('''SELECT ?label (SUM(?n) AS ?sum) (SUM(?t) AS ?all) WHERE { ?api prov:wasMemberOf prov:Activity ; rdfs:label ?label ;
        provio:count ?n ; provio:elapsed ?t } GROUP BY ?label'''):
        print(label, n, 'took time' if float(t) > 0 else 'took none')
else:
    # 7: file_a prov:wasAttributedTo ?program. 8: program prov:actedOnBehalfOf ?thread. 9: thread prov:actedOnBehalfOf ?user
    for program, thread, user in ask('''SELECT ?p ?t ?u WHERE { ?o rdfs:label ?name ; prov:wasAttributedTo ?program . ?program rdfs:label ?p ;
        prov:actedOnBehalfOf ?thread . ?thread rdfs:label ?t ; prov:actedOnBehalfOf ?user . ?user rdfs:label ?u }''', name=sys.argv[2]):
        print(program, thread.split()[0], user)
END
ask() { $PYTHON -B ask.py "$@" >"$out" 2>"$err"; }
ask lineage "$T/work/mid.h5//scaled/trace" && is "$out" 'in.h5//calib/gain
in.h5//raw/trace
in.h5//raw/trace@rate'
check 'queries 1 to 3: backward lineage of a dataset'
ask lineage "$T/work/cut.h5//cut" && is "$out" 'in.h5//raw/trace'
check '... of another'
ask apis && says "$out" 'H5Dread 3 took time' 'H5Dwrite 5 took time' 'H5Awrite 4 took time' 'H5Aread 1 took time' 'H5Fcreate 3 took time' 'H5Fopen 2 took time' 'H5Gcreate 3 took time' 'H5Dcreate 5 took time'
check 'queries 4 to 6: calls and time of each API'
ask who "$T/work/cut.h5//cut" && is "$out" "./h5steps process $(id -un)"
check 'queries 7 to 9: program, thread, user'
$PYTHON -B -c "
import rdflib
o = rdflib.Graph().parse('$here/doc/provio.ttl', format='turtle')
known = set(o.subjects())
g = rdflib.Graph().parse('all.ttl', format='turtle')
used = {t for row in g for t in row[1:] if isinstance(t, rdflib.URIRef) and str(t).startswith('urn:stemma:provio#')}
print(sorted(str(u) for u in used - known)); assert used and not used - known" >"$out" 2>"$err"
check 'every term is in the ontology'
finish
