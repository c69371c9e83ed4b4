#!/bin/sh
# cc: what show tells of a program, whether its sources are what they were, and that the record is the same whatever log
# comes first.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

mkdir -p "$T/src"
cd "$T/src" || exit 1
printf '#include "a.h"\nint f(void);\nint main(void) { return f() - A; }\n' >main.c
printf '#include "a.h"\nint f(void) { return A; }\n' >f.c
echo '#define A 7' >a.h

fresh
cmd 0 cc gcc -c main.c && cmd 0 cc gcc -c f.c && cmd 0 cc gcc main.o f.o -o prog && cmd 0 show prog && says "$out" 'built by     gcc main.o f.o -o prog' '  main.c  source' '  f.c  source' '  a.h  header' 'made' '  prog  output'
check 'a program built in steps'
cmd 0 show --sources prog && says "$out" 'files unchanged'
check 'its sources are what they were'
mkdir "$T/away" && cp prog "$T/away/copy" && strip "$T/away/copy" && cmd 0 show --sources "$T/away/copy" && says "$out" 'gcc main.o f.o -o prog' 'files unchanged'
check 'a stripped copy elsewhere finds the record by its build-id'
gcc -Wl,--build-id=none main.o f.o -o "$T/away/other"
fresh && cmd 0 cc gcc -Wl,--build-id=none main.c f.c -o plain && cp plain "$T/away/plain" && cmd 0 show "$T/away/plain" && says "$out" '-Wl,--build-id=none main.c f.c -o plain'
check 'without a build-id by its digest'
fresh && cmd 0 cc gcc -c main.c f.c && cmd 0 cc gcc main.o f.o -o prog
echo '#define A 7 ' >a.h && cmd 1 show --sources prog && says "$out" '  a.h  header' changed '1 changed, 0 missing'
check 'a header that changed'
rm f.c && cmd 1 show --sources prog && says "$out" '1 changed, 1 missing' && cmd 1 show --json --sources prog && json '[.things[0].from[] | select(.now != "same") | [(.path | sub(".*/"; "")), .now]] | sort == [["a.h", "changed"], ["f.c", "missing"]]'
check 'a source that is gone'
cmd 0 show --json prog && json '.format == 1 and (.things[0] | .kind == "build" and .origin == "recorded" and .exit.status == 0 and .argv == ["gcc", "main.o", "f.o", "-o", "prog"] and .compiler != "" and (.programs | length) > 2)' && json '[.things[0].inputs[] | select(.path | endswith(".o")) | select(.path | contains("/x/")) | .path | sub(".*/"; "")] == ["main.o", "f.o"]' && json '.things[0].outputs[0] | (.digest | startswith("sha256:")) and (.build_id | length) == 40'
check 'JSON'
id=$(jq -r '.things[0].id' "$out") && cmd 0 show "$id" && says "$out" "build        $id" && cmd 0 show "$(printf %.8s "$id")" && says "$out" "build        $id" && cmd 1 show b123456
check 'by the id of the record'
cmd 0 show --all prog && says "$out" programs collect2 environment 'PATH='
check 'with everything'

# Without a record
gcc -g -O2 "$T/src/main.c" "$T/src/f.c" -o "$T/away/own" && cmd 0 show "$T/away/own" && says "$out" 'no record' 'built by     GCC: ' libc.so.6 && cmd 1 show --sources "$T/away/own" && cmd 0 show --json "$T/away/own" && json '.things[0] | .origin == "elf" and (.version | contains("GCC")) and (.inputs[0].path == "libc.so.6")'
check 'what the file itself tells'
if ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1'; then
	json '.things[0].version | contains("GNU C17")'
	check 'and the producer that DWARF names'
else
	skip 'and the producer that DWARF names' 'no libdw here'
fi
if command -v dpkg-query >/dev/null && dpkg-query -S /bin/ls >/dev/null 2>&1; then
	cmd 0 show /bin/ls && says "$out" 'package      coreutils '
	check 'and the package'
else
	skip 'and the package' 'no dpkg here, or it does not know ls'
fi
head -c 3000 "$T/away/own" >"$T/away/half" && cmd 0 show "$T/away/half" && : >"$T/away/nothing" && cmd 1 show "$T/away/nothing" && echo text >"$T/away/text" && cmd 1 show "$T/away/text" && cmd 1 show "$T/away" && cmd 1 show "$T/nosuch"
check 'half a program; what is none'

# The same bytes made in two folders: each file has its own sources.
for d in left right; do
	mkdir "$T/$d" && cd "$T/$d" && echo 'int alike(void) { return 77; }' >s.c && cmd 0 cc gcc -c s.c && cmd 0 cc gcc -shared -o "l$d.so" s.o
done
echo 'int alike(void) { return 78; }' >"$T/left/s.c"
cmp "$T/left/s.o" "$T/right/s.o" && cmd 1 show --sources "$T/left/s.o" && says "$out" "$T/left" '1 changed' 'also by' && cmd 0 show --sources "$T/right/s.o" && says "$out" "$T/right" 'also by'
check 'of builds that made the same bytes, the one of this very file'
cmd 1 show --sources "$T/left/lleft.so" && says "$out" '1 changed' && cmd 0 show --sources "$T/right/lright.so"
check 'and behind the objects of a link'

# Secrets
fresh && PASSWORD=hunter2 CFLAGS=-DKEY=x cmd 0 cc gcc -DAPI_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 -c main.c && latest argv && says "$out" 'API_TOKEN=***' && ! holds ghp_0123456789 && ! holds hunter2
check 'a secret in a flag is not kept'

# SQL
cmd 0 sql --csv "SELECT i.path FROM build b JOIN build_input i ON i.build = b.id JOIN build_output o ON o.build = b.id WHERE o.path LIKE '%/f.o' AND i.role = 'header' AND i.path LIKE '%/x/%' LIMIT 1" && says "$out" "$T/x/a.h"
check 'tables'

# The order of logs
mkdir "$T/one" "$T/two"
fresh && STEMMA_HOME=$T/one cmd 0 cc gcc -c main.c f.c && STEMMA_HOME=$T/two cmd 0 cc gcc main.o f.o -o prog
told()
{
	"$STEMMA" sql --csv 'SELECT pub, argv, gaps, code FROM build ORDER BY pub' && "$STEMMA" sql --csv 'SELECT b.pub, i.n, i.role, i.path, i.digest FROM build b JOIN build_input i ON i.build = b.id ORDER BY b.pub, i.n' && "$STEMMA" show --json prog
}
# shellcheck disable=SC2034 # by their names, below
one=$(cd "$T/one/logs" && echo ./*/*) && two=$(cd "$T/two/logs" && echo ./*/*)
for order in 'one two' 'two one'; do
	export STEMMA_HOME="$T/merged"
	rm -rf "$STEMMA_HOME" && mkdir -p "$STEMMA_HOME/logs"
	for k in $order; do
		where=
		eval "where=\$$k"
		mkdir -p "$STEMMA_HOME/logs/$k" && cp -r "$T/$k/logs/$where" "$STEMMA_HOME/logs/$k/" && cmd 0 index
	done
	told >"$T/told.${order%% *}" 2>"$err"
done
cmp "$T/told.one" "$T/told.two" && cmd 0 index --rebuild && told >"$T/told.again" && cmp "$T/told.one" "$T/told.again" && cmd 0 fsck
check 'A then B, B then A, and made again: the same'
jq -e '[.things[0].from[] | select(.role == "source") | .path | sub(".*/"; "")] == ["main.c", "f.c"]' >"$out" 2>"$err" <<END
$("$STEMMA" show --json prog)
END
check 'records of two logs are one chain'
seg=$(echo "$STEMMA_HOME"/logs/two/*/*.stl) && size=$(wc -c <"$seg") && head -c $((size - 1200)) "$seg" >"$T/torn" && cp "$T/torn" "$seg" && cmd 0 index --rebuild && cmd 0 sql --csv 'SELECT count(*) FROM build' && cmd 1 fsck && grep -q 'lacks a part of the log' "$err" "$out"
check 'a log that was cut off'
finish
