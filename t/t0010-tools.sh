#!/bin/sh
# t0010-tools.sh TOOLS - the house's own tools: layers, figures of the source, the quick tests, set-up, the counting of test points.
set -u

tools=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count=0
bad=0

check()
{ # WHAT: the status of the command before says whether it holds
	status=$?
	count=$((count + 1))
	if [ $status = 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		bad=1
		sed 's/^/# /' "$tmp/out" 2>/dev/null
	fi
}

says()
{ # STATUS WORDS COMMAND...: it ends with that status and says these words
	want=$1 words=$2
	shift 2
	"$@" >"$tmp/out" 2>&1 </dev/null
	got=$?
	[ $got = "$want" ] || { echo "status $got, not $want" >>"$tmp/out"; return 1; }
	[ -z "$words" ] || grep -qF -e "$words" "$tmp/out"
}

# ---- messages

mkdir -p "$tmp/words"
cat >"$tmp/words/good.c" <<'END'
/* it is told: a comment may say so */
int f(void) { return err_set(err, errno, "cannot open '%s'", path), report(n ? "%u runs" : "no run is recorded"); }
int g(void) { return err_set(err, ENOMEM, "cannot import"); }
END
says 0 '4 messages, 0 findings' "$tools/messages" "$tmp/words"
check "messages: an object, or no memory; comments are no messages"
missed=
for wrong in 'report("what was told to %s", x)=word' 'err_set(err, errno, "cannot import")=object' 'err_set(err, 0, "it failed")=object' \
	'report_usage(c, "Cannot open %s.", x)=form' 'report(n ? "fine: %u" : "%s is no number", n)=word' 'err_set(err, 0, "two" " ghosts of %s", x)=word'; do
	printf 'int f(void) { return %s; }\n' "${wrong%=*}" >"$tmp/words/good.c"
	says 1 "good.c:1: ${wrong##*=}" "$tools/messages" "$tmp/words" || missed="$missed $wrong"
done
[ -z "$missed" ] || echo "not found:$missed" >>"$tmp/out"
[ -z "$missed" ]
check "messages: private words, no object, capital letters and full stops"

# ---- check-layers

tree=$tmp/tree
mkdir -p "$tree/doc" "$tree/src/base" "$tree/src/event/deep"
printf 'src/base/   lowest\nsrc/event/  next\n' >"$tree/doc/ARCHITECTURE.md"
printf '#include "base/a.h"\n#include <stdio.h>\n' >"$tree/src/base/a.c"
printf '  #  include "base/a.h"\n' >"$tree/src/event/deep/e.c"
: >"$tree/src/base/a.h"
: >"$tree/src/event/e.h"
says 0 '' "$tools/check-layers" "$tree"
check 'includes of folders above are fine'

printf '#include "event/e.h"\n' >"$tree/src/base/up.c"
says 1 'src/base/up.c:1: src/base may not include "event/e.h"' "$tools/check-layers" "$tree"
check 'an include of a folder below is found'
rm "$tree/src/base/up.c"

printf '#include "../event/e.h"\n' >"$tree/src/base/climb.h"
says 1 '"../event/e.h" climbs' "$tools/check-layers" "$tree"
check 'an include that climbs out of its folder is found'
rm "$tree/src/base/climb.h"

printf '#include "made.inc"\n' >"$tree/src/base/made.c"
says 1 'src/base/made.c:1: "made.inc" is in no folder' "$tools/check-layers" "$tree"
check 'an include that is nowhere is found'
printf "custom_target(output : 'made.inc')\n" >"$tree/src/base/meson.build"
says 0 '' "$tools/check-layers" "$tree"
check 'unless the build makes it'
rm "$tree/src/base/made.c" "$tree/src/base/meson.build"

mkdir "$tree/src/odd"
says 1 'src/odd is not in the list' "$tools/check-layers" "$tree"
check 'a folder that the list lacks is found'
rmdir "$tree/src/odd"

echo 'src/gone/  nothing there' >>"$tree/doc/ARCHITECTURE.md"
says 1 'lists src/gone, which is not there' "$tools/check-layers" "$tree"
check 'a folder of the list that is not there is found'

mkdir -p "$tree/src/capture/low" "$tree/src/capture/high"
printf 'src/base/   lowest\nsrc/event/  next\nsrc/capture/ last\n\nInside `src/capture` ...\n\n```\nlow/   first\nhigh/  then\n```\n' \
	>"$tree/doc/ARCHITECTURE.md"
: >"$tree/src/capture/low/a.h"
: >"$tree/src/capture/high/b.h"
printf '#include "capture/low/a.h"\n' >"$tree/src/capture/high/b.c"
says 0 '' "$tools/check-layers" "$tree"
check 'inside of capture, too, includes of folders above are fine'
printf '#include "capture/high/b.h"\n' >"$tree/src/capture/low/a.c"
says 1 'src/capture/low/a.c:1: src/capture/low may not include "capture/high/b.h"' "$tools/check-layers" "$tree"
check 'and one of a folder below is found'
rm -r "$tree/src/capture"
printf 'src/base/   lowest\nsrc/event/  next\n' >"$tree/doc/ARCHITECTURE.md"

# ---- house

src=$tmp/house
mkdir -p "$src/one" "$src/two"
cat >"$src/one/a.c" <<'END'
/* A comment
 *
 * of two lines. */
#define TWICE(a) if (a) { if (a && a) {
struct add { int a; };
static const int (*table[])(int) = {0};
static int add(int a) // behind code
{
	const char *text = "if (a) { && /* none */";
	char sign = '{';
#ifdef ONE
	if (a) {
#else
	if (a && a) {
#endif
		return a ? 1 : text[0] == sign;
	}
	for (;;) {
		switch (a) {
		case 1: break;
		case 2: do { a--; } while (a || !a); break;
		default: break;
		}
	}
}
__attribute__((noreturn, format(printf, 1, 2))) void one_out(const char *format, ...) __attribute__((cold));
__attribute__((noreturn, format(printf, 1, 2))) void one_out(const char *format, ...)
{
	for (;;) {}
}
static void (*one_handler(int signal))(int)
{
	return 0;
}
SEC("tp") int on_open(void *context) { return 0; }
int BPF_PROG(on_close, void *context) { return 0; }
END
{ printf 'int main(void)\n{\n'; for i in $(seq 15); do echo "	if ($i) return $i;"; done
	for i in $(seq 46); do echo; done; echo '}'; } >"$src/two/a.c"
printf 'static int add(void) { return 0; }\nint two_b(void) { return 0; }\n' >"$src/two/b.c"
printf 'static int add(void) { return 0; }\nint main(void) { return 0; }\n' >"$src/two/c.c"
for i in $(seq 701); do echo; done >"$src/two/large.h"
# shellcheck disable=SC2317 # called by name
house()
{ # WANTED LINES, OPTION...
	want=$1
	shift
	"$tools/house" "$@" "$src" >"$tmp/out" 2>&1
	status=$?
	printf '%b' "$want" >"$tmp/wanted"
	cmp -s "$tmp/wanted" "$tmp/out" && [ $status = 0 ]
}
house '64 main two/a.c:1\n' --list long
check 'functions that are long'
house '16 main two/a.c:1\n' --list complex
check 'functions of many branches'
house '3 add one/a.c two/b.c two/c.c\n' --list shared && house '3 add one/a.c two/b.c two/c.c\n' --list words
check 'names of more than one file, main apart'
house '701 two/large.h\n' --list files && house '2 a.c one/a.c two/a.c\n' --list same && house '' --list folders
check 'files that are large, and that have one name'
"$tools/house" --json "$src" >"$tmp/out" && jq -e '.functions == 10 and .functions_shared == 3 and .comment_lines == 4 and
	.functions_long == 1 and .functions_complex == 1 and .functions_long_percent == 10' "$tmp/out" >/dev/null
check 'figures: 10 functions in strange clothes'
python3 -c "
import importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader('house', sys.argv[1])
house = importlib.util.module_from_spec(importlib.util.spec_from_loader('house', loader))
loader.exec_module(house)
print(*(f'{f.name} {f.mccabe} {f.line} {f.lines}' for f in house.Source(sys.argv[2], 'a.c').functions), sep='; ')
" "$tools/house" "$src/one/a.c" >"$tmp/out"
echo 'add 10 7 19; one_out 2 27 4; one_handler 1 31 4; on_open 1 35 1; on_close 1 36 1' | cmp -s - "$tmp/out"
check 'each function with its branches and lines'
if command -v pmccabe >/dev/null; then # of both branches of an #if it counts one
	pmccabe "$src/one/a.c" "$src/two/a.c" 2>/dev/null | cut -f 2,6 | sed -n 's/\t.* \(add\|main\)$/ \1/p' >"$tmp/out"
	printf '8 add\n16 main\n' | cmp -s - "$tmp/out"
	check 'pmccabe counts the same'
fi

printf '# of names\nadd\n' >"$tmp/names"
house '' --check --names "$tmp/names"
check 'a name of one word in three files may stay if it is listed'
echo '# of names' >"$tmp/names"
says 1 'add: a name of one word, defined in 3 files (one/a.c, two/b.c, two/c.c)' "$tools/house" --check --names "$tmp/names" "$src"
check 'a new one is an error'
printf '# of names\nadd\nput\n' >"$tmp/names"
says 1 'put: stands in names and need not any more' "$tools/house" --check --names "$tmp/names" "$src"
check 'and so is a listed one that is no more'
rm "$src/two/c.c"
says 0 '2 names less, 0 left' "$tools/house" --shorten --names "$tmp/names" "$src" && [ "$(cat "$tmp/names")" = '# of names' ]
check 'the list is made shorter on demand'
mkdir "$tmp/said"
cat >"$tmp/said/a.h" <<'END'
/* What one_said does,
 * in two lines. */
int one_said(int a,
             int b);

int one_bare(void);
END
cat >"$tmp/said/a.c" <<'END'
int one_said(int a, int b)
{
	return a + b;
}

/* Of the file. */
static int helper(void)
{
	return 0;
}

int one_bare(void)
{
	return helper();
}
END
"$tools/house" --list bare "$tmp/said" >"$tmp/out"
echo 'a.c:12 int one_bare(void)' | cmp -s - "$tmp/out"
check 'a function without a comment, at its definition or declaration'
"$tools/house" --draw 9 "$tmp/said" >"$tmp/out" && [ "$(grep -c '^[a-z]' "$tmp/out")" = 3 ] &&
	sed -n '/^int one_said/,/^[a-z]* int one_bare\|^int one_bare\|^static/p' "$tmp/out" | grep -q 'in two lines' &&
	"$tools/house" --draw 1 --seed 3 "$tmp/said" >"$tmp/first" && "$tools/house" --draw 1 --seed 3 "$tmp/said" | cmp -s - "$tmp/first"
check 'functions drawn at random, with their comments, and the same ones for the same seed'
says 1 'no sources' "$tools/house" "$tmp/nothing"
check 'a folder without sources is not clean'

# ---- codemap: on the tree of check-layers

map=$tmp/map
mkdir -p "$map/doc" "$map/src/base/deep" "$map/src/capture/count" "$map/src/event"
printf '# x\n```\na ──► b\n```\n```\nsrc/base/     lowest of\n              all\nsrc/capture/  sees\n```\n```\ncount/ other/  bytes\n```\n' \
	>"$map/doc/ARCHITECTURE.md"
printf '/* a.h - what it is (e.g. this): more. And\n * this.\n *\n * Else. */\n' >"$map/src/base/a.h"
printf '/* b_int.h */\n' >"$map/src/base/b_int.h"
printf '# deep/ - far down.\nx\n' >"$map/src/base/deep/meson.build"
printf '/* event.h - what\n * happened */\n' >"$map/src/event/event.h"
: >"$map/src/capture/count/c.c"
says 0 '' "$tools/codemap" "$map" && ! [ -s "$tmp/out" ]
check 'a code map is made'
printf '%s\n' '## `src/base/`' '' 'lowest of all.' '' '* `a.h` - what it is (e.g. this): more' '' '## `src/base/deep/`' '' 'far down.' '' \
	'## `src/capture/count/`' '' 'bytes.' '' '## `src/event/`' '' 'what happened.' '' '* `event.h` - what happened' >"$tmp/wanted"
sed -n '/^##/,$p' "$map/doc/CODEMAP.md" | cat -s | diff - "$tmp/wanted" >"$tmp/out"
check 'of folders and headers, by the first sentence of each'
says 0 '' "$tools/codemap" --check "$map"
check 'which is up to date'
printf '/* c.h - new */\n' >"$map/src/base/c.h"
says 1 'doc/CODEMAP.md is out of date' "$tools/codemap" --check "$map" && ! grep -q new "$map/doc/CODEMAP.md"
check 'until there is a new header'
: >"$map/src/base/d.h"
rm "$map/src/base/deep/meson.build"
: >"$map/src/base/deep/x.c"
says 1 'src/base/deep/: neither' "$tools/codemap" "$map" && grep -q '^src/base/d.h: does not begin' "$tmp/out"
check 'what does not say what it is for is told'

# ---- check: which tests it chooses, and that all that it names are there

mkdir -p "$tmp/quick/tools" "$tmp/quick/tests" "$tmp/quick/build/meson-info"
cp "$tools/check" "$tmp/quick/tools"
cat >"$tmp/quick/build/meson-info/intro-tests.json" <<'END'
[{"name": "one", "suite": ["p:unit"]}, {"name": "two", "suite": ["p:unit"]}, {"name": "t0300-x", "suite": ["p:cmd"]},
 {"name": "t0301-y", "suite": ["p:cmd"]}]
END
printf '#!/bin/sh\necho "$STEMMA_T_ONCE $*"\nexit 3\n' >"$tmp/quick/tools/run-tests"
chmod +x "$tmp/quick/tools/run-tests"
printf '# these\nsuite unit\nnot one\n\nt0301-y\n' >"$tmp/quick/tests/check"
says 0 '' "$tmp/quick/tools/check" --list "$tmp/quick/build" && [ "$(cat "$tmp/out")" = "$(printf 'two\nt0301-y')" ]
check 'the quick tests are suites, without some, and single tests'
says 3 "1 $tmp/quick/build two t0301-y" "$tmp/quick/tools/check" "$tmp/quick/build" && grep -q 's of processor time$' "$tmp/out"
check 'they are run once, and how that ended is told'
printf 'suite unit\nsuite odd\nt0302-z\n' >"$tmp/quick/tests/check"
says 1 'no test here is called t0302-z, suite odd' "$tmp/quick/tools/check" "$tmp/quick/build"
check 'a name that no test has is an error'

# ---- setup: with its own list of packages, and an apt-get and id of the test's own

mkdir "$tmp/bin" "$tmp/bin2"
cat >"$tmp/packages" <<END
# a comment
one  cmd   sh                      shell
one  cmd   no-such-command-here    package-a
one  pc    no-such-module-here     package-b
one  file  $tmp/made-by-apt        package-c
one  file  $tmp/made-by-*          package-c
two  cmd   sh                      shell
six? cmd   no-such-wish-here       package-w
END
cat >"$tmp/bin/apt-get" <<END
#!/bin/sh
echo "\$@" >>"$tmp/apt.log"
case " \$* " in
*" update "*) : >"$tmp/updated" ;;
*) [ -e "$tmp/updated" ] || { echo "E: Unable to locate package"; exit 100; }
   : >"$tmp/made-by-apt"; ln -sf /bin/true "$tmp/bin/no-such-command-here" ;;
esac
END
printf '#!/bin/sh\necho 1000\n' >"$tmp/bin2/id"
printf '#!/bin/sh\necho 0\n' >"$tmp/bin/id"
chmod +x "$tmp/bin/apt-get" "$tmp/bin/id" "$tmp/bin2/id"
# shellcheck disable=SC2317 # called through says
setup()
{
	STEMMA_PACKAGES=$tmp/packages STEMMA_SETUP_TRIED=$tmp/tried PATH=$path:$PATH "$tools/setup" "$@"
}

path=$tmp/bin2:$tmp/bin
says 0 '' setup two && ! [ -s "$tmp/out" ]
check 'nothing is said where nothing is missing'

says 1 'sudo apt-get install -y --no-install-recommends package-a package-b package-c' setup one
check 'without root the exact line is printed'
! [ -e "$tmp/apt.log" ]
check 'and nothing is installed'

sed -i '/no-such-module/d' "$tmp/packages"
path=$tmp/bin
says 0 'installing package-a package-c' setup one && grep -q update "$tmp/apt.log"
check 'root installs, with new package lists where the old do not do'
says 0 '' setup one && ! [ -s "$tmp/out" ]
check 'and has nothing to do the second time'

echo 'one pc no-such-module-here package-b' >>"$tmp/packages"
says 1 'still cannot be found: package-b' setup one
check 'a package that does not bring what was missing is told'

says 0 'goes on without package-w' setup six
check 'what may be missing does not stop'
cp "$tmp/apt.log" "$tmp/apt.log.1"
says 0 'goes on without package-w' setup six && cmp -s "$tmp/apt.log" "$tmp/apt.log.1"
check 'nor is it asked for each time'
path=$tmp/bin2:$tmp/bin
says 0 'goes on without package-w' setup six
check 'nor without root'
grep -q -e '--no-remove .*package-w' "$tmp/apt.log" && ! grep ' install ' "$tmp/apt.log" | grep -qv -e --no-remove
check 'nothing is ever removed for it'

# ---- run-tests: on a made record of meson's

cat >"$tmp/bin/meson" <<END
#!/bin/sh
echo "\$@" >>"$tmp/meson.log"
while [ "\$1" != -C ]; do shift; done
build=\$2
while [ "\$1" != --logbase ]; do shift; done
cp "$tmp/record\${2#testlog}" "\$build/meson-logs/\$2.json"
exit \$(cat "$tmp/meson-status")
END
chmod +x "$tmp/bin/meson"
mkdir -p "$tmp/build/meson-logs"
echo 0 >"$tmp/meson-status"
# shellcheck disable=SC2317
run_tests()
{ # [--once]: with an option of meson's, and a test by name
	: >"$tmp/meson.log"
	PATH=$tmp/bin:$PATH "$tools/run-tests" "$@" "$tmp/build" --no-suite slow odd
}

: >"$tmp/record-again"

cat >"$tmp/record" <<'END'
{"name": "a:s / tap", "result": "OK", "stdout": "1..3\nok 1 - x\nok 2 - y # SKIP no such thing\nok 3 z\n"}
{"name": "a / alone", "result": "OK", "stdout": "hello\n"}
{"name": "a / none", "result": "SKIP", "stdout": "1..0 # SKIP needs root\n"}
END
says 0 '3 passed, 0 failed, 2 skipped' run_tests
check 'points are counted'
grep -qxF 'skipped: tap: y: no such thing' "$tmp/out" && grep -qxF 'skipped: none: needs root' "$tmp/out"
check 'reasons of skipped points are printed'
[ "$(tail -n 1 "$tmp/out")" = '3 passed, 0 failed, 2 skipped' ]
check 'the count is the last line, alone'

out='[ RUN      ] x\n[       OK ] x\n[ RUN      ] y\n# skipped: y: no disk\n[  SKIPPED ] y\n[==========] 2 test(s) run.\n'
out=$out'[  PASSED  ] 1 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] y\n'
printf '{"name": "a / c", "result": "OK", "stdout": "%s"}\n' "$out" >>"$tmp/record"
says 0 '4 passed, 0 failed, 3 skipped' run_tests && grep -qxF 'skipped: c: y: no disk' "$tmp/out"
check 'cases of a cmocka program are counted, and why one was skipped'

echo 1 >"$tmp/meson-status"
printf '%s\n' '{"name": "a / bad", "result": "FAIL", "stdout": "1..2\nok 1 - x\nnot ok 2 - y\n# why\n"}' >>"$tmp/record"
says 1 '5 passed, 1 failed, 3 skipped' run_tests && grep -q '# why' "$tmp/out"
check 'a failed point fails, and its words are shown'

out='1..4\nok 1 - x\n# of a good point\nnot ok 2 - many\n'$(for i in $(seq 100); do printf '# line %s\\n' "$i"; done)
out=$out'ok 3 - y\n# of a good point\nnot ok 4 - z # TODO later\n# of a point to come\nnot ok 5 - last\n# its why\n'
printf '{"name": "a / long", "result": "FAIL", "stdout": "%s", "stderr": "and this\\n"}\n' "$out" >"$tmp/record"
says 1 '3 passed, 2 failed, 0 skipped' run_tests && grep -q '# line 1$' "$tmp/out" && grep -q '# line 100$' "$tmp/out" &&
	[ "$(grep -c '# line ' "$tmp/out")" = 38 ] && grep -q '# \.\.\. 62 lines' "$tmp/out" && grep -q '# its why' "$tmp/out" &&
	grep -q '^ *and this$' "$tmp/out" && ! grep -q '# of a' "$tmp/out"
check 'of each failed point 40 lines, of the others none'
grep -A 1 -n 'not ok 5 - last' "$tmp/out" | grep -q 'its why' && tail -n 2 "$tmp/out" | grep -q 'and this'
check 'they stand at the end, before the count'

printf '%s\n' '{"name": "a / died", "result": "ERROR", "stdout": "1..2\nok 1 - x\n"}' >"$tmp/record"
says 1 '1 passed, 1 failed, 0 skipped' run_tests && grep -q 'ERROR after: ok 1 - x' "$tmp/out"
check 'a program that dies after good points is a failure, and the last of them is told'

: >"$tmp/record"
echo 0 >"$tmp/meson-status"
says 1 '0 passed, 0 failed, 0 skipped' run_tests
check 'no tests at all is not success'

# ---- run-tests: a second time, alone

echo 1 >"$tmp/meson-status"
# record NAME RESULT POINT [WORDS]: the record of one test whose second point is this
record()
{
	printf '{"name": "a:s / %s", "result": "%s", "stdout": "1..2\\nok 1 - x\\n%s 2 - y\\n%s", "stderr": "%s of %s\\n"}\n' \
		"$1" "$2" "$3" "${4-}" "$2" "$1"
}

{ record good OK ok; record odd FAIL 'not ok' '# why it did\n'; } >"$tmp/record"
record odd OK ok >"$tmp/record-again"
says 0 '4 passed, 0 failed, 0 skipped' run_tests
check 'what failed and passes the second time does not fail'
[ "$(wc -l <"$tmp/meson.log")" = 2 ] && tail -n 1 "$tmp/meson.log" | grep -q -e '--num-processes 1 .*--no-suite slow odd$'
check 'the second time is for what failed, alone'
grep -q '# why it did' "$tmp/out" && grep -q 'FAIL of odd' "$tmp/out" && ! grep -q 'OK of' "$tmp/out"
check 'what it said when it failed is told'
[ "$(tail -n 2 "$tmp/out" | sed 's/ failed and .*//;s/,.*//')" = "$(printf 'flaky: odd\n4 passed')" ]
check 'and that it is flaky, before the count'

printf '%s\n' '{"name": "a / c", "result": "FAIL", "stdout": "[  ERROR   ] --- 2 of 5\n[==========] 1 test(s) run.\n[  FAILED  ] c\n"}' >"$tmp/record"
printf '%s\n' '{"name": "a / c", "result": "OK", "stdout": "[       OK ] c\n[==========] 1 test(s) run.\n"}' >"$tmp/record-again"
says 0 '1 passed, 0 failed, 0 skipped' run_tests && grep -q -e '--- 2 of 5' "$tmp/out" && grep -q '^flaky: c ' "$tmp/out"
check 'so is a cmocka program'

{ record good OK ok; record odd FAIL 'not ok' '# why it did\n'; } >"$tmp/record"
record odd OK ok >"$tmp/record-again"
says 1 '3 passed, 1 failed, 0 skipped' run_tests --once && [ "$(wc -l <"$tmp/meson.log")" = 1 ] && ! grep -q flaky "$tmp/out"
check 'no second time where there is to be one only'

record odd FAIL 'not ok' '# and again\n' >"$tmp/record-again"
says 1 '3 passed, 1 failed, 0 skipped' run_tests && grep -q '# why it did' "$tmp/out" && grep -q '# and again' "$tmp/out" &&
	! grep -q flaky "$tmp/out"
check 'what fails twice fails, and both are told'

record odd SKIP ok >"$tmp/record-again"
says 1 '3 passed, 1 failed, 0 skipped' run_tests && : >"$tmp/record-again" && says 1 '3 passed, 1 failed, 0 skipped' run_tests
check 'what is skipped or not run the second time has not passed'

{ record late TIMEOUT ok; record odd FAIL 'not ok'; } >"$tmp/record"
{ record late OK ok; record odd OK ok; } >"$tmp/record-again"
says 1 '4 passed, 1 failed, 0 skipped' run_tests && tail -n 1 "$tmp/meson.log" | grep -q 'slow odd$' && grep -q 'TIMEOUT after: ok 2' "$tmp/out"
check 'what ran out of time has no second time'

for i in 1 2 3 4 5 6; do record odd$i FAIL 'not ok'; done >"$tmp/record"
for i in 1 2 3 4 5 6; do record odd$i OK ok; done >"$tmp/record-again"
says 1 '6 passed, 6 failed, 0 skipped' run_tests && [ "$(wc -l <"$tmp/meson.log")" = 1 ] && ! grep -q flaky "$tmp/out"
check 'more than five have none'
sed -i 6d "$tmp/record"
says 0 '10 passed, 0 failed, 0 skipped' run_tests && [ "$(grep -c '^flaky: odd' "$tmp/out")" = 5 ]
check 'five have one'

# ---- what is run at all

cd "$tools/.." || exit 1
for f in t/t[0-9]*.sh tests/unit/test_*.c; do
	name=$(basename "${f%.*}")
	grep -qE "\\b$name\\b|'${name#test_}'" tests/meson.build tests/*/meson.build || echo "$f is in no meson.build below tests"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
check 'every script and unit test is run'

echo "1..$count"
exit $bad
