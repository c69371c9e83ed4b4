#!/bin/sh
# Who moved bytes through a pipe is known: in ordinary pipelines surely, and nothing is sure that is not so.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for i in a b c; do
	seq 100 >$i
done

# inputs FILE: the user's files that it is from, sorted, with a ? behind those to which no certain edges lead
inputs()
{
	cmd 0 lineage --certain --json "$1" && cp "$out" certain && cmd 0 lineage --json "$1" || return 1
	$PYTHON - "$out" certain <<'END_PY'
import json, os, sys
def names(path):
    with open(path) as f:
        return {os.path.basename(e['path']) for e in json.load(f)['entities'] if e.get('path')} & {'a', 'b', 'c'}
every, sure = map(names, sys.argv[1:])
print(' '.join(sorted(n + ('' if n in sure else '?') for n in every)))
END_PY
}
# sure SHELL SCRIPT INPUTS: out is from these, and from nothing else; surely, though on a busy machine not each time
sure()
{
	if ! command -v "$1" >/dev/null; then
		skip "$1: $2" "no $1 here"
		return
	fi
	for try in 1 2 3 4 5 6; do
		rm -f out
		cmd 0 run -- "$1" -c "$2" && got=$(inputs out) || break
		[ "$got" != "$3" ] || break
		[ "$(echo "$got" | tr -d '?')" = "$3" ] || break # not only unsure, but wrong
		sleep 0.$try
	done
	[ "$got" = "$3" ] || { echo "from $got" >"$out"; false; }
	check "$1: $2"
}
reports=$("$STEMMA" doctor 2>/dev/null | sed -n 's/^ *pipes *//p')
case $reports in
*yes* | *reported*) ;;
*)
	skip "pipes" "inotify does not report reads and writes of pipes here: $reports"
	finish
	;;
esac
for sh in dash bash; do
	sure $sh 'cat a | sort -r | head -5 >out' a
	sure $sh 'cat a | tee copy | wc -l >out' a
	sure $sh '{ cat a; cat b; } | sort >out' 'a b'
	sure $sh '{ echo x; cat b; } | (cat; cat c) >out' 'b c'
	sure $sh 'x=$(cat a | head -3); cp b other; echo "$x" >out' a
	sure $sh 'seq 3 | while read l; do echo $l; done >out; cat b >/dev/null' ''
	sure $sh 'for f in a b; do cat $f; done | sort | uniq >out' 'a b'
	sure $sh 'yes | head -2 >other; cat c | sh -c "cp b other; cat" >out' c
	sure $sh '(cat a; exec cat b) | cat | cat >out' 'a b'
	sure $sh 'cat a | sh -c "cat >other"; cat b | cat >out' b
done
sure bash 'sort <(cat a) <(cat b) >out' 'a b'
sure bash 'cat a > >(sort >out); wait $!; sleep 0.05' a

cat >spawn.py <<'END_PY'
import subprocess
text = subprocess.run(['cat', 'a'], stdout=subprocess.PIPE).stdout
first = subprocess.Popen(['cat', 'b'], stdout=subprocess.PIPE)
second = subprocess.Popen(['sort'], stdin=first.stdout, stdout=subprocess.PIPE)
first.stdout.close()
with open('out', 'wb') as to:
    to.write(text + second.stdout.read())
END_PY
rm -f out
cmd 0 run -- $PYTHON spawn.py && got=$(inputs out) && case $got in 'a b' | 'a b?' | 'a? b' | 'a? b?') ;; *) echo "from $got" >"$out"; false ;; esac
check "a program that starts others and closes their pipes: sure if it is seen to wait"

# One of two has written; the other has an end of the pipe, too, and moves bytes elsewhere.
cat >two.py <<'END_PY'
import os, subprocess, sys
r, w = os.pipe()
os.set_inheritable(w, True)
idle = subprocess.Popen(['sh', '-c', 'cat b >other; sleep 0.2'], pass_fds=[w])
busy = subprocess.Popen(['sh', '-c', 'cat a >&%d; sleep 0.2' % w], pass_fds=[w])
os.close(w)
with open('out', 'wb') as to:
    subprocess.run(['cat'], stdin=r, stdout=to)
END_PY
rm -f out
cmd 0 run -- $PYTHON two.py && got=$(inputs out) && case $got in a | 'a b?' | 'a? b?') ;; *) echo "from $got" >"$out"; false ;; esac
check 'two that may have written: never is the wrong one sure, and the right one is there'

# The writer was killed; so was one before anything of it was seen.
rm -f out
cmd 0 run -- sh -c '{ cat a; kill -9 $$; } 2>/dev/null | cat >out; true' || true
cmd 0 run -- bash -c '(while read l; do echo $l; [ $l != 50 ] || kill -9 $BASHPID; done) <a | cat >out; true' && got=$(inputs out) && case $got in 'a' | 'a?') ;; *) echo "from $got" >"$out"; false ;; esac
check 'a writer that is killed in the midst is there'
cat >unseen.py <<'END_PY'
import os, signal, subprocess
r, w = os.pipe()
data = open('a', 'rb').read()
if os.fork() == 0:
    os.write(w, data)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
other = subprocess.Popen(['sh', '-c', 'cat b >other'], pass_fds=[w])
os.close(w)
with open('out', 'wb') as to:
    subprocess.run(['cat'], stdin=r, stdout=to)
END_PY
rm -f out
cmd 0 run -- $PYTHON unseen.py && got=$(inputs out) && case $got in a | 'a?' | 'a? b?' | 'a b?') ;; *) echo "from $got" >"$out"; false ;; esac
check 'what a child wrote that was killed before it was seen is not another one'"'"'s'

# From outside.
rm -f out
cat a | "$STEMMA" run -q -- sh -c 'cat >out' 2>"$err" && [ "$(inputs out)" = '' ] && cmd 0 lineage --all out && says "$out" '? pipe'
check 'a pipe that the run was given stays possible'

# Threads, splice: not claimed, not lost.
cat >threads.py <<'END_PY'
import os, subprocess, threading
p = subprocess.Popen(['sort'], stdin=subprocess.PIPE, stdout=open('out', 'w'))
def give():
    p.stdin.write(open('a', 'rb').read())
    p.stdin.close()
t = threading.Thread(target=give)
t.start()
t.join()
p.wait()
END_PY
rm -f out
cmd 0 run -- $PYTHON threads.py && got=$(inputs out) && case $got in a | 'a?') ;; *) echo "from $got" >"$out"; false ;; esac
check 'a thread that writes'

# Without inotify all is possible, and nothing else changes.
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_instances' 2>/dev/null; then
	rm -f out
	unshare -Ur sh -c "echo 0 >/proc/sys/user/max_inotify_instances; exec '$STEMMA' run -q -- sh -c 'cat a | sort >out'" >"$out" 2>"$err" &&
		cmp -s out b || sort a | cmp -s - out && [ "$(inputs out)" = 'a?' ]
	check 'without inotify it is possible'
	# Of few instances a quarter is taken, however many runs there are: a job that needs some has them.
	unshare -Ur sh -c "echo 40 >/proc/sys/user/max_inotify_instances
		for i in 1 2 3 4 5 6 7 8 9 10; do '$STEMMA' run -q -- sh -c 'cat a | (cat >/dev/null; sleep 1)' & done
		sleep 0.5
		$PYTHON -c 'import ctypes; c = ctypes.CDLL(None); n = [c.inotify_init1(0) for i in range(28)]; print(min(n) >= 0)'
		wait" >"$out" 2>"$err" && is "$out" 'True'
	check 'runs leave inotify instances to those who need them'
else
	skip 'without inotify' 'no user namespaces here'
fi
finish
