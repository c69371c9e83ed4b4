#!/bin/sh
# SIGTSTP and SIGCONT sent to `stemma run` alone, one right after the other, again and again: the command goes on each time, and so
# does the recorder.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cat >"$T/stop.py" <<'END'
import os, signal, subprocess, sys, time
rounds, command = int(sys.argv[1]), sys.argv[2:]
def state(pid):
    return open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0]
def until(good):
    for _ in range(500):
        if good():
            return True
        time.sleep(0.01)
    return False
p = subprocess.Popen(command + ['sleep', '1000'], preexec_fn=os.setpgrp)
job = []
def find():
    for d in os.listdir('/proc'):
        try:
            if d.isdigit() and open('/proc/%s/cmdline' % d, 'rb').read() == b'sleep\x001000\0' and os.getpgid(int(d)) == p.pid:
                job.append(int(d))
                return True
        except OSError:
            pass
    return False
until(find) or sys.exit('the command did not begin')
for i in range(rounds):
    os.kill(p.pid, signal.SIGTSTP)
    # Nothing is waited for but that it has stopped: the recorder has hardly seen it yet.
    for _ in range(2000000):
        if state(job[0]) in 'Tt':
            break
    else:
        print('round %d: SIGTSTP did not stop the command' % i)
    os.kill(p.pid, signal.SIGCONT)
    if not until(lambda: state(job[0]) not in 'Tt'):
        print('round %d: SIGCONT did not let it go on' % i)
        break
    if not until(lambda: state(p.pid) not in 'Tt'):
        print('round %d: the recorder stays stopped' % i)
        break
os.kill(p.pid, signal.SIGCONT)
os.kill(p.pid, signal.SIGTERM)
print('ended', p.wait())
END
rounds=60
[ -z "$SLOW" ] || rounds=1000
for o in --level=3 --count --transport=trace; do
	STEMMA_HOME=$T/home timeout 200 $PYTHON -S "$T/stop.py" $rounds "$STEMMA" run -q $o -- >"$T/got" 2>&1
	[ "$(cat "$T/got")" = 'ended -15' ]
	result $? "$o: stopped and let go on at once, $rounds times" "$T/got"
done
finish
