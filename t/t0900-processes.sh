#!/bin/sh
# The node's tracer on processes: what it tells of fork, exec and exit is what the programs did. Needs privileges.
# shellcheck source=t/node.sh
. "$(dirname "$0")/node.sh"

cat >"$T/truth.py" <<'END'
import os, sys, resource, threading
def child(status):
    pid = os.fork()
    if pid == 0:
        os._exit(status)
    return pid, os.waitpid(pid, 0)[1]
print('self', os.getpid(), os.getppid(), flush=True)
for status in (0, 7, 255):
    print('child', *child(status), flush=True)
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), 9)
print('child', pid, os.waitpid(pid, 0)[1], flush=True)
pid = os.fork()
if pid == 0:
    t = [threading.Thread(target=lambda: sum(range(3000000))) for i in range(4)]
    [x.start() for x in t]
    [x.join() for x in t]
    open('threads', 'w').write(str(int(1e9 * sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))))
    os._exit(0)
print('child', pid, os.waitpid(pid, 0)[1], flush=True)
os.chdir('/usr')
pid = os.fork()
if pid == 0:
    os.execvpe('true', ['true', 'a b', '', 'ü'], {'X': '1'})
print('exec', pid, os.waitpid(pid, 0)[1], flush=True)
END
trace $PYTHON "$T/truth.py"
result $? "a command is traced, and its status is its own" "$err"

pid=$(sed -n 's/^self \([0-9]*\) .*/\1/p' "$out")
ppid=$(sed -n 's/^self [0-9]* //p' "$out")
grep -q "^exec pid=$pid ppid=$ppid .* argv=\"$PYTHON|$T/truth.py\"" "$events"
result $? "the program, its parent and its arguments" "$events"

bad=0
while read -r what pid status; do
	case $what in child | exec)
		grep -q "^fork pid=$pid ppid=[0-9]* " "$events" && grep -q "^exit pid=$pid .* status=$status " "$events" || bad=1
		;;
	esac
done <"$out"
result $bad "each fork and each status, signals too" "$events"

pid=$(sed -n 's/^exec \([0-9]*\) .*/\1/p' "$out")
grep "^exec pid=$pid " "$events" | grep -q 'cwd="/usr" argv="true|a b||\\xc3\\xbc" env_bytes=4/4'
result $? "working directory, empty and odd arguments, environment" "$events"

pid=$(grep '^child' "$out" | sed -n '5s/child \([0-9]*\) .*/\1/p')
[ "$(of "$pid" exit threads)" = 5 ]
result $? "threads are counted with their process" "$events"
cpu=$(of "$pid" exit cpu)
[ "$cpu" -gt "$(($(cat threads) * 7 / 10))" ] && [ "$cpu" -lt "$(($(cat threads) * 13 / 10 + 20000000))" ]
result $? "... and their CPU time: $cpu, by getrusage $(cat threads)" "$events"

# 30,000 bytes of arguments and more: what does not fit into the ring is read from /proc.
trace sh -c "$PYTHON -c 'import time; time.sleep(0.3)' $(head -c 30000 /dev/zero | tr '\0' 'x')"
grep '^exec .*comm=python3' "$events" | grep -v 'flags=[a-z_,]*\(cut\|unread\)' | awk 'length > 30000 { n++ } END { exit n != 1 }'
result $? "long arguments, of a program that is still there" "$events"
trace sh -c "true $(head -c 30000 /dev/zero | tr '\0' 'x'); /bin/true $(head -c 30000 /dev/zero | tr '\0' 'x')"
# Unless it was still there after all, as it may be on a slow machine.
grep -q '^exec .*comm=true .*flags=[a-z_,]*cut' "$events" || grep '^exec .*comm=true' "$events" | awk 'length > 30000 { n++ } END { exit n != 1 }'
result $? "... are said to be cut, of one that is not" "$events"

# A script: what was asked for, and what runs.
printf '#!/bin/sh\nexec true\n' >"$T/script"
chmod +x "$T/script"
trace "$T/script" one
grep -q "^exec .*nexec=2 .*comm=script .* path=\"[^\"]*sh\" name=\"$T/script\" .*argv=\"/bin/sh|$T/script|one\"" "$events" &&
	grep -q '^exec .*nexec=3 .*comm=true ' "$events"
result $? "a script and its interpreter, then another program" "$events"

# Descriptors at an exec: a pipe has the same number at both ends.
trace sh -c 'sleep 0.1 | cat'
w=$(grep '^fds .*comm=sleep .*at=exec' "$events" | sed -n 's/.* 1:10000:2:\([0-9]*\).*/\1/p')
r=$(grep '^fds .*comm=cat .*at=exec' "$events" | sed -n 's/.* 0:10000:1:\([0-9]*\).*/\1/p')
[ -n "$w" ] && [ "$w" = "$r" ]
result $? "a pipe between two programs" "$events"

# Descriptors by whatever number; and what is more than is looked at is said.
cat >"$T/numbers.py" <<'END'
import os, resource, sys
# numbers.py NUMBER...: true has a file at each of these, and nothing else but its standard ones
wanted = [int(n) for n in sys.argv[1:]]
room = max(wanted) + 1
if room > resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, max(room, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
os.closerange(3, 1024)
for n in wanted:
    os.dup2(os.open(sys.argv[0], os.O_RDONLY), n)
for n in range(3, room):
    if n not in wanted:
        try: os.close(n)
        except OSError: pass
os.execv('/bin/true', ['true'])
END
trace $PYTHON "$T/numbers.py" 60 63 64 127 255 1023
line=$(grep '^fds .*comm=true .*at=exec' "$events")
for number in 60 63 64 127 255 1023; do
	case $line in *" $number:100000:1:"*) ;; *) line= ;; esac
done
[ -n "$line" ] && ! echo "$line" | grep -q ' cut' && ! echo "$line" | grep -q ' 62:\| 65:\| 254:'
result $? "descriptors of large numbers" "$events"
# shellcheck disable=SC2046 # numbers
trace $PYTHON "$T/numbers.py" $(seq 100 179)
grep '^fds .*comm=true .*at=exec' "$events" | grep -q ' 100:100000:1:.* cut$'
result $? "... more of them than are looked at" "$events"
if [ "$(ulimit -H -n)" = unlimited ] || [ "$(ulimit -H -n)" -gt 2100 ]; then
	trace $PYTHON "$T/numbers.py" 2000
	grep '^fds .*comm=true .*at=exec' "$events" | grep -q ' cut$'
	result $? "... of a number that is not looked at" "$events"
else
	skip "... of a number that is not looked at" "no such number is allowed here"
fi

# 2,000 processes, told all. Fewer on a machine that is emulated.
many=${NODE_MANY:-2000}
trace -p sh -c "i=0; while [ \$i -lt $many ]; do (:); i=\$((i + 1)); done"
forks=$(grep -c '^fork' "$events")
exits=$(grep -c '^exit' "$events")
[ "$forks" = "$many" ] && [ "$exits" = $((many + 1)) ] && ! grep -q '^lost' "$events"
result $? "$many processes: $forks forks, $exits exits" "$events"

# The order of one process: fork, execs, exit.
awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^pid=/) p = substr($i, 5) }
	$1 == "exit" { gone[p] = 1 } $1 == "fork" { born[p]++ } $1 == "exec" && gone[p] { bad = 1 } END { exit bad }' "$events"
result $? "nobody starts a program after its end" "$events"

finish
