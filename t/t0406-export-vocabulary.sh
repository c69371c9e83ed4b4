#!/bin/sh
# shellcheck disable=SC2016 # no expansion is meant
# export: the document of the vocabulary and the manual have every attribute and format; what is exported is valid PROV.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

doc=$here/doc/format/prov.md
sed -n 's/^ATTR(\([A-Za-z]*\), \([a-z]*\), "\([a-z ]*\)", "\(.*\)")$/| `\1` | \2 | \4 |/p' "$here/src/prov/attrs.def" | sort >"$T/want" && sed -n '/^## Attributes/,/^## Times/p' "$doc" | grep '^| `' | sort >"$out" && [ -s "$out" ] && diff "$T/want" "$out" >"$err"
check 'doc/format/prov.md has every attribute, with its type and meaning'
[ "$(grep -c '^ATTR(' "$here/src/prov/attrs.def")" = "$(wc -l <"$T/want")" ]
check 'and the test has seen every row'

history <<'END'
from export_record import *
make(home, evtext)
END
cmd 0 export --formats && cp "$out" "$T/formats" && missing= && while read -r f _; do
	grep -q "$f" "$doc" || missing="$missing $f"
done <"$T/formats"
echo "missing:$missing" >"$err"
[ -z "$missing" ] && [ "$(wc -l <"$T/formats")" -ge 13 ]
check 'every format is in the document'
cut -d' ' -f1 "$T/formats" | sort >"$T/names" && sed -n '/^.Ss Formats/,/^.Ss Options/s/^.It Cm //p' "$here/man/stemma-export.1" | tr -s ' ,' '\n\n' | sort >"$out" && diff "$T/names" "$out" >"$err"
check 'the manual has every format, and no other'
grep -c '^FORMAT(' "$here/src/export/formats.def" >"$out" && [ "$(cat "$out")" = "$(wc -l <"$T/names")" ]
check 'and --formats lists every one there is'
missing=
while read -r f _; do
	case $f in
	datalad-run | pack) "$STEMMA" export -f "$f" -o "$T/out.$f" 01AAAA ;;
	svg | resource-monitor | kickstart | in-toto) continue ;; # graphviz may be missing; these runs were not measured and have no digests
	*) "$STEMMA" export -f "$f" -o "$T/out.$f" ;;
	esac >"$out" 2>>"$err" && [ -s "$T/out.$f" ] && [ ! -s "$out" ] || missing="$missing $f"
done <"$T/formats"
echo "not made:$missing" >>"$err"
[ -z "$missing" ]
check 'every format can be made'

# Attributes that occur are those of the table.
cmd 0 export -f prov-json --all --fork && jq -r '.[] | to_entries[] | .value | keys? | .[] | select(startswith("stemma:")) | sub("stemma:"; "") | sub("Base64$"; "")' "$out" | sort -u >"$T/used" && [ "$(wc -l <"$T/used")" -gt 40 ] &&
	sed 's/^| `\([A-Za-z]*\)`.*/\1/' "$T/want" | sort -u >"$T/known" && comm -23 "$T/used" "$T/known" >"$out" && [ ! -s "$out" ]
check 'no attribute that is not in it'
for o in '' '--all --fork' --certain '--until 2026-01-01T01:00:00Z'; do
	# shellcheck disable=SC2086 # options
	cmd 0 export --check $o
	check "PROV-CONSTRAINTS hold: export${o:+ $o}"
done
finish
