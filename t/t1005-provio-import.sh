#!/bin/sh
# Documents in PROV-IO's vocabulary are taken in: stemma's own give in an empty record what the record that they came from says of
# objects, figures and parts; those that PROV-IO's own tool would write give what is written in them, whichever comes first.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- as PROV-IO's tool writes them: names by hand, and so the answers ----

# Workflow one: two ranks of a converter write parts of a dataset, a third program decimates it.
cat >convert.ttl <<'END'
<Bob>
    <prov:ofType> <prov:Agent> ;
    <prov:wasMemberOf> <provio:User> .
<MPI_rank_0>
    <prov:actedOnBehalfOf> <Bob> ;
    <prov:ofType> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Thread> .
<MPI_rank_1>
    <prov:actedOnBehalfOf> <Bob> ;
    <prov:ofType> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Thread> .
<tdms2h5--a0>
    <prov:actedOnBehalfOf> <MPI_rank_0> ;
    <prov:ofType> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Program> .
<tdms2h5--a1>
    <prov:actedOnBehalfOf> <MPI_rank_1> ;
    <prov:ofType> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Program> .
<open64--b0> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Create> ; <prov:wasAssociatedWith> <tdms2h5--a0> .
<read--b1> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Read> ; <prov:wasAssociatedWith> <tdms2h5--a0> ; <provio:elapsed> "250" .
<read--b2> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Read> ; <prov:wasAssociatedWith> <tdms2h5--a1> .
<H5Dcreate2--b3> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Create> ; <prov:wasAssociatedWith> <tdms2h5--a0> .
<H5Dwrite--b4> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <tdms2h5--a0> ; <provio:elapsed> "1500" .
<H5Dwrite--b5> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <tdms2h5--a0> ; <provio:elapsed> "500" .
<H5Dwrite--b6> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <tdms2h5--a1> .
</data/west.tdms> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasCreatedBy> <open64--b0> ; <prov:wasReadBy> <read--b1> .
</data/sac.tdms> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasReadBy> <read--b2> .
</Timestep_0/x>
    <prov:ofType> <prov:Entity> ;
    <prov:wasAttributedTo> <tdms2h5--a0>, <tdms2h5--a1> ;
    <prov:wasCreatedBy> <H5Dcreate2--b3> ;
    <prov:wasWrittenBy> <H5Dwrite--b4>, <H5Dwrite--b5>, <H5Dwrite--b6> ;
    <prov:wasMemberOf> <provio:DataObject:Dataset> .
END
cat >decimate.ttl <<'END'
<decimate--a7> <prov:ofType> <prov:Agent> ; <prov:wasMemberOf> <provio:Program> .
<H5Dopen2--c0> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Open> ; <prov:wasAssociatedWith> <decimate--a7> .
<H5Dread--c1> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Read> ; <prov:wasAssociatedWith> <decimate--a7> .
<H5Aread--c2> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Read> ; <prov:wasAssociatedWith> <decimate--a7> .
<H5Dwrite--c3> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <decimate--a7> .
<H5Fflush--c4> <prov:ofType> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Fsync> ; <prov:wasAssociatedWith> <decimate--a7> .
</Timestep_0/x> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasOpenedBy> <H5Dopen2--c0> ; <prov:wasReadBy> <H5Dread--c1> .
</Timestep_0/x/rate> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:Attr> ; <prov:wasReadBy> <H5Aread--c2> .
</Timestep_0/y> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasOpenedBy> <H5Dopen2--c0> .
</Decimated/x> <prov:ofType> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasWrittenBy> <H5Dwrite--c3> ; <prov:wasFlushedBy> <H5Fflush--c4> .
END
# Workflow two, of somebody else, begins with what the first one made.
cat >train.ttl <<'END'
<Alice> <prov:type> <prov:Agent> ; <prov:wasMemberOf> <provio:User> .
<train--z1> <prov:type> <prov:Agent> ; <prov:wasMemberOf> <provio:Program> ; <prov:actedOnBehalfOf> <Alice> .
<H5Dread--z2> <prov:type> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Read> ; <prov:wasAssociatedWith> <train--z1> ; <prov:startedAtTime> "Mon Jun 27 10:11:12 2022" .
<write--z3> <prov:type> <prov:Activity> ; <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <train--z1> .
</Decimated/x> <prov:type> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasReadBy> <H5Dread--z2> .
</models/net.bin> <prov:type> <prov:Entity> ; <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasWrittenBy> <write--z3> .
<config--5> a <provio:Configuration> ; <provio:Name> "batch_size" ; <provio:Value> "5" ; <provio:Version> "3" ; <provio:hasAccuracy> "0.875" .
END
names() { jq -r '.. | .path? // empty' "$out" | sort -u; }
answers()
{
	cmd 0 lineage --json /models/net.bin && names >"$T/o" && is "$T/o" '/Decimated/x
/Timestep_0/x
/Timestep_0/x/rate
/data/sac.tdms
/data/west.tdms
/models/net.bin' && cmd 0 lineage --json --down /data/sac.tdms && names >"$T/o" && is "$T/o" '/Decimated/x
/Timestep_0/x
/data/sac.tdms
/models/net.bin' && cmd 1 lineage /Timestep_0/y && says "$err" 'only the name of'
}
cmd 0 import convert.ttl decimate.ttl train.ttl && says_not "$err" 'skipped' && answers
check "PROV-IO's own documents: two workflows that share a file are one lineage"
for order in 'train decimate convert' 'decimate convert train' 'convert train decimate'; do
	rm -rf "$STEMMA_HOME"
	for f in $order; do cmd 0 import "$f.ttl"; done
	answers
	check "... imported in the order $order"
done
cmd 0 sql --csv "SELECT argv, path, api, direction, calls, ifnull(spent, 0) AS spent FROM io JOIN execution ON execution.id = io.execution JOIN file ON file.id = io.file ORDER BY argv, path, api, direction"
tr -d '\r' <"$out" >"$T/o" && is "$T/o" 'argv,path,api,direction,calls,spent
decimate--a7,/Decimated/x,data,write,1,0
decimate--a7,/Decimated/x,flush,read,1,0
decimate--a7,/Timestep_0/x,data,read,1,0
decimate--a7,/Timestep_0/x,h5open,read,1,0
decimate--a7,/Timestep_0/x/rate,attr,read,1,0
decimate--a7,/Timestep_0/y,h5open,read,0,0
tdms2h5--a0,/Timestep_0/x,create,write,1,0
tdms2h5--a0,/Timestep_0/x,data,write,2,2000000
tdms2h5--a0,/data/west.tdms,create,write,1,0
tdms2h5--a0,/data/west.tdms,read,read,1,250000
tdms2h5--a1,/Timestep_0/x,data,write,1,0
tdms2h5--a1,/data/sac.tdms,read,read,1,0
train--z1,/Decimated/x,data,read,1,0
train--z1,/models/net.bin,read,write,1,0'
check 'calls are counted with their programs, and their times'
cmd 0 best --metric accuracy && says "$out" 'accuracy = 0.875' 'batch_size = 5  version 3' && says "$out" Alice
check 'what came of which configuration'
cmd 0 import decimate.ttl && says "$out" 'here already' || says "$out" decimate && answers
check 'the same again adds nothing'

# With times an object changes: what was read before it was written over came of the first that wrote it.
rm -rf "$STEMMA_HOME"
cat >times.ttl <<'END'
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix provio: <http://www.w3.org/ns/provio#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://example.org/> .
:one a provio:Program ; rdfs:label "one" . :two a provio:Program ; rdfs:label "two" . :three a provio:Program ; rdfs:label "three" .
:f a provio:File ; rdfs:label "/d/in.h5" ; prov:hadMember :g . :g a provio:Group ; rdfs:label "raw" ; prov:hadMember :x .
:x a provio:Dataset ; rdfs:label "raw/x" ; prov:hadMember :r ; provio:wasWrittenBy :w1 , :w2 ; provio:wasReadBy :r1 .
:r a provio:Attribute ; rdfs:label "rate" ; provio:wasReadBy :r2 .
:out a provio:File ; rdfs:label "/d/out.h5" ; prov:hadMember :y . :y a provio:Dataset ; rdfs:label "/y" ; provio:wasWrittenBy :w3 .
:a a provio:File ; rdfs:label "/d/a" ; provio:wasReadBy :ra . :b a provio:File ; rdfs:label "/d/b" ; provio:wasReadBy :rb .
:ra a provio:Read ; prov:wasAssociatedWith :one ; prov:startedAtTime "2022-01-01T00:00:01Z"^^xsd:dateTime .
:w1 a provio:Write ; prov:wasAssociatedWith :one ; prov:startedAtTime "2022-01-01T00:00:02Z"^^xsd:dateTime ; provio:elapsed 0.25 .
:r1 a provio:Read ; prov:wasAssociatedWith :two ; prov:startedAtTime "2022-01-01T00:00:03Z"^^xsd:dateTime ; provio:count 7 .
:r2 a provio:Read ; prov:wasAssociatedWith :two ; prov:startedAtTime "2022-01-01T00:00:03Z"^^xsd:dateTime .
:w3 a provio:Write ; prov:wasAssociatedWith :two ; prov:startedAtTime "2022-01-01T00:00:04Z"^^xsd:dateTime .
:rb a provio:Read ; prov:wasAssociatedWith :three ; prov:startedAtTime "2022-01-01T00:00:05Z"^^xsd:dateTime .
:w2 a provio:Write ; prov:wasAssociatedWith :three ; prov:startedAtTime "2022-01-01T00:00:06Z"^^xsd:dateTime .
END
cmd 0 import times.ttl && cmd 0 lineage --json /d/out.h5//y && names >"$T/o" && is "$T/o" '/d/a
/d/in.h5//raw/x
/d/in.h5//raw/x@rate
/d/out.h5//y' && cmd 0 lineage --json /d/in.h5//raw/x && jq -r '.. | .argv? // empty | .[0]' "$out" | sort -u >"$T/o" && says "$T/o" three
check 'objects lie in their files, and what was written over later is not in the lineage'
cmd 0 sql --csv "SELECT calls, spent, first FROM io JOIN file ON file.id = io.file WHERE path LIKE '%raw/x' ORDER BY first" && tr -d '\r' <"$out" | cut -d, -f1,2 >"$T/o" && is "$T/o" 'calls,spent
1,250000000
7,0
1,0'
check 'counts and seconds'

# ---- documents that mean harm ----

for doc in '<a> <prov:wasMemberOf> <provio:IOAPI:Read> .' '<a> a <provio:File> ; <prov:wasReadBy> <a> . <a> a <provio:Read> .' '<a> a <provio:File> ; <http://www.w3.org/ns/prov#hadMember> <b> . <b> a <provio:Group> ; <http://www.w3.org/ns/prov#hadMember> <a> ; <prov:wasWrittenBy> <w> . <w> a <provio:Write> ; <http://www.w3.org/ns/prov#wasAssociatedWith> <w> .' \
	'<x> a <provio:Dataset> ; <provio:wasWrittenBy> <w> , "w" , <nobody> . <w> a <provio:Write> ; <provio:count> "99999999999999999999999" ; <provio:elapsed> "1e400" , "-5" , "" ; <provio:sizes> "1 x 99999999999999999999999" .' \
	'<p> a <provio:Program> ; <urn:stemma:provio#execution> <p> . <c> a <provio:Configuration> . <m> a <provio:Metrics> ; <provio:Name> "n" ; <provio:Value> "not a number" . <q> a <urn:stemma:provio#Part> ; <urn:stemma:provio#ofRun> <urn:stemma:id:r> .'; do
	rm -rf "$STEMMA_HOME"
	echo "$doc" >bad.ttl
	"$STEMMA" import bad.ttl >"$out" 2>"$err"
	got=$?
	[ $got -le 1 ] || [ -s "$err" ]
	check "a document that makes no sense: status $got"
	[ ! -d "$STEMMA_HOME/logs" ] || cmd 0 fsck
	check '... and the record is whole'
done

# ---- stemma's own ----

H5=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
[ -x "$H5" ] || {
	skip "stemma's own" 'HDF5 was not there when the tests were built'
	finish
	exit
}
unset LD_PRELOAD
rm -rf "$STEMMA_HOME"
cp "$H5" ./h5steps
PYTHONPATH=$here/bindings/python STEMMA_APP_LIBRARY=$BUILD/src/capture/app/libstemma-app.so.1 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH STEMMA_APP_LIBRARY PYTHONDONTWRITEBYTECODE
cat >train.py <<'END'
import sys, stemma
stemma.type('training'); stemma.config('rate', sys.argv[1]); stemma.config('size', '16', version='v1')
for i, x in enumerate(sys.argv[2:]):
    stemma.metric('accuracy', float(x), step=i + 1)
stemma.metric('loss', 1 - float(sys.argv[-1]))
END
cmd 0 run --hdf5 -- ./h5steps make in.h5 && cmd 0 run --hdf5 -- ./h5steps scale in.h5 mid.h5 && cmd 0 run --hdf5 -- ./h5steps columns in.h5 cut.h5 && cmd 0 run -q -- cp in.h5 copy.h5 && cmd 0 run --hdf5 -- ./h5steps columns copy.h5 last.h5 &&
	cmd 0 run -q -- $PYTHON train.py 0.1 0.5 0.9 0.625 && cmd 0 run -q -- $PYTHON train.py '0.01
"é"' 0.25 nan
check 'a record with objects, configurations and figures'
original=$STEMMA_HOME
runs=$("$STEMMA" log --json | jq -r '.runs[].id')
# What the two records answer.
same()
{
	STEMMA_HOME=$original "$STEMMA" "$@" >"$T/a" 2>"$err" || return 1
	STEMMA_HOME=$other "$STEMMA" "$@" >"$T/b" 2>>"$err" || return 1
	[ -s "$T/a" ] && diff "$T/a" "$T/b" >>"$err"
}
# What came of an object: the same files and objects, whichever way leads to them.
same_below()
{
	STEMMA_HOME=$original "$STEMMA" lineage --json --down "$1" 2>>"$err" | jq -r '.entities[].path' | sort >"$T/a"
	STEMMA_HOME=$other "$STEMMA" lineage --json --down "$1" 2>>"$err" | jq -r '.entities[].path' | sort >"$T/b"
	[ -s "$T/a" ] && diff "$T/a" "$T/b" >>"$err"
}
objects()
{
	for o in mid.h5//scaled/trace mid.h5//scaled/trace@rate in.h5//raw/trace in.h5//raw/trace@rate mid.h5 last.h5; do
		same lineage $o && same lineage --json --certain $o && same_below $o && same why $o && same show $o || return 1
	done
	# What was moved as it was is not exported: after an import it came from what its program used.
	same show cut.h5//cut && STEMMA_HOME=$other cmd 0 lineage cut.h5//cut && says "$out" 'dataset in.h5//raw/trace' &&
		same show last.h5//cut && STEMMA_HOME=$other cmd 0 lineage last.h5//cut && says "$out" 'dataset copy.h5//raw/trace'
}
for format in turtle prov-json; do
	other=$T/by-$format
	cmd 0 export --all --format $format -o all.$format && STEMMA_HOME=$other cmd 0 import all.$format && objects
	check "from $format: what objects came from, and what came of them"
done
other=$T/by-provio
cmd 0 export --all --format provio -o all.ttl && STEMMA_HOME=$other cmd 0 import all.ttl && says_not "$err" 'skipped' && objects
check 'from provio: what objects came from, and what came of them'
ok=0
for r in $runs; do same stat --hdf5 "$r" && same stat --hdf5 --times "$r" && same stat --hdf5 --json "$r" || ok=1; done
[ $ok = 0 ]
check '... calls, times and parts'
same table --all && same table --json && same best --metric accuracy && same best --metric accuracy --of max --json && same best --metric loss --lowest --json
check '... configurations and figures'
same sql --csv 'SELECT api, direction, calls, failed, bytes, largest, spent, first, last, size0, size1, size2, size3 FROM io ORDER BY 1, 2, 3, 4, 5, 6, 7, 8' && same sql --csv 'SELECT time, path, kind, type, shape, most FROM hdf5_object ORDER BY 1, 2' && same sql --csv 'SELECT path, direction, first, last, calls, elements, members FROM hdf5_part ORDER BY 1, 2, 3'
check '... row by row'
cp -r "$original" "$T/copy" && other=$T/copy && STEMMA_HOME=$other cmd 0 import all.ttl && ok=0
for r in $runs; do same stat --hdf5 "$r" || ok=1; done
[ $ok = 0 ] && same table --json && objects && same sql --csv 'SELECT count(*) FROM io' && same sql --csv 'SELECT count(*) FROM annotation' && same sql --csv 'SELECT count(*) FROM hdf5_part'
check 'into the record that it came from nothing comes'

$PYTHON -c 'import rdflib' 2>"$err" || {
	skip "the paper's queries" "no rdflib for $PYTHON"
	finish
	exit
}
STEMMA_HOME=$T/by-provio cmd 0 export --all --format provio -o again.ttl
cat >ask.py <<'END'
import rdflib, sys
P = '''PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX provio: <urn:stemma:provio#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> '''
queries = {  # Table 5: the statements that each line has
    '1-3': 'SELECT ?out ?in WHERE { ?o rdfs:label ?out ; provio:wasWrittenBy/prov:wasAssociatedWith ?program . ?d prov:wasAttributedTo ?program ; provio:wasReadBy ?api ; rdfs:label ?in ; a ?class . ?api prov:wasAssociatedWith ?program . FILTER(?class IN (provio:Dataset, provio:Attribute)) }',
    '4-6': 'SELECT ?label (SUM(?n) AS ?sum) (SUM(?t) AS ?all) WHERE { ?api prov:wasMemberOf prov:Activity ; rdfs:label ?label ; provio:count ?n ; provio:elapsed ?t } GROUP BY ?label',
    '7-9': 'SELECT ?name ?p ?t ?u WHERE { ?o a provio:Dataset ; rdfs:label ?name ; prov:wasAttributedTo ?program . ?program rdfs:label ?p ; prov:actedOnBehalfOf ?thread . ?thread rdfs:label ?t ; prov:actedOnBehalfOf ?user . ?user rdfs:label ?u }',
    '10-11': 'SELECT ?name ?value ?version ?metric ?figure WHERE { ?c a provio:Configuration ; rdfs:label ?name ; prov:value ?value ; provio:hasMetrics ?m . OPTIONAL { ?c provio:version ?version } ?m rdfs:label ?metric ; prov:value ?figure }'}
graphs = [rdflib.Graph().parse(f, format='turtle') for f in sys.argv[1:]]
for name, q in queries.items():
    answers = [sorted(tuple(str(v) for v in row) for row in g.query(P + q)) for g in graphs]
    print(name, 'same' if all(a == answers[0] for a in answers) else 'other', 'some' if len(answers[0]) > 1 else 'none')
print(sorted(' '.join(str(v) for v in row) for row in graphs[0].query(P + queries['10-11']) if str(row[0]) == 'size'))
END
$PYTHON -B ask.py all.ttl again.ttl >"$out" 2>"$err" && is "$out" "1-3 same some
4-6 same some
7-9 same some
10-11 same some
['size 16 v1 accuracy 0.625', 'size 16 v1 accuracy nan', 'size 16 v1 loss 0.375', 'size 16 v1 loss nan']"
check "the paper's queries have the same answers on an export and on that of its import"
finish
