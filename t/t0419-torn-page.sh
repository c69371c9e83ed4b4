#!/bin/sh
# The first page of the index is read before a lock is held: what another process is writing of it is no damage.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo 1 >in
cmd 0 run -- sh -c 'cat in >out'
cmd 0 log
# A write that is done half, again and again: for some milliseconds the page has bytes that do not fit its checksum.
cat >torn.py <<'END'
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
was = os.pread(fd, 4096, 8192)
other = bytes(255 - b for b in was)
open('begun', 'w').close()
while not os.path.exists('stop'):
    os.pwrite(fd, other, 8192)
    time.sleep(0.02)
    os.pwrite(fd, was, 8192)
    time.sleep(0.03)
END
$PYTHON torn.py "$STEMMA_HOME/index.db" &
writer=$!
n=0
while [ ! -e begun ] && [ $n -lt 600 ]; do
	sleep 0.05
	n=$((n + 1))
done
bad=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	cmd 0 log --no-index || bad=$((bad + 1))
done
: >stop
wait $writer
echo "$bad of 20 failed" >>"$err"
[ $bad = 0 ]
check 'a page that is half written is read again'
cmd 0 log && cmd 0 fsck
check 'the index is whole'
# Bytes that stay wrong are damage.
$PYTHON -c '
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, bytes(255 - b for b in os.pread(fd, 4096, 8192)), 8192)' "$STEMMA_HOME/index.db"
"$STEMMA" log --no-index >"$out" 2>"$err"
says "$err" damaged
check 'what stays wrong is damage'
finish
