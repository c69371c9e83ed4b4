#!/bin/sh
# What a program is given and gives back is the same with a recorder as without: descriptors, environment, limits, signals, arguments,
# standard streams, status.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export STEMMA_HOME="$T/home"
state=$PROGS/p-state

# What a recorder must change: an ordinary user's new privileges are none, a variable of its own may be added.
alike()
{
	grep -v -e '^env STEMMA_' -e '^env _=' -e '^TracerPid' "$1"
}

# same NAME COMMAND: the shell command with $R in front of its program empty, and `stemma run --`.
same()
{
	for R in "" "$STEMMA run --"; do
		f=$([ -z "$R" ] && echo plain || echo recorded)
		rm -rf "$T/d"
		fresh "$T/d"
		timeout 60 sh -c "R='$R'; $2" >"$T/$f.out" 2>"$T/$f.err" </dev/null
		echo "status $?" >>"$T/$f.out"
		alike "$T/$f.out" >"$T/$f"
		# Which shell said that the program was killed, and where, is its own affair.
		grep -v 'Terminated\|Killed\|Hangup' "$T/$f.err" >>"$T/$f"
		[ ! -f "$T/d/fds" ] || cat "$T/d/fds" >>"$T/$f"
		chmod -R u+rwx "$T/d"
	done
	diff "$T/plain" "$T/recorded" >"$T/why"
	result $? "$1" "$T/why"
}

export state T PYTHON
same "all that a process is given" '$R $state all $T/d one "two words" "" "*"'
same "an empty environment" 'env -i HOME=/nowhere STEMMA_HOME=$STEMMA_HOME $R $state all $T/d'
same "a blocked and an ignored signal" "trap '' INT QUIT PIPE USR1; \$R \$state all \$T/d"
same "SIGCHLD ignored" "trap '' CHLD; \$R \$state all \$T/d"
same "limits, umask, priority" 'umask 027; ulimit -n 200; ulimit -c 0; ulimit -s 4096; nice -n 5 $R $state all $T/d'
same "hardly any descriptors" 'ulimit -n 10; $R sort $T/d/x 2>/dev/null'
same "a thousand descriptors open" 'bash -c "ulimit -n 2000; for i in {10..1100}; do eval \"exec \$i</dev/null\"; done; \$0 sort $T/d/x" "$R" 2>&1'
if grep -q -e __asan_init -e __tsan_init "$STEMMA"; then
	skip_ "little address space" "what a sanitizer needs itself does not fit"
else
	same "little address space" 'ulimit -v 200000; $R sort $T/d/x'
fi
same "no file may grow" 'ulimit -f 0; $R sort $T/d/x; $R sh -c ": >$T/d/y; echo x >$T/d/y; true" 2>/dev/null'
same "files may grow a little" 'ulimit -f 8; $R sh -c "i=0; while [ \$i -lt 150 ]; do cat $T/d/x >$T/d/y\$i; i=\$((i + 1)); done; cat $T/d/y* | cksum" 2>/dev/null'
same "a second of processor time" 'ulimit -t 1; $R sh -c "while :; do :; done"; echo $?'
same "all signals blocked" '$PYTHON -c "import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); os.execvp(sys.argv[1], sys.argv[1:])" $R $state all $T/d'
same "no home, no store" 'unset STEMMA_HOME HOME XDG_DATA_HOME; $R sort $T/d/x 2>/dev/null'
same "few descriptors" 'ulimit -n 24; $R $state all $T/d'
same "many descriptors open" 'for i in 3 4 5 6 7 8; do eval "exec $i</dev/null"; done; $R $state all $T/d'
same "standard input closed" '$R $state fds $T/d <&-'
same "standard output closed" '$R $state fds $T/d >&-'
same "standard error closed" '$R $state fds $T/d 2>&-'
same "all three closed" '$R $state fds $T/d <&- >&- 2>&-'
same "a program that reads its input" 'printf "b\na\n" | $R sort'
same "input left for the next" '{ $R head -c 3 >/dev/null; cat; } <$T/d/page | wc -c'
same "output to a closed pipe" '$R yes | head -1'
same "output to a file, appended" '$R echo one >>$T/d/in; $R echo two >>$T/d/in; cat $T/d/in'
same "a working directory that is gone" 'mkdir $T/d/gone; cd $T/d/gone; rmdir $T/d/gone; $R $state all $T/d'
same "a program in the background" '$R $state all $T/d & wait $!'
same "a session of its own" 'setsid -w $R $state all $T/d'
same "a command that is not there" '$R nosuchcommand-at-all >/dev/null 2>&1'
same "a path that is not there" '$R $T/d/nothing >/dev/null 2>&1'
same "a file that may not be executed" '$R $T/d/in >/dev/null 2>&1'
same "a directory" '$R $T/d >/dev/null 2>&1'
same "a file of unknown format" 'chmod +x $T/d/in2; echo exit 5 >$T/d/in2; $R $T/d/in2 2>/dev/null'
same "a script without a first line, by name" 'chmod 755 $T/d/in2; echo ": exit 5" >$T/d/in2; PATH=$T/d:$PATH; sh -c in2'
same "an option-like word" '$R echo --help -- -x'

# Statuses: all of them, in one test each way.
step=1
thorough || step=17
for i in $(seq 0 $step 255); do
	"$STEMMA" run -- "$PROGS/p-end" +status "$T" "$i"
	r=$?
	[ $r = "$i" ] || echo "status $i became $r"
done >"$T/why" 2>&1
[ ! -s "$T/why" ]
result $? "statuses 0 to 255, each ${step}th" "$T/why"

# Death by signal: the recorder itself dies of it, without a core, as a parent that waits sees.
cat >"$T/sig.py" <<'END'
import os, subprocess, sys
stemma, prog, d = sys.argv[1:]
bad = 0
for s in list(range(1, 65)):
    if s in (17, 18, 19, 20, 21, 22, 23, 28, 32, 33):
        continue
    r = subprocess.call([stemma, "run", "--", prog, "+signal", d, str(s)], stderr=subprocess.DEVNULL)
    if r != -s:
        print("signal %d: %d" % (s, r))
        bad = 1
sys.exit(bad)
END
$PYTHON "$T/sig.py" "$STEMMA" "$PROGS/p-end" "$T" >"$T/why"
result $? "death by every signal" "$T/why"
[ -z "$(find "$T" -maxdepth 1 -name 'core*')" ]
result $? "no core file of the recorder"

# Signals to the recorder. sent NAME EXPECTED COMMAND: the command starts `$R $state +signals` in the background as $p, sends, waits.
sent()
{
	for R in "" "$STEMMA run --"; do
		f=$([ -z "$R" ] && echo plain || echo recorded)
		timeout 60 setsid -w sh -c "R='$R'; $2" >"$T/$f" 2>/dev/null </dev/null
		echo "status $?" >>"$T/$f"
	done
	grep -q 'signal' "$T/plain" || echo "the plain run saw no signal" >>"$T/plain"
	diff "$T/plain" "$T/recorded" >"$T/why"
	result $? "$1" "$T/why"
}
ready='until grep -q ready $T/said 2>/dev/null; do sleep 0.02; done'
sent "SIGTERM to the recorder alone is handed on once" \
	"rm -f \$T/said; \$R \$state +signals \$T >\$T/said & p=\$!; $ready; kill -TERM \$p; wait \$p; echo \$?; cat \$T/said"
sent "SIGUSR1 and SIGHUP too" \
	"rm -f \$T/said; \$R \$state +signals \$T >\$T/said & p=\$!; $ready; kill -USR1 \$p; kill -HUP \$p; wait \$p; echo \$?; cat \$T/said"
sent "a signal to the process group is not doubled" \
	"rm -f \$T/said; trap : TERM; \$R \$state +signals \$T >\$T/said & p=\$!; $ready; kill -TERM 0; wait \$p; wait \$p; cat \$T/said"
sent "a command that dies of SIGTERM" \
	"rm -f \$T/said; \$R \$state +wait \$T >\$T/said & p=\$!; $ready; kill -TERM \$p; wait \$p; echo signal \$?"

# Arguments.
cat >"$T/args.py" <<'END'
import os, resource, subprocess, sys
stemma, prog, d, case = sys.argv[1:]
if case == "bytes":
    args = [bytes(range(1, 256)), b"\xff\xfe", b"", b"a\nb", b"--", "é€".encode()]
elif case == "many":
    args = [b"x%d" % i for i in range(30000)]
elif case == "long":
    args = [b"y" * 131000] * 4
else:
    # A little less than the kernel takes: a quarter of the stack's limit.
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    limit = (8 << 20) // 4 if soft < 0 or soft > 8 << 20 else soft // 4
    room = limit - sum(len(os.fsencode(k + v)) + 10 for k, v in os.environ.items()) - 40000
    args = [b"z" * 100000] * (room // 100010)
plain = subprocess.run([prog, b"args", d] + args, stdout=subprocess.PIPE)
recorded = subprocess.run([stemma, b"run", b"--", prog, b"args", d] + args, stdout=subprocess.PIPE)
print(plain.returncode, plain.stdout, recorded.returncode, recorded.stdout)
sys.exit(plain.returncode != 0 or (plain.returncode, plain.stdout) != (recorded.returncode, recorded.stdout))
END
for c in bytes many long huge; do
	rm -rf "${T:?}/home"
	$PYTHON "$T/args.py" "$STEMMA" "$PROGS/p-state" "$T" $c >"$T/why" 2>&1 && events "$T/home" "$T/events" &&
		grep -q session_end "$T/events"
	result $? "arguments: $c" "$T/why"
done

# A standard stream is not held open by the recorder after the command and all that it started have ended.
echo "ended" >"$T/expected"
timeout 60 sh -c '"$STEMMA" run -- sh -c "echo ended" | cat' >"$T/got" 2>&1
diff "$T/expected" "$T/got" >"$T/why" 2>&1
result $? "the output ends with the command" "$T/why"


# With too few descriptors the recorder does without, or gives up and says so; it neither spins nor outlives the command.
few='11 12 13 14 15 16 18'
for i in $few; do
	(ulimit -n "$i" && STEMMA_HOME=$T/few$i exec "$STEMMA" run -- sleep 1) 2>"$T/few$i.err" &
done
wait
C=$T
: >"$T/why"
for i in $few; do
	[ -s "$T/few$i.err" ] || wait_for_end "$T/few$i"
	if events "$T/few$i" "$T/events"; then
		grep -q '"k":"gap"' "$T/events" || [ ! -s "$T/few$i.err" ] || echo "$i: it gave up, and the record says nothing" >>"$T/why"
		cpu=$(sed -n 's/.*"k":"run_end".*"cpu":\([0-9]*\).*/\1/p' "$T/events")
		[ "${cpu:-0}" -lt 100000000 ] || echo "$i: $cpu ns of work in a second's run" >>"$T/why"
	else
		echo "$i: the log is not whole" >>"$T/why"
	fi
done
[ ! -s "$T/why" ]
result $? "11 to 18 descriptors" "$T/why"
finish
