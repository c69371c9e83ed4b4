#!/bin/sh
# stemma run --trace-stacks: which functions made each call, of programs as they are. The truth is known by construction,
# from the source's lines, from nm of what was not stripped, and from gdb; the trace is read by a reader of its own.
# shellcheck disable=SC2154 # of lib.sh
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

"$STEMMA" run --trace-stacks -- true >"$out" 2>"$err"
if [ -s "$err" ]; then
	echo "1..0 # SKIP $(head -1 "$err")"
	exit 0
fi
src=$here/tests/spec/stacks.c

# Who made the calls NAME of the last run, a line each: functions, outermost first, with their lines. Of the C library
# nothing; the reader knows doc/format/calls.md alone.
cat >"$T/stacks.py" <<'END'
import os, sys
folder, wanted = sys.argv[1], sys.argv[2]
offsets = 'offsets' in sys.argv[3:]
names, key = {}, None
for line in open(os.path.join(folder, 'names'), encoding='utf-8') if os.path.exists(os.path.join(folder, 'names')) else []:
    letter, _, rest = line.rstrip('\n').partition(' ')
    if letter == 'm':
        key = rest
    elif letter == 'n':
        offset, kind, number, rest = rest.split(' ', 3)
        function, file = rest.split('\t')
        names.setdefault((key, offset, kind), []).insert(0, (function, os.path.basename(file), number))
for name in sorted(os.listdir(folder)):
    if not name.endswith('.calls'):
        continue
    modules, frames, stacks, now = [], [], {}, '-'
    for line in open(os.path.join(folder, name), encoding='utf-8').read().split('\n\n', 1)[1].splitlines():
        letter, _, rest = line.partition(' ')
        if letter == 'm':
            modules.append(rest.split(' ', 1)[1])
        elif letter == 'f':
            _, module, offset, kind = rest.split(' ')
            frames.append((None if module == '-' else modules[int(module)], offset, kind))
        elif letter == 'k':
            number, caller, frame = rest.split(' ')
            stacks[number] = ([] if caller == '0' else ['...'] if caller == '-' else stacks[caller]) + [frames[int(frame)]]
        elif letter == 's':
            now = rest
        elif letter == 'a':
            given = rest
        elif letter == 'c' and rest.split(' ')[0] == wanted:
            said = ['-'] if now == '-' else []
            for frame in [] if now == '-' else stacks[now]:
                if frame == '...':
                    said.append(frame)
                    continue
                module, offset, kind = frame
                if module and os.path.basename(module).startswith(('libc.so', 'ld-linux', 'ld-musl')):
                    continue
                known = [] if offsets else names.get((module, offset, kind), [])
                for function, _, number in known:
                    said.append(function + (':' + number if number != '0' else '') + ('!' if kind == 's' else ''))
                if not known:
                    said.append('%s+%s' % (os.path.basename(module) if module else '?', offset))
            print(*([given] if 'given' in sys.argv else []), *[w for w in said if not w.startswith('_start')])
END
run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}
stacks()
{
	"$PYTHON" "$T/stacks.py" "$STEMMA_HOME/trace/$(run_of)" "$@"
}
at()
{
	grep -n "/\* $1 \*/" "$src" | sed 's/:.*//'
}
# Runs it; how it ended, and what it said, are as ever. ends, prints: how that is.
ends=7
prints="done"
rec()
{
	"$STEMMA" run --trace-stacks -- "$@" >"$out" 2>"$err"
	got=$?
	[ "$got" = "$ends" ] && [ "$(cat "$out")" = "$prints" ] && [ ! -s "$err" ] && return
	cat "$out" >>"$err"
	return 1
}
# The calls of rmdir were made from there.
from()
{
	stacks rmdir >is
	[ "$(cat is)" = "$*" ] && return
	{ echo "is:   $(cat is)"; echo "want: $*"; } >>"$err"
	return 1
}
tail="outer:$(at OUTER) inlined:$(at INLINED) inner:$(at INNER)"
mainline()
{
	grep -n "$1" "$src" | tail -1 | sed 's/:.*//'
}

for how in "-O0" "-O2 -fomit-frame-pointer" "-O1 -fno-omit-frame-pointer" "-O2 -static"; do
	# shellcheck disable=SC2086 # options
	gcc -g $how "$src" -o stacks -pthread -ldl 2>"$err" && rec ./stacks plain && stacks rmdir >is &&
		case $how in *static) grep -q " main:$(at PLAIN) $tail _*rmdir\(:[0-9]*\)*\$" is ;; *) from "main:$(at PLAIN) $tail" ;; esac
	check "$how -g: functions and lines, inlined ones too"
done
gcc -g -O2 -fomit-frame-pointer "$src" -o stacks -pthread -ldl 2>"$err"
rec ./stacks wide && from "main:$(mainline '^		wide(') wide:$(at WIDE) $tail"
check "a stack that is wider than what is looked at first"
rec ./stacks sort && from "main:$(mainline '^		qsort') compare:$(at COMPARE) $tail"
check "called back by the C library"
rec ./stacks thread && from "in_thread:$(at THREAD) $tail"
check "a thread"
rec ./stacks alone && from "later:$(at LATER) $tail"
check "a thread whose process has lost its first one"
rec ./stacks signal && from "main:$(mainline '^		raise') handler:$(at HANDLER) $tail"
check "a signal's handler"
rec ./stacks deep 20 && [ "$(stacks rmdir | tr ' ' '\n' | grep -c "^deep:$(at DEEP)$")" = 20 ]
check "recursion"
rec ./stacks deep 3000 && stacks rmdir >is && grep -q "^\.\.\. deep:$(at DEEP) .* $tail\$" is && [ "$(tr ' ' '\n' <is | grep -c "^deep:$(at DEEP)$")" -gt 200 ]
check "too deep: the innermost, and that there are more"
rec ./stacks exec && from "main:$(at PLAIN) $tail" && [ "$(stacks execve | grep -c "^main:$(mainline '^		execl')\$")" = 1 ]
check "exec in the middle"
printf '#include <unistd.h>\nvoid of_library(void)\n{\n\trmdir("here");\n}\n' >lib.c
gcc -g -shared -fPIC lib.c -o lib.so
rec ./stacks library "$PWD/lib.so" && from "main:$(at LIBRARY) of_library:4"
check "a library that was loaded since"

# Less and less to go by.
gcc -O2 -fno-inline "$src" -o stacks -pthread -ldl
rec ./stacks plain && from "main outer inlined inner" || { rec ./stacks plain && from "main outer inner"; }
check "without debug information: symbols"
cp stacks whole
strip stacks
rec ./stacks plain && stacks rmdir | sed "s/^[^ ]* //" >is # the first is _start
for f in main outer inner; do
	printf 'stacks+0x%s\n' "$(nm whole | awk -v f="$f" '$3 == f { sub(/^0+/, "", $1); print $1 }')"
done | tr '\n' ' ' | sed 's/ $//' >want
[ -s is ] && [ "$(cat is)" = "$(cat want)" ] || { cat is want >>"$err"; false; }
check "stripped: where the functions begin, by the unwind tables"
gcc -g -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-dwarf2-cfi-asm "$src" -o bare -pthread -ldl
objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr --remove-section .debug_frame bare none 2>"$err"
rec ./none plain && [ "$(stacks rmdir)" = "... inner:$(at INNER)" ]
check "without unwind tables: one function, and that it is not known who called"
# Tables that say anything: perhaps nothing is known, but the program does as ever.
gcc -g -O2 "$src" -o torn -pthread -ldl
harmless=true
for seed in 1 2 3 4 5; do
	objcopy -O binary --only-section=.eh_frame --set-section-flags .eh_frame=alloc torn frames
	"$PYTHON" -c "
import random, sys
random.seed($seed)
d = bytearray(open('frames', 'rb').read())
for i in range(0, len(d), 3): d[i] = random.randrange(256)
open('frames', 'wb').write(d)"
	objcopy --update-section .eh_frame=frames torn torn2 2>>"$err"
	rec ./torn2 plain || harmless=false
done
$harmless
check "damaged unwind tables change nothing for the program"

# C++
if command -v g++ >/dev/null 2>&1; then
	cat >cpp.cc <<'END'
#include <unistd.h>
namespace sim {
struct grid {
	template <class T> __attribute__((noinline)) void step(T n)
	{
		for (T i = 0; i < n; i++)
			rmdir("here");
	}
};
}
int main()
{
	sim::grid g;
	auto f = [&] { g.step(1); };
	f();
}
END
	ends=0 prints=
	g++ -g -O0 cpp.cc -o cpp && rec ./cpp && stacks rmdir >is && grep -q '^main:15 .*operator():14 sim::grid::step<int>:7$' is
	check "C++: functions of classes and templates" || cat is
	strip -g cpp && rec ./cpp && stacks rmdir >is && grep -q '^main .*sim::grid::step<int>$' is
	check "and by symbols" || cat is
else
	echo "# SKIP no g++: functions of C++"
fi

# Many calls in a row, from two places in turn.
ends=7 prints='done'
gcc -g -O1 -fomit-frame-pointer "$src" -o stacks -pthread -ldl
rec ./stacks again 101 && stacks rmdir | sort | uniq -c | sed 's/^ *//' | sort -rn >is &&
	[ "$(cat is)" = "51 main:$(at EVEN) inner:$(at INNER)
50 main:$(at ODD) $tail" ] || { cat is >>"$err"; false; }
check "a loop"

# Functions at random: each call says its own stack as the name that it gives.
for how in "-O2 -fomit-frame-pointer" "-O1 -fno-omit-frame-pointer"; do
	ends=0 prints=
	# shellcheck disable=SC2086 # options
	gcc -g $how "$here/tests/spec/stackwalk.c" -o walk 2>"$err" && rec ./walk 5 4000 && stacks rmdir given | sed 's/:[0-9]*//g' >is &&
		[ "$(wc -l <is)" = 4000 ] && "$PYTHON" - is >>"$err" <<'END'
import sys
wrong = 0
for line in open(sys.argv[1]):
    path, *functions = line.split()
    if ['main'] + [w for f in path[6:] for w in ('go', f)] + ['go'] != functions:
        wrong += 1
        print(line.strip())
sys.exit(wrong > 0)
END
	check "random calls, $how: each stack is the true one"
done

# gdb reads the same stacks.
if command -v gdb >/dev/null 2>&1 && gdb -nx -batch -ex 'catch syscall rmdir' -ex run -ex bt --args ./stacks deep 5 >bt 2>/dev/null && grep -q '^#0 .*rmdir' bt; then
	rec ./stacks deep 5
	stacks rmdir | tr ' ' '\n' | sed 's/:.*//' >is
	# Of frames of the C library gdb shows names that are no function of the program's.
	sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-z_]*\) (.*stacks\.c:[0-9]*$/\2/p' bt | sed '1!G;h;$!d' >want
	[ -s want ] && diff want is >>"$err"
	check "gdb sees the same functions"
	gdb -nx -batch -ex 'catch syscall write' -ex run -ex bt -ex 'info proc mappings' --args sed -n 's/a/b/p;$p' "$src" >bt 2>/dev/null
	"$STEMMA" run -q --trace-stacks=sed -- sed -n 's/a/b/p;$p' "$src" >/dev/null 2>&1
	base=$(awk '/\/sed$/ { print $1; exit }' bt)
	sed -n 's/^#[0-9]* *0x0*\([0-9a-f]*\) in.*/\1/p' bt | sed '1!G;h;$!d' >all
	"$PYTHON" - "$base" all >want <<'END'
import sys
base = int(sys.argv[1], 16)
at = [int(x, 16) - base for x in open(sys.argv[2])]
print(' '.join('sed+%x' % x for x in at if 0 <= x < 1 << 24))
END
	stacks write offsets | head -1 >is
	[ -s want ] && diff want is >>"$err"
	check "and the same addresses in sed, which has no debug information" || cat bt >>"$err"
else
	echo "# SKIP gdb is not there, or traces nothing here"
fi

# Pipelines, processes of their own, and more programs than one.
cat >line.sh <<'END'
./stacks plain | cat >/dev/null
(./stacks sort >/dev/null) &
wait
exit 3
END
ends=3 prints=
rec sh line.sh
[ "$(stacks rmdir | sort)" = "$(printf '%s\n' "main:$(at PLAIN) $tail" "main:$(mainline '^		qsort') compare:$(at COMPARE) $tail" | sort)" ]
check "a pipeline of a shell"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
	chmod 755 "$T" "$T/work" stacks
	ends=7 prints='done'
	rec setpriv --reuid=65534 --regid=65534 --clear-groups ./stacks plain && from "main:$(at PLAIN) $tail"
	check "of another user"
else
	echo "# SKIP not root: programs of another user"
fi

# Who unwinds is killed: again and again.
cat >true.py <<'END'
import sys
known = 0
for line in open(sys.argv[1]):
    path, *functions = line.split()
    if functions == ['-']:
        continue
    known += 1
    if ['main'] + [w for f in path[6:] for w in ('go', f)] + ['go'] != functions:
        sys.exit('wrong: ' + line.strip())
print('%d stacks are known' % known)
END
cat >killer.py <<'END'
import os, signal, sys, time
mine, parent = sys.argv[1].encode(), int(sys.argv[2])
while os.path.exists('go'):
    for p in os.listdir('/proc'):
        try:
            if p.isdigit() and b'--serve' in open('/proc/%s/cmdline' % p, 'rb').read() and mine in open('/proc/%s/environ' % p, 'rb').read():
                held = os.pidfd_open(int(p))  # before it is looked at again: from here on it is the same one
                if mine in open('/proc/%s/environ' % p, 'rb').read():
                    signal.pidfd_send_signal(held, signal.SIGKILL)
                os.close(held)
        except OSError:
            pass
    time.sleep(0.02)
END
touch go
"$PYTHON" killer.py "STEMMA_HOME=$STEMMA_HOME" $$ &
killer=$!
harmless=true
for i in 1 2 3; do
	"$STEMMA" run -q --trace-stacks -- ./walk $i 3000 >"$out" 2>"$err" && [ ! -s "$out" ] && [ ! -s "$err" ] || harmless=false
	stacks rmdir given | sed 's/:[0-9]*//g' >is
	[ "$(wc -l <is)" = 3000 ] && "$PYTHON" true.py is >"$out" 2>>"$err" || harmless=false
done
rm go
wait "$killer"
$harmless
check "who unwinds may die at any time"

# Where two part.
cat >part.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void settle(int n)
{
	if (n > 2)
		rmdir("large"); /* LARGE */
	else
		unlink("small"); /* SMALL */
}
int main(int argc, char **argv)
{
	access("begin", F_OK);
	for (int i = 1; i < argc; i++)
		settle(atoi(argv[i]));
	return 0;
}
END
gcc -g -O1 part.c -o part
"$STEMMA" run -q --trace-stacks -- ./part 1 1 3 && "$STEMMA" run -q --trace-stacks -- ./part 1 3 3
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "first differs" "A calls unlink() of small: No such file or directory at part.c:8, B calls rmdir() of large: No such file or directory at part.c:6" &&
	says "$out" "called" "main() part.c:14 > settle()"
check "diff names functions and lines" || cat "$out" >>"$err"
"$STEMMA" diff --trace @ @~1 >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "A calls rmdir() of large: No such file or directory at part.c:6, B calls unlink() of small: No such file or directory at part.c:8"
check "the sides turned round"
cmd 1 diff --trace --json && [ "$(jq -r '.threads[0] | "\(.of) \(.divergences[0].a.next | "\(.place.function) \(.place.line) \(.call.name)")"' "$out")" = "stacks settle 8 unlink" ]
check "as JSON" || cat "$out" >>"$err"
# Of a program of which another compiler made a part: clang's has no entry in .debug_aranges, between two that have.
name='parts of two compilers'
CLANG=$(command -v clang || ls /usr/bin/clang-[0-9]* 2>/dev/null | head -n 1)
if [ "$CLANG" ]; then
	echo 'int before(void) { return 1; }' >before.c
	echo 'int behind(void) { return 2; }' >behind.c
	gcc -g -c before.c behind.c && "$CLANG" -g -O1 -c part.c -o mid.o && gcc before.o mid.o behind.o -o two && "$STEMMA" run -q --trace-stacks -- ./two 1 1 3 && "$STEMMA" run -q --trace-stacks -- ./two 1 3 3
	cmd 1 diff --trace && says "$out" "at part.c:8, B calls rmdir() of large: No such file or directory at part.c:6" "main() part.c:14 > settle()"
	check "$name" || cat "$out" >>"$err"
else
	skip "$name" 'there is no clang'
fi
"$STEMMA" run -q --trace-stacks -- ./part 1 3 3
"$STEMMA" run -q --trace-calls -- ./part 1 3 3
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 0 ] && says "$out" "B's calls were recorded without stacks"
check "one side without stacks: the calls"
strip part
"$STEMMA" run -q --trace-stacks -- ./part 1 1 3 && "$STEMMA" run -q --trace-stacks -- ./part 1 3 3
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "at part+0x" && says "$out" "no line for"
check "stripped: addresses in the program, and that it says so" || cat "$out" >>"$err"
cmd 1 diff --trace --json && jq -r '.threads[0].divergences[0].a.next.place.address' "$out" | grep -q '^part+0x[0-9a-f]*$'
check "as JSON, too"
rm "$STEMMA_HOME/trace/$(run_of)/names"
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "no name for"
check "names that are gone"

# What is asked for wrongly.
cmd 2 run --trace-stacks=a --trace-calls=b -- true && says "$err" "name different programs"
check "two lists of programs"
cmd 2 run --trace-stacks --transport=notify -- true && says "$err" "--trace-stacks needs ptrace"
check "what does not go together"
"$STEMMA" doctor --quick >"$out" 2>"$err"
says "$out" "--trace-stacks works"
check "doctor"
finish
