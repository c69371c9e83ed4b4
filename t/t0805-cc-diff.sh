#!/bin/sh
# diff, rung build: what the test changed between two builds of a program is what diff names, whichever side comes first.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
rm -rf "$STEMMA_HOME"

mkdir -p "$T/src"
cd "$T/src" || exit 1
printf '#include "a.h"\n#include <stdio.h>\nint f(int);\nint main(void) { return printf("%%d\\n", f(A)) < 0; }\n' >main.c
printf 'int f(int n) { return n + 1; }\n' >f.c
echo '#define A 7' >a.h
fresh

# built COMMAND...: builds, and a run uses what was built
built()
{
	"$@" >"$out" 2>"$err" && "$STEMMA" run -q -- sh -c './prog >result' >>"$out" 2>>"$err"
}

json() { jq -e "$1" "$out" >/dev/null 2>>"$err" || { echo "not so: $1" >>"$err" && return 1; }; }

# named PART NAME A B: of the last two runs, in both orders; NAME, A and B as jq says them
named()
{
	cmd 1 diff --json @~1 @ && json "[.rungs[] | select(.name == \"build\").differences[]
		| select(.part == \"$1\" and ((.name // \"\") | endswith(\"$2\"))) | [.a, .b]] == [[$3, $4]]" &&
		cmd 1 diff --json @ @~1 && json "[.rungs[] | select(.name == \"build\").differences[]
		| select(.part == \"$1\" and ((.name // \"\") | endswith(\"$2\"))) | [.a, .b]] == [[$4, $3]]"
}

# parts PART...: of the last two runs these are all
parts()
{
	printf '%s\n' "$@" | sort >"$T/parts"
	cmd 1 diff --json && jq -r '.rungs[] | select(.name == "build").differences[].part' "$out" | sort >"$T/got" && cmp "$T/parts" "$T/got" 2>>"$err"
}

# what sha256sum says, as JSON
digest() { echo "\"sha256:$(sha256sum "$1" | cut -d ' ' -f 1)\""; }

# narrow: the lines of the rung, and of the first cause what is of the build
narrow()
{
	cmd 1 diff --all && sed -n '/^build/,/^options/p; /^ *build: /,/reaches/p' "$out" >"$T/rung" && [ -s "$T/rung" ] && ! grep -E '.{81}' "$T/rung" >>"$err"
}

built "$STEMMA" cc gcc -O1 main.c f.c -o prog && built "$STEMMA" cc gcc -O2 -g main.c f.c -o prog && named flags '' '"-O1"' '"-O2 -g"' && parts flags
check 'flags'
cmd 1 diff && says "$out" 'build: prog  flags' '  -O1 -> -O2 -g' && json_first=$("$STEMMA" diff --json | jq -r '.first_cause | .rung + " " + .subject') && [ "$json_first" = "programs $T/x/prog" ] && narrow
check 'and the program is the cause, with what made it another'
built "$STEMMA" cc gcc -O2 -g -DN=2 -DM main.c f.c -o prog && named defines '' null '"-DN=2 -DM"' && parts defines
check 'defines'
was=$(digest f.c) && echo 'int f(int n) { return n + 2; }' >f.c && is_now=$(digest f.c) && built "$STEMMA" cc gcc -O2 -g -DN=2 -DM main.c f.c -o prog && named source /x/f.c "$was" "$is_now" && parts source && narrow
check 'a source'
was=$(digest a.h) && echo '#define A 8' >a.h && is_now=$(digest a.h) && built "$STEMMA" cc gcc -O2 -g -DN=2 -DM main.c f.c -o prog && named header /x/a.h "$was" "$is_now" && parts header
check 'a header'
cmd 1 diff --html && says "$out" 'prog  header a.h'
check 'as a page'

# Through objects that have records of their own
objects() { "$STEMMA" cc gcc "$1" -c main.c && "$STEMMA" cc gcc "$1" -c f.c && "$STEMMA" cc gcc main.o f.o -o prog; }
built objects -O1 && built objects -O3 && named flags '' '"-O1"' '"-O3"' && json '[.rungs[] | select(.name == "build").differences[].count] == [2]' && parts flags
check 'flags of two objects, said once'
was=$(digest a.h) && echo '#define A 9' >a.h && built objects -O3 && named header /x/a.h "$was" "$(digest a.h)" && parts header
check 'a header of an object'

# A static library
archive() { gcc -c f.c && ar rcD libf.a f.o && "$STEMMA" cc gcc main.c -L. -lf -o prog; }
built archive && was=$(digest libf.a) && echo 'int f(int n) { return n * 3; }' >f.c && built archive && named archive /x/libf.a "$was" "$(digest libf.a)" && parts archive
check 'a static library'

if command -v clang >/dev/null; then
	built "$STEMMA" cc gcc main.c f.c -o prog && built "$STEMMA" cc clang main.c f.c -o prog && named compiler '' "\"$(command -v gcc)\"" "\"$(command -v clang)\"" && named version '' "\"$(gcc --version | head -n 1)\"" "\"$(clang --version | head -n 1)\"" && narrow
	check 'another compiler'
else
	skip 'another compiler' 'no clang here'
fi
if command -v git >/dev/null; then
	commit() { git add main.c f.c a.h && git -c user.name=n -c user.email=e commit -q --allow-empty -m "$1"; }
	git init -q . && commit one && one=$(git rev-parse HEAD) && built "$STEMMA" cc gcc main.c f.c -o prog && commit two && two=$(git rev-parse HEAD) && built "$STEMMA" cc gcc -g main.c f.c -o prog && named commit '' "\"$one\"" "\"$two\"" && parts commit flags
	check 'the commit'
	rm -rf .git
else
	skip 'the commit' 'no git here'
fi

# Without a record
built "$STEMMA" cc gcc main.c f.c -o prog && built gcc -O2 main.c f.c -o prog && command_a='"gcc main.c f.c -o prog"' && cmd 1 diff --json &&
	json "[.rungs[] | select(.name == \"build\").differences[] | [.part, .kind, .a]] == [[\"record\", \"removed\", $command_a]]" && json '[.rungs[] | select(.name == "build").differences[].b | contains("GCC: (")] == [true]' &&
	cmd 1 diff --json @ @~1 && json "[.rungs[] | select(.name == \"build\").differences[] | [.part, .kind, .b]] == [[\"record\", \"added\", $command_a]]"
check 'one side has no record, and says what its file says'
cmd 1 diff && says "$out" "prog  no record of how B's was built" 'A: gcc main.c f.c -o prog' && narrow
check 'in words'
built "$STEMMA" cc gcc main.c f.c -o prog && cmd 1 diff --json && json '[.rungs[] | select(.name == "build").differences[] | [.part, .kind, .a]] == [["record", "added", "the file is gone"]]'
check 'and that it is gone'
built gcc main.c f.c -g -o prog && built gcc main.c f.c -O3 -o prog && cmd 1 diff --json && json '[.rungs[] | select(.name == "build").same] == [true]' && cmd 1 diff && ! grep -q '^build' "$out"
check 'no record on either side: no word of it'

# The same again
built "$STEMMA" cc gcc main.c f.c -o prog && built "$STEMMA" cc gcc main.c f.c -o prog && cmd 1 diff --json && json '.first_cause == null' && json '[.rungs[] | select(.name == "build").differences[].part] == ["same"]' && json '[.rungs[] | select(.name == "programs").differences[].content] == ["same"]' && cmd 1 diff && says "$out" 'prog  built twice, to the same bytes'
check 'the same bytes are no cause'
cp -p prog there && built cp -p there prog && built "$STEMMA" cc gcc -O2 main.c f.c -o prog && named flags '' null '"-O2"'
check 'a copy with its time has its record'
finish
