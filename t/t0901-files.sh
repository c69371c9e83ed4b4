#!/bin/sh
# The node's tracer on files: opens, closes, names and who did it. Needs privileges.
# shellcheck source=t/node.sh
. "$(dirname "$0")/node.sh"

# file NAME: the lines of a file of the work folder.
file()
{
	grep -E "^(file|rename) .* path=\"$T/work/$1\"" "$events"
}

trace sh -c 'echo one >a; cat a >b; mv b c; ln c d; rm d; mkdir e; mv e f; : >f/g; rmdir f 2>/dev/null; rm -r f'
result $? "a script that makes and removes" "$err"
file a | grep -q 'ops=[a-z_,]*opened' && file a | grep -q 'ops=[a-z_,]*closed_write' && file a | grep -q 'ops=[a-z_,]*created'
result $? "created, opened, closed after writing" "$events"
file a | grep 'comm=cat' | grep -q 'ops=opened,closed_read\|ops=opened'
result $? "read by another program" "$events"
file c | grep -q "^rename .*comm=mv .*old=\"$T/work/b\""
result $? "a rename with both names" "$events"
file d | grep -q 'comm=ln .*ops=[a-z_,]*created' && file d | grep -q 'comm=rm .*ops=[a-z_,]*deleted'
result $? "a link, made and removed" "$events"
# c was b: one file, one identity, and that of the file there is.
id=$(stat -c %i c)
[ "$(file '[bcd]' | sed -n 's/.* id=[^:]*:\([0-9]*\):.*/\1/p' | sort -u)" = "$id" ]
result $? "one file under three names is one inode" "$events"
file f | grep -q "^rename .*old=\"$T/work/e\"" && file f/g | grep -q 'ops=[a-z_,]*created'
result $? "a name in a directory that was just renamed" "$events"

# The generation is that which stemma run records: of the file handle.
$PYTHON - c >"$T/gen" 2>&1 <<'END'
import ctypes, os, sys, subprocess
libc = ctypes.CDLL(None, use_errno=True)
class H(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_uint), ('type', ctypes.c_int), ('b', ctypes.c_ubyte * 128)]
h = H(128); m = ctypes.c_int()
r = libc.name_to_handle_at(-100, sys.argv[1].encode(), ctypes.byref(h), ctypes.byref(m), 0)
print('none' if r < 0 else '%d %s' % (h.type, bytes(h.b[:h.bytes]).hex()))
END
case $(cat "$T/gen") in
none) skip "file handles" "this file system has none" ;;
*)
	! file '[abcd]' | grep -q 'id=[^ ]*:0000000000000000/' && [ "$(file '[bcd]' | sed -n 's/.* id=[^:]*:[0-9]*:\([0-9a-f]*\).*/\1/p' | sort -u | wc -l)" = 1 ]
	result $? "... and one generation" "$events"
	;;
esac

# Redirections: the shell's child opens, the program closes.
trace sh -c '(exec sort <c >sorted); exit 3'
[ $? = 3 ] && file c | grep -q 'nexec=0 .*ops=opened' && file sorted | grep -q 'nexec=0 .*ops=[a-z_,]*opened'
result $? "a redirection is opened before the program starts" "$events"
awk '$1 == "exec" && /comm=sort/ { for (i = 2; i <= NF; i++) if ($i ~ /^lo=/) t = substr($i, 4) }
	$1 == "file" && /sorted"/ && /opened/ { for (i = 2; i <= NF; i++) if ($i ~ /^hi=/) h = substr($i, 4) }
	END { exit !(t > 0 && h > 0 && h <= t) }' "$events"
result $? "... and its interval ends where the program begins" "$events"

# Every interval holds the moment: a program says when it opened.
cat >"$T/when.py" <<'END'
import time
for i in range(300):
    a = time.time_ns()
    open('when%d' % i, 'w').close()
    b = time.time_ns()
    print(i, a, b)
    time.sleep(0.001)
END
trace $PYTHON "$T/when.py"
$PYTHON - "$events" "$out" >"$T/why" 2>&1 <<'END'
import re, sys
at = {}
for l in open(sys.argv[1]):
    m = re.search(r'lo=(\d+) hi=(\d+) .*ops=\S*opened\S* path="[^"]*/when(\d+)"', l)
    if m and l.startswith('file'):
        at[int(m[3])] = int(m[1]), int(m[2])
bad, widths = [], []
for l in open(sys.argv[2]):
    i, a, b = map(int, l.split())
    if i not in at: bad.append('%d is missing' % i); continue
    lo, hi = at[i]
    widths.append(hi - lo)
    if not (lo <= b and a <= hi): bad.append('%d: %d..%d is not in %d..%d' % (i, a, b, lo, hi))
widths.sort()
print('\n'.join(bad[:20]), len(at), 'median width %.1f ms' % (widths[len(widths) // 2] / 1e6) if widths else '')
sys.exit(bool(bad) or len(at) != 300)
END
result $? "300 openings, each in its interval: $(tail -n 1 "$T/why")" "$T/why"

# 20,000 files made, read, removed: all of them told. Fewer on a machine that is emulated.
many=${NODE_MANY:-20000}
cat >"$T/many.py" <<'END'
import os, sys
for i in range(int(sys.argv[1])):
    n = 'm%d' % (i % 64) + '.%d' % i
    with open(n, 'w') as f: f.write('x')
    with open(n) as f: f.read()
    os.unlink(n)
END
trace $PYTHON "$T/many.py" "$many"
n=$(grep -o '^file .*ops=[a-z_,]*created[a-z_,]* path="[^"]*/work/m[0-9.]*"' "$events" | sed 's/.*path=//' | sort -u | wc -l)
d=$(grep -o '^file .*ops=[a-z_,]*deleted[a-z_,]* path="[^"]*/work/m[0-9.]*"' "$events" | sed 's/.*path=//' | sort -u | wc -l)
if grep -q '^lost' "$events"; then
	result 0 "$many files: $n made, $d removed, and it says that some were lost" "$events"
else
	[ "$n" = "$many" ] && [ "$d" = "$many" ]
	result $? "$many files: $n made, $d removed" "$err"
fi

# What cannot be named is said, and odd names are whole.
trace $PYTHON -c "
import os
os.makedirs('x/y'); f = open('x/y/gone', 'w'); os.unlink('x/y/gone'); os.rmdir('x/y'); os.rmdir('x'); f.write('z'); f.close()
open(b'odd \xff\n\"name', 'w').close()
os.makedirs('/'.join(['long' * 50] * 8)); open('/'.join(['long' * 50] * 8) + '/deep', 'w').close()"
grep -q '^file .*path="[^"]*odd \\xff\\x0a\\x22name"' "$events" && grep -q '^file .*longlong/deep"' "$events"
result $? "odd names and long paths" "$events"
grep -E '^file .*ops=[a-z_,]*closed_write' "$events" | grep -q 'gone"\|flags=[a-z_,]*no_path'
result $? "a file that is gone before it is looked at" "$events"

# Left out.
trace -i "$T/work/hidden" sh -c 'mkdir -p hidden; echo 1 >hidden/a; echo 2 >seen'
! grep -q 'hidden/a"' "$events" && file seen | grep -q opened
result $? "what lies under a path that is left out is not told" "$events"

# Another file system, mounted while it runs.
mkdir -p "$T/mnt"
if unshare -m true 2>/dev/null && mount -t tmpfs none "$T/mnt" 2>/dev/null; then
	# Before Linux 5.13 a tmpfs has no id of its own, so its events could not be told from others'.
	why=$("$TRACETEXT" true 2>/dev/null | sed -n "s|^watch .*watched=0 mount=\"$T/mnt\".* why=\"\(.*\)\"|\1|p" | head -n 1)
	umount "$T/mnt"
else
	why="nothing may be mounted here"
fi
if [ -z "$why" ]; then
	trace sh -c "mount -t tmpfs none '$T/mnt'; sleep 1; echo 1 >'$T/mnt/new'; sleep 0.5; umount '$T/mnt'; sleep 0.4"
	status=$?
	grep -q "^watch .*watched=1 mount=\"$T/mnt\"" "$events" && grep -q "^file .*path=\"$T/mnt/new\"" "$events"
	result $? "a file system that is mounted is watched" "$events"
	[ $status = 0 ] && grep -q "^watch .*watched=0 mount=\"$T/mnt\"" "$events"
	result $? "... and does not keep it from being unmounted" "$events"
	umount "$T/mnt" 2>/dev/null
	# In a container's own mount namespace.
	trace unshare -m sh -c "mount -t tmpfs none '$T/mnt'; sh -c 'sleep 1'; sh -c true; sleep 0.5; echo 1 >'$T/mnt/inside'; sleep 0.3"
	grep -q "^file .*flags=[a-z_,]*alias.* path=\"$T/mnt/inside\"\|^file .*path=\"$T/mnt/inside\"" "$events"
	result $? "... and one in a mount namespace of its own" "$events"
	# By whom it was found is gone when something is done there; then even who began it is gone, and something new starts.
	trace unshare -m sh -c "mount -t tmpfs none '$T/mnt'; sleep 0.3; sh -c 'sleep 0.5'; echo 1 >'$T/mnt/after'; sleep 0.3"
	grep -q "^file .*path=\"$T/mnt/after\"" "$events"
	result $? "... when the program that it was found by has ended" "$events"
	trace sh -c "unshare -m sh -c \"mount -t tmpfs none '$T/mnt'; sh -c 'sleep 0.3'; (sleep 1; sh -c 'sleep 0.5'; echo 1 >'$T/mnt/orphan'; sleep 0.3) & exit\"; sleep 3"
	grep -q "^file .*path=\"$T/mnt/orphan\"" "$events"
	result $? "... and when the one that began it has, and another goes on" "$events"
else
	skip "mounts" "$why"
fi

finish
