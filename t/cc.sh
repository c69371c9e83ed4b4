# shellcheck shell=sh disable=SC2034,SC2154,SC2015 # names of lib.sh and of the scripts
# cc.sh - for the tests of stemma cc (sourced after lib.sh). $T/src is what each compile begins with.
#
#   alike COMMAND...    the command by itself, and through `stemma cc`, each in a fresh copy of $T/src at one path ($T/x):
#                       the same files, output, messages and status. Leaves $T/x as stemma cc left it
#   truth COMMAND...    what strace says the command opens to read, in a fresh copy, one path a line, in $T/truth
#   recorded            what the latest record says went in, in $T/recorded; 0 if it is the same as $T/truth
#   what HOW COMMAND... checks both
#   latest COLUMN...    of the latest build, in $out

CC=$(command -v gcc) || CC=cc
command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null && STRACE=1 || STRACE=

fresh()
{
	rm -rf "$T/x"
	cp -a "$T/src" "$T/x"
	cd "$T/x" || exit 1
}

alike()
{
	fresh
	"$@" >"$T/direct.out" 2>"$T/direct.err" <"${STDIN:-/dev/null}"
	direct=$?
	rm -rf "$T/direct"
	cd "$T" && mv x direct
	fresh
	"$STEMMA" cc "$@" >"$out" 2>"$err" <"${STDIN:-/dev/null}"
	got=$?
	[ $got = $direct ] || {
		echo "status $got, not $direct, of: stemma cc $*" >>"$err"
		return 1
	}
	cmp "$T/direct.out" "$out" >&2 && cmp "$T/direct.err" "$err" >&2 && diff -r "$T/direct" "$T/x" >"$T/differs" || {
		cat "$T/differs" >>"$err"
		return 1
	}
}

truth()
{
	fresh
	strace -f -qq -e trace=open,openat,mmap -o "$T/strace" "$@" >/dev/null 2>&1 <"${STDIN:-/dev/null}"
	$PYTHON - "$T/strace" "$T/x" >"$T/truth" <<'END'
import os, re, sys
call = re.compile(r'^(\d+) +open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", ([A-Z_|0-9]+)(?:, [0-7]+)?\) += (-?\d+)')
unfinished = re.compile(r'^(\d+) +open(?:at)?\((?:AT_FDCWD, )?"([^"]*)", ([A-Z_|0-9]+)(?:, [0-7]+)? <unfinished')
resumed = re.compile(r'^(\d+) +<\.\.\. open(?:at)? resumed>.*\) += (-?\d+)')
loads = re.compile(r'^(\d+) +mmap\(.*MAP_DENYWRITE, (\d+),')
waiting, read, written, loading = {}, set(), set(), {}
def take(pid, path, flags, fd):
    if fd < 0 or 'O_DIRECTORY' in flags:
        return
    path = os.path.realpath(os.path.join(sys.argv[2], path))
    if 'O_WRONLY' in flags or 'O_RDWR' in flags:
        written.add(path)
    elif not (path.startswith(('/proc/', '/sys/', '/dev/', '/etc/ld.so', '/etc/nsswitch', '/etc/passwd')) or
              '/locale' in path or '/gconv/' in path or path.endswith('.mo')):
        if (pid, fd) in loading:
            read.add(loading.pop((pid, fd)))
        if 'O_CLOEXEC' in flags and '.so' in path:
            loading[pid, fd] = path # unless the dynamic linker maps it
        else:
            read.add(path)
for line in open(sys.argv[1], errors='replace'):
    m = call.match(line)
    if m:
        take(m[1], m[2], m[3], int(m[4]))
    elif (m := unfinished.match(line)):
        waiting[m[1]] = (m[2], m[3])
    elif (m := resumed.match(line)) and m[1] in waiting:
        take(m[1], *waiting.pop(m[1]), int(m[2]))
    elif (m := loads.match(line)):
        loading.pop((m[1], int(m[2])), None)
read.update(loading.values())
for path in sorted(read - written):
    if os.path.isfile(path):
        print(path)
END
	[ -z "${STDIN:-}" ] || realpath "$STDIN" >>"$T/truth"
}

# The same of the record, without plugins, which the compiler does not open itself.
recorded()
{
	"$STEMMA" sql --csv "SELECT path FROM build_input WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)
		AND role NOT IN ('tool', 'plugin')" 2>>"$err" | tr -d '\r' | sed '1d; s/^"\(.*\)"$/\1/' |
		while read -r p; do realpath "$p"; done | sort -u >"$T/recorded"
	LC_ALL=C sort -u "$T/truth" >"$T/truth.sorted"
	LC_ALL=C sort -u "$T/recorded" >"$T/recorded.sorted"
	[ -s "$T/strace" ] && diff "$T/truth.sorted" "$T/recorded.sorted" >"$T/differs" || {
		cat "$T/differs" >>"$err"
		return 1
	}
}

what()
{
	how=$1
	shift
	alike "$@"
	check "$how: nothing differs"
	if [ -n "$STRACE" ]; then
		truth "$@" && alike "$@" && recorded
		check "$how: what was read"
	else
		skip "$how: what was read" 'strace cannot be used here'
	fi
}

latest()
{
	"$STEMMA" sql --csv "SELECT $* FROM build ORDER BY ended DESC, seq DESC LIMIT 1" >"$T/latest" 2>>"$err" &&
		sed 1d "$T/latest" | tr -d '\r' >"$out"
}

# roles ROLE: their paths of the latest build, in order.
roles()
{
	"$STEMMA" sql --csv "SELECT path FROM build_input WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)
		AND role = '$1' ORDER BY n" 2>>"$err" | tr -d '\r' | sed 1d >"$out"
}

outputs()
{
	"$STEMMA" sql --csv "SELECT path FROM build_output WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)
		ORDER BY path" 2>>"$err" | tr -d '\r' | sed 1d >"$out"
}
