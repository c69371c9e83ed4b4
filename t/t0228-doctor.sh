#!/bin/sh
# doctor: what works is found out by doing it, and what run does then is what doctor says.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export HOME="$T" STEMMA_HOME="$T/home"
mkdir "$T/tmp"
# A leak checker looks at its process with ptrace, and takes it for an error if it may not.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# doctor STATUS ARG...: its output is in $T/out; STEMMA_UNDER is put before it.
doctor()
{
	want=$1
	shift
	# shellcheck disable=SC2086 # words
	TMPDIR=$T/tmp $under "$STEMMA" doctor "$@" >"$T/out" 2>"$T/err"
	status=$?
	[ $status = "$want" ] && [ ! -s "$T/err" ] && [ -z "$(ls -A "$T/tmp")" ] && return 0
	{
		echo "status $status"
		cat "$T/err"
		ls -A "$T/tmp"
	} >>"$T/out"
	return 1
}

# the: what is said of it: STATE TEXT.
the()
{
	sed -n "s/^$1  *\([a-z]* *.*\)/\1/p" "$T/out" | tr -s ' '
}

under=
doctor 0 --quick && [ "$(wc -l <"$T/out")" -le 26 ] && ! grep -q 'a stopped call' "$T/out" && the kernel | grep -q '^ok Linux '
result $? "a screen at most, nothing measured" "$T/out"
# What run does is what doctor says that it would.
says=$(the run | sed 's/^[a-z]* records //; s/:.*//')
"$STEMMA" run -- true 2>"$T/err"
events "$T/home" "$T/events" && grep '"k":"session"' "$T/events" | grep -q "\"mode\":\"$says\""
result $? "run does what doctor says: $says" "$T/events"

doctor 0
result $? "nothing is left behind" "$T/out"
for way in 'user notification:--transport=notify' 'ptrace:--transport=trace' 'bytes per file:--exact' 'processes:--transport=proc'; do
	title=${way%%:*}
	case $(the "$title") in
	ok*) the "$title" | grep -Eq -e "^ok ${way#*:}: (stops no call|[1-9][0-9]*\.[0-9] us per stopped call), [0-9.]* ms a program\$" ;;
	*) the "$title" | grep -Eq -e "^missing ${way#*:}: ..*" ;;
	esac
	result $? "$title" "$T/out"
done
doctor 0 --json
$PYTHON - "$T/out" >"$T/why" 2>&1 <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
by = {c["name"]: c for c in d["checks"]}
for name in ("kernel", "container", "user notification", "ptrace", "bytes per file", "processes", "run", "process memory",
             "control groups", "perf events", "process events", "store", "index", "file identity", "graphviz", "serd", "zip archives"):
    c = by.get(name)
    if not c or c["state"] not in ("ok", "limited", "missing") or not c["text"]:
        print(name, c)
if d["format"] != 1 or not d["version"] or len(by) != len(d["checks"]):
    print("not as documented")
for name in ("user notification", "ptrace", "bytes per file", "processes"):
    c = by[name]
    measured = c.get("call_us", -1) >= 0 and c.get("program_us", -1) >= 0
    if measured != (c["state"] == "ok"):
        print(name, c)
END
[ ! -s "$T/why" ]
result $? "as JSON, with the costs" "$T/why"

if "$PROGS/p-deny" kcmp=EPERM -- true 2>"$T/err"; then
	under="$PROGS/p-deny linux-4.18 --"
	doctor 0 --quick && the 'user notification' | grep -q '^missing .*: the kernel has no' && the 'bytes per file' | grep -q '^missing .*5\.3' &&
		the ptrace | grep -q '^ok' && the run | grep -q '^limited records complete/trace: the kernel has no'
	result $? "an old kernel" "$T/out"
	under="$PROGS/p-deny seccomp=EPERM prctl-seccomp=EPERM ptrace=EACCES --"
	doctor 0 && the 'user notification' | grep -q 'Operation not permitted' && the ptrace | grep -q '^missing .*Permission denied' &&
		the run | grep -q '^limited records safe/preload: ' && the container | grep -q 'filters'
	result $? "neither filters nor ptrace" "$T/out"
else
	skip_ "where something is lacking" "no seccomp filter can be installed here"
fi

# Which HDF5 there is: the libraries that the loader would take, by what they say of themselves.
under=
if command -v cc >/dev/null; then
	mkdir "$T/hdf5" "$T/later"
	lib() { # FOLDER NAME CODE
		echo "$3" >"$T/lib.c" && cc -shared -fPIC -o "$T/$1/$2" "$T/lib.c"
	}
	says() { echo "int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { *a = $1, *b = $2, *c = $3; return 0; }"; }
	lib hdf5 libhdf5.so.77 "$(says 1 14 77)" && lib hdf5 libhdf5_other.so.77 "$(says 7 1 2)" && lib hdf5 libhdf5_hl.so.77 "$(says 1 1 1)" &&
		lib hdf5 libhdf5_bad.so.77 '#include <stdlib.h>
__attribute__((constructor)) static void bad(void) { abort(); }' && lib hdf5 libhdf5_deaf.so.77 "int x;" && echo rubbish >"$T/hdf5/libhdf5_text.so.77" &&
		lib later libhdf5.so.77 "$(says 1 12 9)"
	LD_LIBRARY_PATH=$T/hdf5:$T/later doctor 0 --quick && the 'HDF5 objects' | grep -q '1\.14\.77 (libhdf5\.so\.77)' && the 'HDF5 objects' | grep -q '7\.1\.2 (libhdf5_other' &&
		! the 'HDF5 objects' | grep -q -e '1\.12\.9' -e '1\.1\.1' -e bad -e deaf -e text
	result $? "which HDF5 programs would load" "$T/out"
else
	skip_ "which HDF5 programs would load" "no compiler"
fi
real=$(h5dump --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')
if [ -n "$real" ] && ldconfig -p 2>/dev/null | grep -q 'libhdf5[a-z_]*\.so\.[0-9]'; then
	doctor 0 --quick && the 'HDF5 objects' | grep -q "here.* $real ("
	result $? "the system's HDF5" "$T/out"
else
	skip_ "the system's HDF5" "no h5dump, or HDF5 is not where the loader looks"
fi
doctor 0 --quick && the languages | grep -q 'in C, C++, Fortran, Python'
result $? "languages" "$T/out"

if grep -q -e __asan_init -e __tsan_init "$STEMMA"; then
	skip_ "no /proc" "a sanitizer needs it"
elif [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	cat >"$T/no-proc" <<-'END'
		#!/bin/sh
		exec unshare -m sh -c 'umount -l /proc; exec "$@"' - "$@"
	END
	chmod 755 "$T/no-proc"
	under=$T/no-proc
	doctor 1 --quick && the run | grep -q '^missing records nothing but itself: /proc is not mounted'
	result $? "no /proc" "$T/out"
else
	skip_ "no /proc" "only root can take it away"
fi
finish
