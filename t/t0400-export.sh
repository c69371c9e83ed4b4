#!/bin/sh
# export: PROV documents against readers that are not stemma's, and against the tables of the record.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# reads WHAT ARG...: a check of export_check.py; its reader may be missing.
reads()
{
	what=$1
	shift
	$PYTHON -B "$here/t/export_check.py" "$@" >"$out" 2>"$err"
	got=$?
	if [ $got = 77 ]; then
		skip "$what" 'python3-prov or python3-rdflib is not installed'
	else
		[ $got = 0 ]
		check "$what"
	fi
}
tables()
{
	{
		echo '{"none": []'
		for t in run execution file version edge; do
			printf ', "%s":' $t
			"$STEMMA" sql --json "SELECT * FROM $t" | jq .rows
		done
		echo '}'
	} >"$T/tables.json"
}
export_all()
{
	for f in $formats; do
		cmd 0 export -f "$f" -o "$T/all.$f" "$@" || return 1
	done
}

formats='turtle ntriples prov-json prov-jsonld prov-n'

# An empty record, and none.
cmd 1 export -f turtle && [ ! -s "$out" ]
check 'no record'
history <<'END'
h = History(''); h.add('session_end'); h.save(home, evtext)
END
export_all && [ ! -s "$T/all.ntriples" ] && jq -e '[.entity, .used] == [{}, {}]' "$T/all.prov-json" >"$out"
check 'an empty record'
reads 'an empty record: PROV-JSON' provjson "$T/all.prov-json"
reads 'an empty record: RDF' rdf "$T/all.turtle" "$T/all.ntriples"
reads 'an empty record: PROV-JSONLD' jsonld "$T/all.turtle" "$T/all.prov-jsonld"
reads 'an empty record: PROV-N' provn "$T/all.prov-n" "$T/all.prov-json"
rm -rf "$STEMMA_HOME"

history <<'END'
from export_record import *
make(home, evtext)
END
tables
export_all --all --fork
check 'every notation of PROV, of everything'
reads 'everything: python3-prov' provjson "$T/all.prov-json"
reads 'everything: rdflib' rdf "$T/all.turtle" "$T/all.ntriples"
reads 'everything: rdflib, PROV-JSONLD' jsonld "$T/all.turtle" "$T/all.prov-jsonld"
reads 'everything: PROV-N' provn "$T/all.prov-n" "$T/all.prov-json"
reads 'everything: as many things as the tables have' counts "$T/all.turtle" "$T/tables.json"
reads 'everything: every edge of the tables' complete "$T/all.prov-json" "$T/tables.json"
reads 'everything: times obey PROV' times "$T/all.prov-json"
# shellcheck disable=SC2016 # no expansion is meant
reads 'every byte of names and arguments' texts "$T/all.prov-json" '/w/bad\xff\xfe name' '/w/two\nlines\tand a tab' '\xffx\x01\x7f\\"' '/w/"quotes" \\Back\\slash\\ <&> \x27%s\x27 {$x} #;' \
	'PS1=\n\x1b[0m' 'two words' '--sep=\t' 'note=with "quotes"' "$($PYTHON -Bc "import sys; sys.path.insert(0, '$here/t'); from export_record import *; print(LONG)")"
if command -v rapper >/dev/null; then
	rapper -q -i turtle -o ntriples "$T/all.turtle" | sed 's/_:[A-Za-z0-9]*/_:b/g' | sort >"$T/theirs" 2>"$err" && rapper -q -i ntriples -o ntriples "$T/all.ntriples" | sed 's/_:[A-Za-z0-9]*/_:b/g' | sort >"$out" && [ -s "$out" ] && cmp "$T/theirs" "$out"
	check 'raptor: Turtle and N-Triples are the same triples'
else
	skip 'raptor: Turtle and N-Triples are the same triples' 'rapper (raptor2-utils) is not installed'
fi
if command -v serdi >/dev/null; then
	serdi -i turtle -o ntriples "$T/all.turtle" 2>"$err" | sed 's/_:[A-Za-z0-9]*/_:b/g' | sort >"$T/theirs" && serdi -i ntriples -o ntriples "$T/all.ntriples" 2>>"$err" | sed 's/_:[A-Za-z0-9]*/_:b/g' | sort >"$out" && [ -s "$out" ] && cmp "$T/theirs" "$out" && [ ! -s "$err" ]
	check 'serd: Turtle and N-Triples are the same triples'
else
	skip 'serd: Turtle and N-Triples are the same triples' 'serdi is not installed'
fi

# Without what is the machine's; only what is sure.
export_all && jq -e '[.entity[] | select(.["stemma:fileKind"] == "absent" or (.["stemma:path"] // "" | startswith("/etc/")))] == []' "$T/all.prov-json" >"$out" &&
	jq -e '([.used[], .wasGeneratedBy[] | .["stemma:via"]] | index("sync")) == null' "$T/all.prov-json" >"$out"
check 'by default without system files, absent paths, coordination'
reads 'by default: python3-prov' provjson "$T/all.prov-json"
reads 'by default: times obey PROV' times "$T/all.prov-json"
export_all --certain && jq -e '[.used[], .wasGeneratedBy[], .wasDerivedFrom[], .wasInformedBy[] | .["stemma:certainty"]] | unique == ["must"]' "$T/all.prov-json" >"$out"
check '--certain'
reads '--certain: times obey PROV' times "$T/all.prov-json"

# Parts of it.
paths()
{ # the paths of regular files' versions in the last output, sorted
	jq -r '.entity[] | select(.["prov:type"]["$"] == "stemma:Version") | .["stemma:path"] | sub("^/w/"; "")' "$out" | sort -u | tr '\n' ' '
}
argvs()
{
	jq -r '.activity[] | select(.["prov:type"]["$"] == "stemma:Execution") | .["stemma:argv"] // "[\"-\"]" | fromjson[0]' "$out" | sort -u | tr '\n' ' '
}
cmd 0 export -f prov-json '/w/top.csv@{1}' && [ "$(paths)" = 'in.csv top.csv ' ] && [ "$(argvs)" = 'head sort ' ] && json '[.entity[] | select(.["prov:type"]["$"] == "stemma:Stream")] | length == 1'
check 'FILE@{N}: what it came from'
cmd 0 export -f prov-json '/w/table@{2}' && [ "$(argvs)" = 'append count ' ] && cmd 0 export -f prov-json --depth 1 '/w/table@{2}' && [ "$(argvs)" = 'count ' ]
check '--depth'
cmd 0 export -f prov-json --down '/w/final@{1}' && [ "$(paths)" = 'final ' ] && cmd 0 export -f prov-json --down '/w/top.csv@{1}' && [ "$(paths)" = 'final report top.csv ' ]
check '--down: also what may have come by way of a change that nobody saw'
cmd 0 export -f prov-json --down '/w/in.csv@{1}' && case " $(paths)" in *' top.csv '*) ;; *) false ;; esac && case " $(paths)" in *' m.py '*) false ;; esac
check '--down'
cmd 0 export -f prov-json 01CCCC && [ "$(paths)" = 'in.csv report top.csv ' ] && [ "$(argvs)" = '- again ' ] && json '[.activity[] | select(.["prov:type"]["$"] == "stemma:Run")] | length == 1'
check 'RUN'
x=$("$STEMMA" sql --json "SELECT pub FROM execution WHERE argv = 'again'" | jq -r '.rows[0].pub')
cmd 0 export -f prov-json "$x" && [ "$(paths)" = 'in.csv report top.csv ' ] && [ "$(argvs)" = 'again ' ]
check 'EXECUTION'
cmd 0 export -f prov-json --since 2026-01-01T02:00:00Z && [ "$(argvs)" = '- again later ' ]
check '--since: what was still going on'
cmd 0 export -f prov-json --until 2026-01-01T01:00:00Z && case " $(argvs)" in *' later '* | *' again '*) false ;; *' head '*) ;; *) false ;; esac
check '--until'
cmd 0 export -f prov-json --since 2031-01-01 --until 2032-01-01 && [ "$(argvs)" = '- later ' ]
check 'between: only what never ended'
cmd 0 export -f prov-json --since 2031-01-01 01CCCC && json '.activity == {} and .entity == {}'
check '--since with a RUN'
cmd 1 export -f prov-json /w/nosuch && cmd 2 export -f nosuch && cmd 2 export && cmd 2 export -f turtle --since never
check 'mistakes'
cmd 0 export --formats
missing=$?
for f in $formats; do grep -q "^$f " "$out" || missing="$missing $f"; done
[ "$missing" = 0 ]
check '--formats'
# To a file: whole or not at all.
echo old >"$T/file" && cmd 0 export -f turtle -o "$T/file" && ! says "$T/file" old && cmd 125 export -f turtle -o "$T/no/such/file" && [ ! -e "$T/no" ] &&
	{ "$STEMMA" export -f turtle >/dev/full 2>"$err"; [ $? = 125 ]; } && [ -z "$(ls "$T"/file.* 2>/dev/null)" ]
check '--output'
(umask 027 && cmd 0 export -f turtle -o "$T/mode" && [ "$(stat -c %a "$T/mode")" = 640 ] && chmod 604 "$T/mode" && cmd 0 export -f turtle -o "$T/mode" && [ "$(stat -c %a "$T/mode")" = 604 ])
check 'a document has the permissions that the umask or the file before it says'
finish
