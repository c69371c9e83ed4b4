#!/bin/sh
# Granularity access: first and last call, bytes and counts, added up in the kernel for those who are asked for. Needs
# privileges.
# shellcheck source=t/node.sh
. "$(dirname "$0")/node.sh"

cat >"$T/truth.py" <<'END'
import os, socket, sys
fd = os.open('data', os.O_RDWR | os.O_CREAT, 0o600)
for i in range(1000): os.write(fd, b'x' * (i + 1))
os.lseek(fd, 0, 0)
n = c = 0
while True:
    b = os.read(fd, 4096)
    if not b: break
    n += len(b); c += 1
print('data', c, n, 1000, 500500, os.fstat(fd).st_ino)
os.pwritev(fd, [b'ab', b'cde'], 0)
src = os.open('src', os.O_RDWR | os.O_CREAT, 0o600); os.write(src, b'y' * 70000)
dst = os.open('dst', os.O_RDWR | os.O_CREAT, 0o600)
k = os.sendfile(dst, src, 0, 30000)
m = os.copy_file_range(src, dst, 20000, 0, None)
print('dst', 0, 0, 2, k + m, os.fstat(dst).st_ino)
print('src', 2, k + m, 1, 70000, os.fstat(src).st_ino)
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, b'z' * 1234); os._exit(0)
os.waitpid(pid, 0)
print('pipe', 1, len(os.read(r, 9999)), 1, 1234, os.fstat(r).st_ino)
END

# totals INODE: reads, bytes, writes, bytes of all events of that inode, added up.
totals()
{
	grep "^access .* id=[^:]*:$1:" "$events" | sed 's/.* read=\([0-9]*\)\/\([0-9]*\) write=\([0-9]*\)\/\([0-9]*\).*/\1 \2 \3 \4/' |
		awk '{ a += $1; b += $2; c += $3; d += $4 } END { print a + 0, b + 0, c + 0, d + 0 }'
}

trace -a pid $PYTHON "$T/truth.py"
status=$?
if [ $status = 77 ]; then
	echo "1..0 # SKIP $(tr '\n' ' ' <"$err")"
	exit 0
fi
result $status "a command is counted" "$err"
while read -r what reads read writes written ino; do
	[ "$what" = data ] && writes=$((writes + 1)) written=$((written + 5))
	want="$reads $read $writes $written"
	[ "$(totals "$ino")" = "$want" ]
	result $? "$what: $want, told $(totals "$ino")" "$events"
done <"$out"
! grep -q '^lost' "$events"
result $? "nothing is lost" "$events"

# The totals of a process are told before its end.
awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^pid=/) p = substr($i, 5) }
	$1 == "exit" { gone[p] = 1 } $1 == "access" && gone[p] { bad = 1 } END { exit bad }' "$events"
result $? "totals come before the end of their process" "$events"

# Each program of a process has its own.
trace -a pid sh -c 'read x </etc/hostname; exec cat /etc/passwd'
ino=$(stat -L -c %i /etc/passwd)
[ "$(grep -c "^access .*comm=cat .* id=[^:]*:$ino:" "$events")" = 1 ] && grep "^access .* id=[^:]*:$ino:" "$events" | grep -q 'nexec=3 '
result $? "the reads of a program that another became are its own" "$events"

# By user, and nobody else.
if id nobody >/dev/null 2>&1 && setpriv --reuid nobody --clear-groups true 2>/dev/null; then
	chmod 755 "$T" "$T/work"
	uid=$(id -u nobody)
	trace -a "uid=$uid" sh -c "cat /etc/passwd; setpriv --reuid nobody --clear-groups sh -c 'cat /etc/group'"
	group=$(stat -L -c %i /etc/group)
	[ "$(totals "$group" | cut -d' ' -f2)" = "$(wc -c </etc/group)" ] && ! grep -q "^access .* id=[^:]*:$ino:" "$events"
	result $? "one user's reads, and nobody else's" "$events"
else
	skip "by user" "there is no nobody, or setpriv"
fi

# Threads share their process's totals: no count is lost between them.
cat >"$T/threads.c" <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static int fd;
static void *work(void *arg)
{
	char c = 0;
	for (int i = 0; i < 50000; i++)
		if (pwrite(fd, &c, 1, i) != 1)
			return arg;
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	struct stat st;
	fd = open("shared", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	fstat(fd, &st);
	printf("%lu\n", (unsigned long)st.st_ino);
	return 0;
}
END
if cc -O1 -o "$T/threads" "$T/threads.c" -lpthread 2>/dev/null; then
	trace -a pid "$T/threads"
	[ "$(totals "$(cat "$out")")" = "0 0 200000 200000" ]
	result $? "four threads, 200,000 writes: $(totals "$(cat "$out")")" "$events"
else
	skip "threads" "no C compiler"
fi

# Many files: more than half of the map, told in between.
trace -a pid $PYTHON -c "
import os
for i in range(30000):
    fd = os.open('n%d' % (i % 7000), os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(fd, b'12345'); os.close(fd)"
sum=$(grep '^access .*comm=python3' "$events" | sed -n 's/.* write=\([0-9]*\)\/\([0-9]*\).*/\1 \2/p' | awk '{ a += $1; b += $2 } END { print a, b }')
lost=$(sed -n 's/^lost .*what=2 count=\([0-9]*\).*/\1/p' "$events" | awk '{ n += $1 } END { print n + 0 }')
[ "$((${sum% *} + lost))" = 30000 ]
result $? "30,000 writes to 7,000 files: told ${sum% *}, said to be lost $lost" "$events"

finish
