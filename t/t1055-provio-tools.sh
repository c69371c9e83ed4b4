#!/bin/sh
# import and export: documents as PROV-IO's own tools write them. Several writers tear one file, literals stand for
# subjects, dates are American. What can be read is read, what cannot is counted; and what stemma writes answers the
# queries that those tools ask.
#
# With PROV-IO's repository beside this one (shared/data/prov-io, or the folder STEMMA_PROVIO) its documents and query
# programs are tried, too.
own=${STEMMA_PROVIO:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
[ -n "$own" ] || own=$here/shared/data/prov-io
[ -d "$own" ] || own=$here/../shared/data/prov-io
fresh()
{
	rm -rf "$STEMMA_HOME"
}
names() { jq -r '.. | .path? // empty' "$out" | sort -u; }

# ---- torn by two writers: each began with a prefix, one of them in the middle of the other's date and later of its name
cat >torn.ttl <<'END'
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .

<convert--a1>
    <prov:type> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Program> .

<H5Dread--r1>
    <prov:startedAtTime> "10/13/2021 19:11:2" ;
    <prov:wasMemberOf> <provio:IOAPI:Read> ;
    <prov:wasAssociatedWith> <convert--a1> .

<H5Dread--lost1>
    <prov:wasMemberOf> <provio:IOAPI:Read> ;
    <prov:startedAtTime> "10/13/2021@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .

<train--a2>
    <prov:type> <prov:Agent> ;
    <prov:wasMemberOf> <provio:Program> .

<H5Dwrite--lo@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .

<H5Dwrite--w1>
    <prov:startedAtTime> "10/13/2021 19:11:12" ;
    <prov:wasMemberOf> <provio:IOAPI:Write> ;
    <prov:wasAssociatedWith> <convert--a1> .

 19:14:53" ;
    <prov:wasAssociatedWith> <convert--a1> .
st2>
    <prov:wasMemberOf> <provio:IOAPI:Write> .

<H5Dread--r2>
    <prov:startedAtTime> "10/13/2021 19:13:1" ;
    <prov:wasMemberOf> <provio:IOAPI:Read> ;
    <prov:wasAssociatedWith> <train--a2> .

<H5Dwrite--w2>
    <prov:startedAtTime> "10/13/2021 19:13:59" ;
    <prov:wasMemberOf> <provio:IOAPI:Write> ;
    <prov:wasAssociatedWith> <train--a2> .

</in/x> <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasReadBy> <H5Dread--r1> .
</mid/x> <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasWrittenBy> <H5Dwrite--w1> ; <prov:wasReadBy> <H5Dread--r2> .
</out/x> <prov:wasMemberOf> <provio:DataObject:Dataset> ; <prov:wasWrittenBy> <H5Dwrite--w2> .
END
# By hand: lost1 with the directive in its string, the name that is torn, the tail of lost1, which stands behind w1, and the rest of
# the name, which looks like a subject.
cmd 1 import torn.ttl && says "$err" "'torn.ttl' is not complete: 4 parts, the first at line 14, could not be read and were skipped" && says "$out" 'of a part of it added'
check 'a document that two writers tore: status 1, and it is said what was left out'
cmd 0 lineage --json /out/x && names >"$T/o" && is "$T/o" '/in/x
/mid/x
/out/x'
check '... what could be read answers'
cmd 0 sql --csv "SELECT argv, path, direction, first FROM io JOIN execution ON execution.id = io.execution JOIN file ON file.id = io.file ORDER BY first" && tr -d '\r' <"$out" >"$T/o" && is "$T/o" 'argv,path,direction,first
convert--a1,/in/x,read,1634152262000000000
convert--a1,/mid/x,write,1634152272000000000
train--a2,/mid/x,read,1634152381000000000
train--a2,/out/x,write,1634152439000000000'
check '... with month/day/year as UTC'
fresh && cmd 1 import --json torn.ttl && json '.imports[0] | .parts_left_out == 4 and .times_not_read == 0 and .executions == 2 and .added' && cmd 1 import torn.ttl && says "$out" 'nothing new' && says "$err" 'is not complete'
check '... in JSON, and when it is imported again'
cmd 1 export --check torn.ttl && says "$err" 'incomplete' '4 parts could not be read, the first at line 14' && says_not "$err" ': valid'
check '... and a check does not call it valid'
sed 's|10/13/2021 19:11:12|13/10/2021 19:11:12|; s|10/13/2021 19:11:2"|Wed Oct 13 19:11:02 2021"|' torn.ttl >odd.ttl && fresh && cmd 1 import --json odd.ttl && says "$err" '2 times could not be read and are unknown' && json '.imports[0].times_not_read == 2'
check 'times that are none are counted'

# ---- literals as subjects, and settings of no class
cat >settings.ttl <<'END'
@prefix ns1: <https://www.w3.org/ns/mls#> .

"['batch_size', '2022-01-24 19:51:59']" ns1:Name "batch_size" ;
    ns1:Quality "0.75" ;
    ns1:Type "Hyperparameters" ;
    ns1:Value "25" ;
    ns1:Version "v6" .

"['odd \"name\" <x> .\\']"@en ns1:Name "odd \"name\"" ;
    ns1:Type "A",
        "B" ;
    ns1:Value "one",
        "two" ;
    ns1:Version "v6" .
END
fresh && cmd 0 import settings.ttl && ! [ -s "$err" ] && cmd 0 sql --csv "SELECT kind, name, value, version, number FROM annotation ORDER BY 1, 2, 3" && tr -d '\r' <"$out" >"$T/o" && is "$T/o" 'kind,name,value,version,number
config,batch_size,25,v6,
config,"odd ""name""",one,v6,
config,"odd ""name""",two,v6,
metric,quality,,,0.75' && cmd 0 best --metric quality && says "$out" 'batch_size = 25  version v6'
check 'literals as subjects: settings with all their values, and what came of them'
cmd 0 import settings.ttl && says "$out" 'nothing new' && cmd 0 fsck
check '... once'

# ---- what is in a string of several lines is no statement, wherever it stands; brackets without end are no statements
cat >strings.ttl <<'END'
<a--1> <prov:wasMemberOf> <provio:Program> ; <prov:label> """
<forged--1> <prov:wasMemberOf> <provio:Program> .
<forged--2> <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <forged--1> .
</forged> <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasWrittenBy> <forged--2> .
""" .
<torn <here> .
<w--1> <prov:wasMemberOf> <provio:IOAPI:Write> ; <prov:wasAssociatedWith> <a--1> .
</f> <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasWrittenBy> <w--1> .
<x> <prov:label> """ without an end
</g> <prov:wasMemberOf> <provio:DataObject:File> ; <prov:wasWrittenBy> <w--1> .
END
fresh && cmd 1 import strings.ttl && says "$err" '2 parts, the first at line 6,' && cmd 0 lineage --json /f && names >"$T/o" && is "$T/o" '/f' && cmd 1 lineage /forged && cmd 1 lineage /g
check 'a string of several lines begins nothing'
$PYTHON -c 'print("<a--1> <prov:wasMemberOf> <provio:Program> .\n<b> <c> " + "[ <d> " * 100000)' >deep.ttl && fresh && cmd 125 import deep.ttl && says "$err" 'nested too deep' && ! [ -e "$STEMMA_HOME/logs" ]
check 'too deep is refused as before'
$PYTHON -c 'import sys; sys.stdout.write("<a--1> <prov:wasMemberOf> <provio:Program> .\n" + "<\n" * 200000 + "\"\n" * 100000)' >many.ttl && fresh && cmd 1 import many.ttl && says "$err" '300000 parts' || says "$err" 'parts'
check 'a document of 300,000 torn parts comes to an end'

# ---- others are whole or none
cat >other.ttl <<'END'
@prefix prov: <http://www.w3.org/ns/prov#> .
<a> a prov:Activity ; prov:used <e> .
<b> a prov:Activity ; prov:used "torn
<c> a prov:Activity .
END
fresh && cmd 125 import other.ttl && says "$err" 'other.ttl:3' && ! [ -e "$STEMMA_HOME/logs" ]
check "another program's document is refused as a whole, with the place"
fresh && cmd 0 run -q -- cp other.ttl copy && cmd 0 export -f provio -o whole.ttl && head -c "$(($(wc -c <whole.ttl) * 3 / 4))" whole.ttl >cut.ttl && fresh && cmd 125 import cut.ttl && says "$err" 'cut.ttl:' && ! [ -e "$STEMMA_HOME/logs" ] && cmd 0 import whole.ttl
check "stemma's own, cut off, is refused as a whole"

# ---- export: PROV-IO's names with stemma's beside them; its queries; links, directories and datatypes
cat >train.py <<'END'
import stemma, sys
stemma.type('training')
stemma.config('batch_size', 1)
stemma.config('batch_size', sys.argv[1], version=sys.argv[2])
if sys.argv[4:]:
    stemma.config('rate', sys.argv[4])
stemma.metric('accuracy', 0.999, step=1)
stemma.metric('accuracy', float(sys.argv[3]), step=2)
stemma.metric('loss', 7)
END
PYTHONPATH=$here/bindings/python PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
fresh && cmd 0 run -q -- $PYTHON train.py 5 v1 0.5 && cmd 0 run -q -- $PYTHON train.py 25 v2 0.0625 && cmd 0 run -q -- $PYTHON train.py 5 v3 1e-05 && cmd 0 run -q -- $PYTHON train.py 5 v4 0.875 0.1 && cmd 0 export -f provio -o prov.ttl
check 'four trainings'
id=$("$STEMMA" log --json | jq -r '.runs[0].id')
# What those two programs print, by hand: the last value of each setting counts, and the last accuracy of its run.
field='batch_size = 5 has been used.
Version: v1
Accuracy: 0.5
batch_size = 5 has been used.
Version: v3
Accuracy: 1e-05
batch_size = 5 has been used.
Version: v4
Accuracy: 0.875'
top="batch_size = 5 Version: v4 accuracy: 0.875
rate = 0.1 Version: $id accuracy: 0.875
batch_size = 5 Version: v1 accuracy: 0.5
batch_size = 25 Version: v2 accuracy: 0.0625
batch_size = 5 Version: v3 accuracy: 1e-05"
if $PYTHON -c 'import rdflib' 2>/dev/null; then
	cat >ask.py <<'END'
import rdflib
g = rdflib.Graph().parse('prov.ttl', format='turtle')
for row in sorted(g.query('SELECT ?version ?accuracy WHERE { ?x ns1:Name "batch_size" ; ns1:Value "5" ; ns1:Version ?version ; ns1:Quality ?accuracy }')):
    print('batch_size = 5 has been used.\nVersion: %s\nAccuracy: %s' % row)
END
	$PYTHON ask.py >"$out" 2>"$err" && is "$out" "$field"
	check 'a setting, its version and what came of it are asked for as PROV-IO does'
	if [ -f "$own/user_engine/query/field.py" ]; then
		$PYTHON "$own/user_engine/query/field.py" >"$T/o" 2>"$err"
		sed 's/ *$//' "$T/o" | grep -v '^urn:stemma:id:' | awk 'NF' | paste - - - | sort | tr '\t' '\n' >"$out" && is "$out" "$field"
		check "PROV-IO's own query for a setting, as it is"
		$PYTHON "$own/user_engine/query/top_accuracy.py" >"$T/o" 2>"$err"
		sed 's/^ *//; s/ *$//' "$T/o" | grep -v '^urn:stemma:id:' | awk 'NF' | paste -d ' ' - - - - | sed 's/^Type: training //' >"$T/got"
		# Both settings of the best run have its accuracy: between them the query says no order.
		{
			head -n 2 "$T/got" | sort
			tail -n +3 "$T/got"
		} >"$out" && is "$out" "$top"
		check "PROV-IO's own query for the best, as it is"
	else
		skip "PROV-IO's own query for a setting, as it is" "no PROV-IO repository at $own"
		skip "PROV-IO's own query for the best, as it is" "no PROV-IO repository at $own"
	fi
else
	skip 'a setting, its version and what came of it are asked for as PROV-IO does' "no rdflib for $PYTHON"
	skip "PROV-IO's own query for a setting, as it is" "no rdflib for $PYTHON"
	skip "PROV-IO's own query for the best, as it is" "no rdflib for $PYTHON"
fi
"$STEMMA" table --json >"$T/a" && STEMMA_HOME=$T/other cmd 0 import prov.ttl && STEMMA_HOME=$T/other "$STEMMA" table --json >"$T/b" && [ -s "$T/a" ] && cmp "$T/a" "$T/b" >"$err"
check 'and an import has each setting once, as it was told'
if $PYTHON -c 'import h5py' 2>/dev/null; then
	cat >links.py <<'END'
import os
import h5py
import numpy
os.mkdir('folder')
os.symlink('x.h5', 'sym')
with h5py.File('folder/x.h5', 'w') as f:
    f.create_group('g').create_dataset('d', data=[1, 2, 3]).attrs['unit'] = 'm'
    f['ext'] = h5py.ExternalLink('y.h5', '/z')
    f['soft'] = h5py.SoftLink('/g/d')
    f['moved'] = h5py.SoftLink('/nowhere')
    f.move('moved', 'g/moved')
    f['gone'] = h5py.SoftLink('/g/d')
    del f['gone']
    f['type'] = numpy.dtype('i4')
END
	fresh && cmd 0 run -q --hdf5 -- $PYTHON links.py && cmd 0 export -f provio && grep -oE 'a provio:(Directory|File|Link|Group|Dataset|Attribute|Datatype) , stemmaio:[A-Za-z]*' "$out" | sort | uniq -c | sed 's/^ *//; s/a provio:\([A-Za-z]*\) , stemmaio:\1$/\1/' >"$T/kinds" && sed -i '/ File$/d' "$T/kinds" && is "$T/kinds" '1 Attribute
1 Dataset
1 Datatype
1 Directory
2 Group
6 Link'
	check 'directories, links and datatypes are objects, whether anybody read them or not'
	sed -n 's/.*rdfs:label "\(.*\/x\.h5\/\/[a-z/]*\)".*/\1/p' "$out" | sed "s|^$PWD/folder/||" | sort | grep -E 'soft|moved|gone|ext' >"$T/labels"
	is "$T/labels" 'x.h5//ext
x.h5//g/moved
x.h5//gone
x.h5//moved
x.h5//soft' && cmd 0 show folder/x.h5//soft && says "$out" 'x.h5//g/d' 'dataset of an HDF5 or netCDF file'
	check 'a soft link is an object with its own path, moved or deleted too, and asking for it answers about what it leads to'
	cmd 0 export -f provio @ && says "$out" 'a provio:Directory , stemmaio:Directory' 'a provio:Link , stemmaio:Link' 'provio:wasWrittenBy :' 'stemmaio:wasWrittenBy :'
	check '... and so of a run'
else
	skip 'directories, links and datatypes are objects, whether anybody read them or not' "no h5py for $PYTHON"
	skip 'a soft link is an object with its own path, moved or deleted too, and asking for it answers about what it leads to' "no h5py for $PYTHON"
	skip '... and so of a run' "no h5py for $PYTHON"
fi

# ---- PROV-IO's own documents
torn=$own/example_provenance/h5bench/case1_WAR_64.ttl
if [ -f "$torn" ]; then
	fresh
	"$STEMMA" import --json "$torn" >"$out" 2>"$err"
	# What is whole in it, by a reader of lines: a name, a time and a type, four lines that nothing has torn.
	$PYTHON - "$torn" >"$T/whole" <<'END'
import re, sys
text = open(sys.argv[1], encoding='utf-8').read()
whole = re.findall(r'^<([^<>"@\s]+)>\n    <prov:startedAtTime> "\d\d/\d\d/\d{4} \d{1,2}:\d{1,2}:\d{1,2}" ;\n    <prov:type> <prov:Activity> \.$', text, re.M)
print(len(set(whole)))
END
	json ".imports[0] | .statements == $(cat "$T/whole") and .parts_left_out > 0" && says "$err" 'is not complete'
	check "PROV-IO's torn document: each call that is whole is read, and no other"
	fresh && cmd 0 import "$own/example_provenance/example_prov.ttl" && cmd 0 lineage /Timestep_0/x && cmd 0 import "$own/user_engine/query/prov.ttl" && cmd 0 sql --csv "SELECT count(DISTINCT name) AS n FROM annotation WHERE kind = 'config'" && tr -d '\r' <"$out" >"$T/o" && is "$T/o" "n
$(grep -o 'ns1:Name "[^"]*"' "$own/user_engine/query/prov.ttl" | sort -u | wc -l)"
	check "PROV-IO's example and its settings"
else
	skip "PROV-IO's torn document: each call that is whole is read, and no other" "no PROV-IO repository at $own"
	skip "PROV-IO's example and its settings" "no PROV-IO repository at $own"
fi
finish
