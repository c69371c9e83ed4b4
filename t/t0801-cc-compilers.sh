#!/bin/sh
# cc: other compilers, other ways to ask for one, and what can go wrong with either; the compiler is never harmed.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

mkdir -p "$T/src" "$T/bin"
cd "$T/src" || exit 1
printf '#include <stdio.h>\n#include "a.h"\nint main(void) { printf("%%d\\n", A); return 0; }\n' >main.c
echo '#define A 7' >a.h
printf '#include <vector>\n#include "a.h"\nint main() { std::vector<int> v(A); return (int)v.size() - A; }\n' >main.cc
printf 'module kinds\n  integer, parameter :: wp = 8\nend module\n' >kinds.f90
printf 'program p\n  use kinds\n  include "k.inc"\n  real(wp) :: x\n  x = k\n  print *, x\nend program\n' >p.f90
printf '      integer, parameter :: k = 3\n' >k.inc

# whole HOW COMMAND...: as what; and nothing of it is missing.
whole()
{
	what "$@"
	latest gaps && is "$out" ''
	check "$how: nothing is missing"
}

if command -v clang >/dev/null; then
	whole 'clang' clang -O2 -g -c main.c
	whole 'clang links' clang main.c -o prog
	latest version,target && says "$out" clang
	check 'clang: its version'
	whole 'clang, dependencies' clang -MMD -MF x.d -c main.c
	if command -v ld.lld >/dev/null; then
		whole 'clang, LTO by lld' clang -flto -fuse-ld=lld main.c -o prog
	else
		skip 'clang, LTO by lld' 'no lld here'
	fi
else
	skip 'clang' 'no clang here'
fi
if command -v g++ >/dev/null; then
	whole 'g++' g++ -O1 main.cc -o prog
	fresh && "$STEMMA" c++ -c main.cc && latest compiler && says "$out" /c++
	check 'stemma c++'
else
	skip 'g++' 'no g++ here'
fi
if command -v gfortran >/dev/null; then
	whole 'gfortran makes a module' gfortran -c kinds.f90
	outputs && says "$out" "$T/x/kinds.mod" "$T/x/kinds.o"
	check 'gfortran: the module is what it made'
	(cd "$T/src" && gfortran -c kinds.f90)
	whole 'gfortran uses one' gfortran p.f90 kinds.o -o prog
	roles module && is "$out" "$T/x/kinds.mod" && roles header && says "$out" "$T/x/k.inc"
	check 'gfortran: the module and the included file are what it read'
	fresh && "$STEMMA" fc -c kinds.f90 && latest compiler && says "$out" /gfortran
	check 'stemma fc'
else
	skip 'gfortran' 'no gfortran here'
fi
if command -v mpicc >/dev/null; then
	fresh && "$STEMMA" mpicc -c main.c 2>"$err" && roles tool && says "$out" /cc1 && latest gaps && is "$out" ''
	check 'stemma mpicc: the compiler behind it is seen'
else
	skip 'stemma mpicc' 'no mpicc here'
fi

# Ways to ask
ln -s "$STEMMA" "$T/bin/stemma-gcc"
fresh && "$T/bin/stemma-gcc" -c main.c && latest compiler,argv && is "$out" "$(command -v gcc),gcc -c main.c"
check 'a link called stemma-gcc'
ln -s "$STEMMA" "$T/bin/gcc"
fresh && PATH=$T/bin:$PATH gcc -c main.c && latest compiler && is "$out" "$(command -v gcc)"
check 'a link called gcc, first in PATH'
fresh && PATH=$T/bin:$PATH "$STEMMA" cc gcc main.c -o prog && ./prog >"$out" && is "$out" 7 && latest compiler && is "$out" "$(command -v gcc)"
check 'stemma cc gcc with such a link in PATH'
fresh && cmd 0 cc -c main.c && latest argv && is "$out" 'cc -c main.c' && cmd 0 cc gcc -- -c main.c && latest argv && is "$out" 'gcc -c main.c' && cmd 0 cc main.c -o prog && cmd 0 cc -- -c main.c && latest argv && is "$out" 'cc -c main.c'
check 'no compiler is named: it is cc'
"$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | tr -d '\r' >"$T/before"
fresh && cmd 0 cc "$STEMMA" cc gcc -c main.c; "$STEMMA" cc "$T/bin/stemma-gcc" -c main.c 2>"$err"
[ $? = 126 ] && says "$err" 'is stemma itself'
check 'stemma is no compiler'
printf '#!/bin/sh\nexec "%s" cc gcc "$@"\n' "$STEMMA" >"$T/bin/mycc" && chmod +x "$T/bin/mycc" && fresh && cmd 0 cc "$T/bin/mycc" -c main.c && "$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | tr -d '\r' >"$T/after" && [ "$(cat "$T/after")" = $(($(cat "$T/before") + 1)) ] && roles tool && says "$out" cc1
check 'a wrapper in a wrapper is one record, that of the outer'
cmd 0 cc --help && says "$out" 'usage: stemma cc' && cmd 2 cc
check 'help'

# A compiler that is not there, or none
fresh && cmd 127 cc no-such-gcc -c main.c && says "$err" "cannot run 'no-such-gcc': No such file" && cmd 126 cc "$T/src/main.h" -c main.c; cmd 127 cc "$T/src/nowhere/gcc" -c main.c
check 'a compiler that does not exist: 127'
: >"$T/bin/notexec" && cmd 126 cc "$T/bin/notexec" -c main.c && says "$err" 'Permission denied'
check 'one that cannot be executed: 126'

# How it ends
printf '#!/bin/sh\nkill -TERM $$\n' >"$T/bin/dies" && printf '#!/bin/sh\nexit 77\n' >"$T/bin/exits" && chmod +x "$T/bin/dies" "$T/bin/exits"
fresh
sh -c '"$0" cc "$1" -c main.c; echo $?' "$STEMMA" "$T/bin/dies" >"$out" 2>"$err"
is "$out" 143 && latest ending,code && is "$out" signaled,15 && cmd 77 cc "$T/bin/exits" -c main.c && latest ending,code && is "$out" exited,77
check 'its status and its signal'
cat >"$T/counts.c" <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
/* How often it got the signal within a moment of the first; then ends with 5. */
static volatile sig_atomic_t n;
static void count(int sig) { (void)sig; n++; }
int main(int argc, char **v)
{
	if (argc < 4)
		return 0; /* it is asked for its version */
	int s = v[argc - 1][0] == 'i' ? SIGINT : SIGUSR1;
	signal(s, count);
	close(open(v[argc - 2], O_CREAT | O_WRONLY, 0600));
	while (!n)
		usleep(1000);
	for (int i = 0; i < 100; i++)
		usleep(2000);
	printf("%d\n", (int)n);
	return 5;
}
END
gcc -o "$T/bin/counts" "$T/counts.c"
$PYTHON - "$STEMMA" "$T/bin/counts" "$T/ready" >"$out" 2>"$err" <<'END'
import os, signal, subprocess, sys, time
group, alone = (lambda p, s: os.killpg(p.pid, s)), (lambda p, s: p.send_signal(s))
for name, sig in ('i', signal.SIGINT), ('u', signal.SIGUSR1):
    for how in group, alone:
        if os.path.exists(sys.argv[3]):
            os.unlink(sys.argv[3])
        p = subprocess.Popen([sys.argv[1], 'cc', sys.argv[2], '-c', sys.argv[3], name], start_new_session=True, stdout=subprocess.PIPE)
        while not os.path.exists(sys.argv[3]):
            time.sleep(0.01)
        how(p, sig)
        print(p.communicate()[0].decode().strip(), p.returncode)
END
is "$out" '1 5
1 5
1 5
1 5'
check 'a signal is the compiler'"'"'s, and comes once, from the whole group and from kill'
$PYTHON - "$STEMMA" "$T/bin/counts" "$T/ready" >"$out" 2>"$err" <<'END'
import os, signal, subprocess, sys, time
os.unlink(sys.argv[3])
p = subprocess.Popen([sys.argv[1], 'cc', sys.argv[2], '-c', sys.argv[3], 'i'], start_new_session=True, stdout=subprocess.DEVNULL)
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
p.kill()
p.wait()
def group():
    for d in filter(str.isdigit, os.listdir('/proc')):
        try:
            rest = open(f'/proc/{d}/stat').read().rsplit(')', 1)
        except OSError:
            continue
        if int(rest[1].split()[2]) == p.pid and rest[1].split()[0] != 'Z':
            yield os.path.basename(rest[0].split('(', 1)[1])
for _ in range(500):
    if sorted(group()) == ['counts']:
        break
    time.sleep(0.02)
print(*sorted(group()))
os.killpg(p.pid, signal.SIGKILL)
END
is "$out" counts
check 'a wrapper that is killed leaves the compiler, and nothing else'

# Nothing of ours in its way
fresh && (exec 0<&- && "$STEMMA" cc gcc -c main.c) && [ -s main.o ] && (exec 2>&- && "$STEMMA" cc gcc -c main.c)
check 'closed standard streams'
fresh && $PYTHON -c 'import signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); import os; os.execv(sys.argv[1], [sys.argv[1], "cc", "gcc", "-c", "main.c"])' "$STEMMA" >"$out" 2>"$err" && [ -s main.o ] && latest code && is "$out" 0
check 'SIGCHLD is ignored'
for place in /proc/nowhere /dev/null/x "$T/readonly"; do
	mkdir -p "$T/readonly" && chmod 500 "$T/readonly"
	fresh && STEMMA_HOME=$place "$STEMMA" cc gcc -DX=1 main.c -o prog >"$out" 2>"$err" && [ ! -s "$err" ] && [ ! -s "$out" ] && ./prog >"$out" && is "$out" 7
	check "a record that cannot be written: $place"
done
fresh && env -u HOME -u STEMMA_HOME "$STEMMA" cc gcc -c main.c >"$out" 2>"$err" && [ ! -s "$err" ] && [ -s main.o ]
check 'no place for a record'
fresh && (ulimit -f 40 && "$STEMMA" cc gcc -c main.c) >"$out" 2>"$err" && [ ! -s "$err" ] && [ -s main.o ]
check 'a limit on the size of files'

# Programs that cannot take the library along
cat >"$T/fake.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **v)
{
	char b[64] = "";
	FILE *f = fopen(v[2], "r"), *o = fopen("main.o", "w");
	if (!f || !o || !fgets(b, sizeof(b), f))
		return 1;
	fputs(b, o);
	return 0;
}
END
# alone HOW COMMAND...: makes such a compiler
alone()
{
	how=$1
	shift
	"$@" -o "$T/bin/fake" "$T/fake.c" 2>"$err" || {
		skip "$how" 'it cannot be made here'
		return
	}
	fresh && cmd 0 cc "$T/bin/fake" -c main.c && [ ! -s "$out" ] && [ ! -s "$err" ] && latest gaps && is "$out" "alone $T/bin/fake" && roles source && is "$out" "$T/x/main.c" && outputs && is "$out" "$T/x/main.o"
	check "$how: said to be missing; sources and output by the arguments"
	printf '#!/bin/sh\n"%s" "$@"\n' "$T/bin/fake" >"$T/bin/script" && chmod +x "$T/bin/script"
	fresh && cmd 0 cc "$T/bin/script" -c main.c && [ ! -s "$err" ] && latest gaps && is "$out" "alone $T/bin/fake"
	check "$how, started by another: said, and nothing on standard error"
}
alone 'a static program' gcc -static
if command -v musl-gcc >/dev/null; then alone 'another C library' musl-gcc; else skip 'another C library' 'no musl-gcc here'; fi
alone '32 bits' gcc -m32
alone 'the address sanitizer' gcc -fsanitize=address
# What a program that was not seen made of what the arguments name
printf '#!/bin/sh\nexec env -i PATH=/usr/bin:/bin "$@"\n' >"$T/bin/distcc" && chmod +x "$T/bin/distcc"
fresh && cmd 0 cc "$T/bin/distcc" gcc -c main.c && latest gaps && says "$out" unseen && roles source && is "$out" "$T/x/main.c" && outputs && is "$out" "$T/x/main.o" && cmd 0 show main.o && says "$out" 'main.c  source' 'said nothing of what it read'
check 'a compiler that empties the environment: sources and output by the arguments, and what is missing'

# Files by other ways, and what is no file
fresh && "$STEMMA" cc gcc -I. -x c -c /dev/fd/3 -o m.o 3<main.c 2>"$err" && latest gaps && is "$out" '' && "$STEMMA" sql --csv "SELECT path FROM build_input WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)" >"$out" && says "$out" "$T/x/main.c"
check 'a source by a descriptor'
fresh && cmd 0 cc gcc -I. -c /proc/self/cwd/main.c -o m.o && latest gaps && is "$out" '' && "$STEMMA" sql --csv "SELECT path FROM build_input WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)" >"$out" && says "$out" "$T/x/main.c" "$T/x/a.h"
check 'by the folder of a process'
shm=$(mktemp -d /dev/shm/stemma-t.XXXXXX 2>/dev/null)
if [ -n "$shm" ]; then
	cp "$T/src/main.c" "$T/src/a.h" "$shm" && cd "$shm" && cmd 0 cc gcc -c main.c && roles source && is "$out" "$shm/main.c" && roles header && says "$out" "$shm/a.h" && outputs && is "$out" "$shm/main.o"
	check 'a project in /dev/shm'
	cd "$T" && rm -rf "$shm"
else
	skip 'a project in /dev/shm' 'it cannot be written here'
fi
# The one who writes to a FIFO writes once: who else opened it would have taken that, or killed the writer.
fresh && mkfifo q.c && { cat main.c >q.c & } && writer=$! && timeout -k 5 60 "$STEMMA" cc gcc -c q.c -o q.o >"$out" 2>"$err" && wait $writer && [ -s q.o ] && latest gaps && is "$out" "stream $T/x/q.c"
check 'a FIFO as a source: compiled, and said to be missing'
fresh && mkfifo r.fifo && { echo '-DX=1' >r.fifo & } && writer=$! && sleep 0.2 && "$STEMMA" cc gcc @r.fifo -c main.c >"$out" 2>"$err"; kill -0 $writer 2>/dev/null
left=$?
fresh && mkfifo r.fifo && { echo '-DX=1' >r.fifo & } && direct=$! && sleep 0.2 && gcc @r.fifo -c main.c >"$out" 2>"$err"; kill -0 $direct 2>/dev/null
[ $left = $? ]
check 'a FIFO as a response file: its writer is as it is with the compiler alone'
kill_child TERM $writer $direct

gcc -shared -fPIC -o "$T/bin/other.so" -xc - <<'END'
int other;
END
fresh && LD_PRELOAD=$T/bin/other.so "$STEMMA" cc gcc -c main.c 2>"$err" && latest gaps,environment && says "$out" "LD_PRELOAD=$T/bin/other.so" && roles header && says "$out" "$T/x/a.h"
check 'another library before ours stays'
fresh && cmd 0 cc env -i PATH="$PATH" gcc -c main.c && latest gaps && says "$out" unseen
check 'an environment that is emptied: said to be missing'
if [ -n "$STRACE" ]; then
	fresh && echo 'int main(void) { return 0; }' >plain.c
	strace -f -qq -e trace=open,openat -o "$T/strace" gcc plain.c -o plain && sed -n 's/.*"\([^"]*plugin[^"]*\.so\)".*= [0-9].*/\1/p' "$T/strace" | while read -r p; do realpath "$p"; done | sort -u >"$T/plugins"
	cmd 0 cc gcc plain.c -o plain && roles plugin && while read -r p; do realpath "$p"; done <"$out" | sort -u | diff "$T/plugins" - >>"$err"
	check 'the plugin that the linker takes in and lets go'
else
	skip 'the plugin that the linker takes in and lets go' 'strace cannot be used here'
fi
finish
