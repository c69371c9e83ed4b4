#!/bin/sh
# export: pictures, read by Graphviz.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
from export_record import *
make(home, evtext)
END
if ! command -v dot >/dev/null; then
	skip 'dot and svg' 'Graphviz is not installed'
	cmd 125 export -f svg && says "$err" 'graphviz'
	check 'svg without Graphviz says what to install'
	finish
	exit
fi
# graph: what Graphviz understood of the last output, as JSON.
graph()
{
	dot -Tjson "$out" >"$T/graph.json" 2>"$err" && [ ! -s "$err" ]
}
cmd 0 export -f prov-json --all --fork -o "$T/all.json" && cmd 0 export -f dot --all --fork && graph
check 'Graphviz reads everything'
jq -r '.objects[] | select(.nodes == null and .shape == "box") | .name' "$T/graph.json" | sort >"$out" && jq -r '.activity | keys[] | select(startswith("id:x")) | sub("id:"; "")' "$T/all.json" | sort >"$T/want" && [ -s "$out" ] && cmp "$out" "$T/want" 2>"$err"
check 'every execution is a box'
jq -r '.objects[] | select(.shape == "note" or .shape == "cds") | .name' "$T/graph.json" | sort >"$out" && jq -r '.entity | to_entries[] | select(.value["prov:type"]["$"] != "stemma:File") | .key | sub("id:"; "")' "$T/all.json" | sort >"$T/want" && [ -s "$out" ] && cmp "$out" "$T/want" 2>"$err"
check 'every version is a note'
jq -r '.objects as $o | .edges[] | $o[.tail].name + " " + $o[.head].name' "$T/graph.json" | sort >"$out" && jq -r '(.used[] | [.["prov:entity"], .["prov:activity"]]), (.wasGeneratedBy[] | [.["prov:activity"], .["prov:entity"]]), (.wasDerivedFrom[] | [.["prov:usedEntity"], .["prov:generatedEntity"]]), (.wasInformedBy[] | [.["prov:informant"], .["prov:informed"]]) | map(sub("id:"; "")) | join(" ")' "$T/all.json" | sort >"$T/want" && [ -s "$out" ] && cmp "$out" "$T/want" 2>"$err"
check 'every edge goes from the earlier to the later'
jq -e '.objects as $o | [.objects[] | select(.nodes != null and (.label == "/w/log"))] | length == 1 and ([.[0].nodes[] | $o[.].label] | sort == ["@{1}", "@{2}", "@{2}\\nwrite 1", "@{2}\\nwrite 2"] or length == 4)' "$T/graph.json" >"$out" 2>"$err"
check 'the versions of a file stand together'
jq -r '.objects[].label' "$T/graph.json" >"$out" 2>"$err" && says "$out" '/w/"quotes" \\Back\\slash\\ <&amp;> '"'%s' {\$x} #;" && says "$out" '/w/two?lines?and a tab' && says "$out" '/w/ä日🧬' && says "$out" '/w/bad�� name' && says "$out" '/w/dddddddddddddddd…dddd'
check 'strange names'
# A fork that neither used nor wrote is not drawn, unless forks are asked for.
cmd 0 export -f dot && graph && jq -e '[.objects[].label] | any(startswith("process ")) and ([.[] | select(startswith("process "))] | length == 1)' "$T/graph.json" >"$out" 2>>"$err"
check 'processes without a program only where they did something'

# thick: the labels of what is drawn thick, and how many edges are
thick()
{
	jq -r '.objects[] | select(.penwidth == "3") | .label | split("\\n")[0]' "$T/graph.json" | sort -u | tr '\n' ' '
}
cmd 0 export -f dot --highlight '/w/top.csv@{1}' && graph && [ "$(thick)" = '@{1} head pipe sort -k 1 in.csv �x��\\" ' ]
check '--highlight: the nodes of the lineage'
jq -e '[.edges[] | select(.penwidth == "3")] | length == 4' "$T/graph.json" >"$out" 2>"$err" && cmd 0 export -f dot --highlight '/w/top.csv@{1}' 01CCCC && graph && [ "$(thick)" = '' ]
check '--highlight: its edges; and only what is exported'
cmd 0 export -f dot && says_not "$out" penwidth && cmd 1 export -f dot --highlight 01AAAA && cmd 1 export -f dot --highlight /w/nosuch
check '--highlight takes a file'
cmd 0 export -f svg --highlight '/w/top.csv@{1}' -o "$T/p.svg" && head -c 500 "$T/p.svg" >"$out" && says "$out" '<svg' && $PYTHON -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); sys.exit(len(d.getElementsByTagName("polygon")) < 20)' "$T/p.svg" 2>"$err"
check 'svg: well-formed, with polygons'
{ "$STEMMA" export -f svg | head -c 10; } >"$out" 2>"$err"; is "$out" '<?xml vers' || [ "$(cat "$out")" = '<?xml vers' ]
check 'svg: a reader that goes away'
mkdir "$T/bin" && printf '#!/bin/sh\nexit 3\n' >"$T/bin/dot" && chmod +x "$T/bin/dot" && ! PATH="$T/bin:$PATH" "$STEMMA" export -f svg -o "$T/no.svg" 2>"$err" && says "$err" 'failed' && [ ! -e "$T/no.svg" ]
check 'svg: dot that fails'
mkdir "$T/none" && ! PATH="$T/none" "$STEMMA" export -f svg 2>"$err" >"$out" && says "$err" 'graphviz'
check 'svg without Graphviz says what to install'
finish
