#!/bin/sh
# Times of a file that an earlier run wrote are set, by name and by descriptor: it is the same version, and nobody changed it outside.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}

# goes_on NAME PYTHON: the file f of another run keeps its version
goes_on()
{
	rm -f f
	rec sh -c 'echo content >f' && sleep 0.05 && rec python3 -c "import os; $2" && rec sh -c 'cat f >out' && cmd 0 why f && says "$out" 'f@{1}: made by sh -c' &&
		cmd 0 lineage out && says "$out" 'f@{1}' && says_not "$out" 'outside stemma'
	check "$1"
}
goes_on 'now, by name' 'os.utime("f")'
goes_on 'given ones, by name' 'os.utime("f", (1000000000, 1000000000))'
goes_on 'of what a link itself is called' 'os.utime("f", follow_symlinks=False)'
goes_on 'by a descriptor that was opened to read' 'os.utime(os.open("f", os.O_RDONLY))'
goes_on 'through a symbolic link' 'os.symlink("f", "link%d" % os.getpid()); os.utime("link%d" % os.getpid(), (1, 1))'
goes_on 'and read then by the same program' 'os.utime("f", (1, 1)); open("f").read()'

# A file that no run wrote is external before and after.
echo outside >g && rec python3 -c 'import os; os.utime("g", (1, 1))' && rec sh -c 'cat g >out2' && cmd 0 lineage out2 && says "$out" 'g@{1}' && says_not "$out" 'outside stemma'
check 'a file from outside: one version'

# What changes the content is still told.
rm -f f && rec sh -c 'echo content >f' && rec python3 -c 'import os; os.utime("f", (1, 1))' && echo other >f && rec sh -c 'cat f >out3' && cmd 1 why f && says "$out" 'modified outside stemma'
check 'a change outside, after that, is told'
finish
