#!/bin/sh
# The manual and the completion: every command and option is in them, they are well formed, and the examples work.
complete=${STEMMA_COMPLETION:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

man=$here/man
commands=$(sed -n 's/^COMMAND(\([a-z0-9_]*\), .*/\1/p' "$here/src/cmd/commands.def")
for c in $commands; do says "$man/meson.build" "'-$c'" || missing="${missing:-} $c"; done
[ "$(echo "$commands" | wc -l)" -ge 30 ] && [ -z "${missing:-}" ]
check "man/meson.build installs a page for each command${missing:+; not for$missing}"
for c in $commands; do
	page=$man/stemma-$c.1
	"$STEMMA" $c --help-all >"$out" 2>"$err" && says "$page" '.Sh EXIT STATUS' '.Sh EXAMPLES' '.Sh DESCRIPTION' '.Sh SEE ALSO' &&
		says "$man/stemma.1" "Xr stemma-$c 1" && says "$page" ".Nd $(sed -n 2p "$out" | cut -c 1-12)"
	check "stemma-$c.1 has its sections"
	missing=
	# shellcheck disable=SC2013 # options are words
	for o in $(grep -oE '^ .*--[a-z0-9-]+' "$out" | grep -oE -- '--[a-z0-9-]+'); do
		grep -qE "^\.It .*Fl Fl ${o#--}( |\$)" "$page" || missing="$missing $o"
	done
	for o in $(grep -oE '^ +-[a-zA-Z0-9],' "$out" | tr -d ' ,-'); do
		grep -qE "^\.It Fl $o ," "$page" || missing="$missing -$o"
	done
	echo "missing:$missing" >"$out"
	[ -z "$missing" ]
	check "stemma-$c.1 has every option"
done
says "$man/stemma-run.1" '.Sh OVERHEAD' && says "$man/stemma-run.1" 'doc/OVERHEAD.md'
check 'stemma-run.1 tells what it costs'
if command -v mandoc >/dev/null; then
	# Whether the manuals of others are here is not asked.
	(cd "$man" && for page in *.1; do mandoc -Tlint "$page"; done) 2>"$err" | grep -v -e ': referenced manual not found: ' -e 'outdated mandoc.db lacks ' >"$out"
	[ ! -s "$out" ]
	check 'mandoc finds nothing wrong'
else
	skip 'mandoc finds nothing wrong' 'mandoc is not installed'
fi
# shellcheck disable=SC2046 # words
cmd 0 config --json && says "$man/stemma-config.1" $(jq -r '.settings[] | .key, .environment' "$out")
check 'stemma-config.1 has every setting'
missing=
for w in used made from into exe arg user host exit since before stage run path; do says "$man/stemma-find.1" ".It Cm $w" || missing="$missing $w"; done
[ -z "$missing" ]
check 'stemma-find.1 has every condition'

complete=${complete:-$BUILD/completion/stemma}
words()
{ # WORD...: what is offered for the last of them
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stemma; printf "%s\n" "${COMPREPLY[@]}"' - "$complete" "$@" >"$out" 2>"$err"
}
if command -v bash >/dev/null && [ -f "$complete" ]; then
	missing=
	words stemma ''
	for c in $commands; do grep -qx $c "$out" || missing="$missing $c"; done
	echo "missing:$missing" >>"$err"
	[ -z "$missing" ] && words stemma li && is "$out" lineage
	check 'completion: commands'
	bad=
	for c in $commands; do
		words stemma $c --
		for o in $("$STEMMA" $c --help-all | grep -oE '^ .*--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do grep -qx -e "$o" "$out" || bad="$bad $c$o"; done
	done
	echo "missing:$bad" >"$out"
	[ -z "$bad" ]
	check 'completion: every option'
	touch 'a file' && words stemma lineage --format '' && grep -qx svg "$out" && words stemma run -c t && grep -qx tree "$out" && words stemma config '' && grep -qx skew "$out" &&
		words stemma find us && grep -qx used "$out" && words stemma why 'a ' && grep -qx 'a file' "$out" && words stemma --store x log --js && grep -qx -- --json "$out"
	check 'completion: words, settings, conditions, files'
else
	skip 'completion' "bash or $complete is not there"
fi

# The examples, page by page, in a folder where they make sense.
printf '3,c\n1,a\n2,b\n' >measure.csv
printf 'order=-n\n' >run.ini
echo 'int main(void) { return 0; }' >kmeans.c
mkdir given && echo 1 >given/out && cat >given/ro-crate-metadata.json <<'END'
{"@graph": [{"@id": "out", "@type": "File"}, {"@id": "#1", "@type": "CreateAction", "instrument": {"@id": "#fit"}, "result": {"@id": "out"}}]}
END
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n. ./run.ini\nsort $order measure.csv >sorted.csv\ntail -n 2 sorted.csv >result.tmp\nmv result.tmp result.txt\n' >fit.sh
chmod +x fit.sh
if "$STEMMA" run -- ./fit.sh >"$out" 2>"$err"; then
	printf 'order=-rn\n' >run.ini
	"$STEMMA" run -- ./fit.sh >"$out" 2>"$err"
	PYTHONPATH=$here/t $PYTHON -B -c "from summaries import *; import sys
write([task(['./fit.sh', 'measure.csv'], i, 1 + i / 9, cpu_time=1, memory_resident_peak=(9 + i) << 20, bytes_read=2000 * i) for i in range(20)], sys.stdout)" >tasks.jsonl
	"$STEMMA" archive --submit tasks.jsonl >"$out" 2>"$err"
	cat >train.py <<'END'
import sys, stemma
stemma.config('rate', sys.argv[1]); stemma.config('size', 16)
for step in range(3): stemma.metric('accuracy', 1 - float(sys.argv[1]) / (step + 1), step)
stemma.metric('loss', float(sys.argv[1]))
END
	for rate in 0.1 0.01; do
		PYTHONPATH=$here/bindings/python STEMMA_APP_LIBRARY=$BUILD/src/capture/app/libstemma-app.so.1 PYTHONDONTWRITEBYTECODE=1 "$STEMMA" run -q -- $PYTHON train.py $rate >"$out" 2>"$err"
	done
	mkdir "$T/bin" && ln -s "$STEMMA" "$T/bin/stemma"
	for page in "$man"/*.1; do
		sed -n 's/^\.Dl \$ //p' "$page" | sed 's/\\-/-/g' >"$T/examples"
		while IFS= read -r line; do
			case $line in
			'stemma table'*) ;; # draws by itself
			'stemma watch'* | 'stemma serve'*) line="timeout --preserve-status -s INT 2 $line" ;; # goes on until it is ended
			*svg*) command -v dot >/dev/null || { skip "example: $line" 'Graphviz is not installed'; continue; } ;;
			*--spec* | 'stemma spec'*) "$STEMMA" doctor --quick | grep -q '^specifications *ok' || { skip "example: $line" 'built without LLVM'; continue; } ;;
			esac
			TMPDIR="$T" PATH="$T/bin:$PATH" sh -c "$line" >"$out" 2>"$err" </dev/null
			check "example of $(basename "$page"): $line"
		done <"$T/examples"
	done
else
	skip 'the examples' "nothing can be recorded here: $(head -n 1 "$err")"
fi
finish
