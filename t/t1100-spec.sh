#!/bin/sh
# Specifications: what stemma spec says of programs whose graphs are known, of what is built in different ways, and of
# what is no program.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

cat >small.c <<'END'
#include <stdio.h>
static int work(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += i & 3;
	return s;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? argv[1][0] : 3;
	for (int i = 0; i < n; i++) {
		int w = work(i);
		if (w > 3)
			fputs("many", stdout);
		else if (w == 1)
			fputs("one", stdout);
	}
	if (argc > 5)
		n++;
	switch (n) {
	case 3:
	case 4:
		fputs("three", stdout);
		break;
	case 7:
		fputs("seven", stdout);
		break;
	default:
		break;
	}
	return n & 1;
}
END

# kind, line, name or condition, and where each way leads, by the lines there; written by hand.
graph()
{
	jq -r --arg f "$1" '.functions[] | select(.name == $f) | .nodes as $n | $n[] |
		"\(.kind) \(.line) \(.name // .condition // "") \([.edges[] | "\(if .label then .label + "=" else "" end)\($n[.to].kind) \($n[.to].line)"] | join("; "))"' "$out"
}

"$CLANG" -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c small.c -o small.bc
cmd 0 spec --json small.bc && graph main >"$T/graph" && cat >"$T/want" <<'END' && diff "$T/want" "$T/graph" >&2
entry 9  decision 12
decision 12 slt i32 true=decision 14; false=decision 21
decision 14 sgt i32 true=syscall 15; false=decision 16
syscall 15 fputs decision 12
decision 16 eq i32 true=syscall 17; false=decision 12
syscall 17 fputs decision 12
decision 21 switch i32 case 3, 4=syscall 24; case 7=syscall 27; default=return 32
syscall 24 fputs return 32
syscall 27 fputs return 32
return 32  
END
check "the graph of main, and no decision that decides nothing"

[ "$(jq -r '.functions | length' "$out")" = 1 ] && [ "$(jq .stats.functions "$out")" = 2 ]
check "a function that reaches no system call is left out"

"$CLANG" -g -O0 -emit-llvm -c small.c -o o0.bc
cmd 0 spec --json o0.bc && graph main >"$T/graph0" && diff "$T/want" "$T/graph0" >&2
check "the same graph of code that was not optimised"

cat >not.c <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	if (!argv[1])
		puts("none");
	switch (argc) {
	case 2 ... 400:
		puts("some");
	}
	return 0;
}
END
truth='[.functions[0].nodes[] | select(.kind == "decision") | [.condition, .source_truth, ([.edges[] | .label])]]'
"$CLANG" -g -O0 -fno-discard-value-names -emit-llvm -c not.c -o named.bc && cmd 0 spec --json named.bc &&
	json "$truth == [[\"eq ptr\", true, [\"true\", \"false\"]], [\"ule i32\", null, [\"true\", \"false\"]]]"
check "true is the source's, and it is known of what it is not"
"$CLANG" -g -O0 -fdiscard-value-names -emit-llvm -c not.c -o unnamed.bc && cmd 0 spec --json unnamed.bc &&
	json "$truth == [[\"ne ptr\", null, [\"true\", \"false\"]], [\"ule i32\", null, [\"true\", \"false\"]]]"
check "without names of blocks it is not said to be"

for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	cmd 0 cc --spec $cc -O2 -c small.c -o small.o && cmd 0 cc --spec $cc small.o -o small && cmd 0 spec --json small &&
		graph main >"$T/graph1" && diff "$T/want" "$T/graph1" >&2
	check "the same graph in a program that $cc made of objects"
	cmd 0 cc --spec $cc -O2 small.c -o once && cmd 0 spec --json once && graph main >"$T/graph1" && diff "$T/want" "$T/graph1" >&2
	check "and of sources at once"
	$cc -O2 -c small.c -o plain.o && $cc plain.o -o plain && ./plain x >"$T/plain.out"
	./small x >"$T/small.out"
	cmp "$T/plain.out" "$T/small.out" >&2
	check "which does what the other does"
done
id=$(readelf -n small | sed -n 's/.*Build ID: //p')
[ -n "$id" ] && [ -f "$STEMMA_HOME/spec/$id.spec" ] && cmd 0 spec --json "$STEMMA_HOME/spec/$id.spec" && [ "$(jq -r .build_id "$out")" = "$id" ]
check "kept by its build-id, too"
cmd 0 spec --output=x.spec small && cmd 0 spec --json x.spec && graph main >"$T/graph1" && diff "$T/want" "$T/graph1" >&2
check "written to a file and read again"

# Several files, an archive of which one member is needed, recursion across files, a pointer to a function.
mkdir lib
cat >lib/a.c <<'END'
#include <stdio.h>
int b(int);
int a(int n) { return n ? b(n - 1) : puts("end"); }
END
cat >lib/b.c <<'END'
int a(int);
int b(int n) { return a(n); }
END
cat >lib/unused.c <<'END'
#include <stdio.h>
void unused(void) { puts("never"); }
END
cat >lib/main.c <<'END'
#include <stdio.h>
int a(int);
static int one(int x) { return puts("one") + x; }
static int two(int x) { return x; }
static int other(int x, int y) { return puts("two ints") + x + y; }
int (*volatile f)(int) = one;
int (*volatile g)(int, int) = other;
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 2)
		f = two;
	return a(argc) + f(argc) + g(1, 2);
}
END
for f in a b unused main; do
	"$STEMMA" cc --spec gcc -c lib/$f.c -o lib/$f.o
done
ar rc lib/libx.a lib/a.o lib/b.o lib/unused.o
cmd 0 cc --spec gcc lib/main.o -Llib -lx -o many && cmd 0 spec --json many &&
	[ "$(jq -r '[.functions[].name] | sort | join(" ")' "$out")" = "a b main one other" ] && [ "$(jq .stats.recursive "$out")" = 2 ]
check "a program of several files, with what it needs of an archive"
[ "$(jq -r '.functions as $f | [$f[] | select(.name == "main") | .nodes[] | select(.indirect) | [.targets[] | $f[.].name] | join(",")] | join(" ")' "$out")" = "one other" ]
check "calls through pointers lead to functions of that signature"

cmd 0 spec --stats many && says "$out" "by Algorithm 1" "epsilon nodes"
check "figures"

# What is none.
echo hello >text
cmd 1 spec text && says "$err" "not a specification"
check "a file that is nothing"
cmd 1 spec /bin/true
check "a program without bitcode"
cmd 1 spec not-there && says "$err" "cannot open"
check "a file that is not there"
size=$(wc -c <small.bc)
ok=0
for part in 5 50 90; do
	head -c $((size * part / 100)) small.bc >cut.bc
	cmd 1 spec cut.bc && says "$err" "bitcode" && ok=$((ok + 1))
done
[ $ok = 3 ]
check "bitcode that was cut is named as such"
# shellcheck disable=SC2046 # words
$PYTHON - small.bc <<'END'
import random, sys
data = open(sys.argv[1], 'rb').read()
for i in range(12):
    broken = bytearray(data)
    for _ in range(20):
        broken[random.Random(i * 100 + _).randrange(8, len(broken))] = random.Random(i + _).randrange(256)
    open(f'broken{i}.bc', 'wb').write(broken)
END
ok=0
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
	timeout -k 5 60 "$STEMMA" spec --stats broken$i.bc >"$out" 2>"$err"
	case $? in
	0) ok=$((ok + 1)) ;;
	1) [ "$(wc -l <"$err")" -le 2 ] && [ -s "$err" ] && ok=$((ok + 1)) ;;
	esac
done
[ $ok = 12 ]
check "damaged bitcode ends in a sentence"

# Of LLVM 19, made of `int f(int *p) { return *p; }`: pointers without types, which those before 15 do not read. By the newest, it is read.
cmd "$([ "$major" -lt 15 ] && echo 1 || echo 0)" spec "$here/tests/spec/llvm19.bc" &&
	{ [ "$major" -ge 15 ] || says "$err" "llvm19.bc': unreadable bitcode: it is of LLVM19.1.7, and what reads it is LLVM $major." "compile it with "; }
check "bitcode of LLVM 19 is read, or named as such"
$PYTHON - "$here/tests/spec/llvm19.bc" <<'END'
import sys
data = open(sys.argv[1], 'rb').read()
for n in range(0, 64):
    open(f'first{n}.bc', 'wb').write(data[:n])
END
ok=0
for n in 0 3 4 8 15 16 17 24 31 32 40 48 63; do
	timeout -k 5 60 "$STEMMA" spec first$n.bc >"$out" 2>"$err"
	[ $? = 1 ] && [ "$(grep -c '^stemma: ' "$err")" = 1 ] && ok=$((ok + 1))
done
[ $ok = 13 ]
check "its first bytes alone end in a sentence"
other=
for v in 21 20 19 18 17 16 15 14 13; do
	[ $v = "$major" ] || ! command -v clang-$v >/dev/null || other=${other:-$v}
done
if [ -n "$other" ]; then
	"clang-$other" -g -O1 -Xclang -disable-llvm-passes -fno-discard-value-names -emit-llvm -c small.c -o other.bc
	timeout -k 5 60 "$STEMMA" spec --json other.bc >"$out" 2>"$err"
	case $? in
	0) json '[.functions[].name] | contains(["main"])' ;;
	1) says "$err" "it is of LLVM$other." ;;
	*) false ;;
	esac
	check "bitcode of clang $other is read, or named as such"
else
	skip "bitcode of another clang" "LLVM $major is the only one here"
fi
sed 's/STMSPEC1/STMSPEC2/' x.spec >later.spec
cmd 1 spec later.spec && head -c 200 x.spec >cut.spec && cmd 1 spec cut.spec && says "$err" damaged
check "a specification that was cut"

cat >bad.c <<'END'
int main(void) { return oops; }
END
gcc bad.c -o bad 2>"$T/direct.err"
direct=$?
"$STEMMA" cc --spec gcc bad.c -o bad 2>"$err"
got=$?
[ $got = $direct ] && says "$err" "oops"
check "what the compiler refuses is refused with its words and status"
cat >nested.c <<'END'
#include <stdio.h>
int main(void) { int twice(int x) { return puts("x") + x; } return twice(1); }
END
cmd 0 cc --spec gcc nested.c -o nested && says "$err" "no specification: clang does not compile 'nested.c'" && ./nested >/dev/null
[ -x nested ]
check "what only gcc understands is built without a specification, and that is said"

cmd 0 doctor --quick && says "$out" "specifications"
check "doctor tells of it"
# Parts of stemma that are missing, or fail without a word: the sentence says which.
mkdir -p part/src/cmd part/src/spec/llvm && cp "$STEMMA" part/src/cmd/stemma && cat >part/src/spec/llvm/stemma-spec-llvm <<'END'
#!/bin/sh
[ "$1" = --version ] && echo 'LLVM 1' && exit 0
echo used 0
exit 3
END
chmod +x part/src/spec/llvm/stemma-spec-llvm
printf 'int main(void)\n{\n\treturn 0;\n}\n' >part.c
part/src/cmd/stemma cc --spec gcc part.c -o part.out >"$out" 2>"$err" && says "$err" 'no specification: stemma-spec-llvm, the part of stemma that reads bitcode, ended with status 3 and without a message' && [ -x part.out ]
check 'a part that fails without a word'
part/src/cmd/stemma cc --trace gcc part.c -o part.out >"$out" 2>"$err" && says "$err" "'stemma-trace.bc', a part of stemma, is not where it was built or installed" && [ -x part.out ]
check 'a part that is missing'
finish
