#!/bin/sh
# stemma adopt of logs of strace -f -ttt -y: programs, forks, pipes, renames, threads. The truth is the script below, by hand. The logs are
# made by the real strace, where it may trace; what is hostile, and forms that it writes seldom, are made here.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# sources FILE: the names of the user's files that it is from, sorted, then the certainties, in $out
sources()
{
	cmd 0 lineage --json "$1" || return 1
	$PYTHON - "$out" "$1" "$T/work/" <<'E' >"$T/sources" && mv "$T/sources" "$out"
import json, os, sys
a = json.load(open(sys.argv[1]))
sure = {e['certainty'] for e in a['edges'] if e['type'] in ('used', 'wasGeneratedBy')}
names = {e['path'] for e in a['entities'] if e.get('path', '').startswith(sys.argv[3])}
names = sorted({os.path.basename(n) for n in names} - {os.path.basename(sys.argv[2])})
print(' '.join(names), '/', ' '.join(sorted(sure)))
E
}

mkdir -p real/sub && cd real || exit 1
printf 'b\na\n' >in.txt
printf 'x\n' >other.txt
cat >run.sh <<'E'
#!/bin/sh
sort in.txt | uniq -c >u.tmp
mv u.tmp u.txt
cat other.txt >/dev/null
cd sub
cat ../u.txt >o.txt
(read -r line; echo "$line" >é.txt) <o.txt
"$PYTHON" -S -c 'import threading as t, subprocess as s
s.run(["cp", "../other.txt", "copy.txt"])
w = t.Thread(target=lambda: open("t.txt", "w").write(open("copy.txt").read())); w.start(); w.join()'
dd if=o.txt of=d.txt status=none
rm d.txt
cp ../in.txt d.txt
E
chmod +x run.sh
export PYTHON
if command -v strace >/dev/null 2>&1 && strace -f -ttt -y -o run.strace ./run.sh 2>"$err" && [ -s sub/t.txt ]; then
	cmd 0 adopt && says "$out" 'strace: ' ' jobs' '(1 document)'
	check 'a log of the real strace is read'
	sources u.txt && is "$out" 'in.txt / may'
	check 'through a pipe, a redirection and a rename; what a program read beside is not in it'
	sources sub/o.txt && is "$out" 'in.txt u.txt / may'
	check 'by a path from another directory'
	sources sub/é.txt && is "$out" 'in.txt o.txt u.txt / may'
	check 'a fork that executes nothing'
	sources sub/t.txt && is "$out" 'copy.txt other.txt / may'
	check 'a thread, after a program that its process started'
	sources sub/d.txt && is "$out" 'in.txt / may'
	check 'a name that was removed and given again is another file'
	cmd 0 why u.txt && says "$out" 'uniq -c' '?' && cmd 0 lineage u.txt && says "$out" 'another tool reported it' 'sort in.txt'
	check 'commands, and who said so'
	cmd 0 lineage --certain u.txt && says_not "$out" in.txt
	check 'nothing of it is certain'
	cmd 0 adopt && says "$out" 'nothing new'
	check 'again is nothing new'
	cmd 0 show --json @ && json '[.things[0].executions[] | select(.argv[0] == "uniq")] | length == 1 and .[0].exit.status == 0'
	check 'exit statuses'
	rm -rf "$STEMMA_HOME" run.strace sub/* && strace -ff -ttt -y -o strace.log ./run.sh 2>"$err"
	cmd 0 adopt && says "$out" 'documents)' && sources sub/o.txt && is "$out" 'run.sh u.txt / may'
	check 'a log for each process: no pipes and forks between them; the shell that opened the file may have written it'
	rm -rf "$STEMMA_HOME" strace.log.* sub/* && strace -f -ttt -y ./run.sh 2>strace.err
	cmd 0 adopt && sources u.txt && is "$out" 'in.txt / may'
	check 'a log of standard error'
	rm -rf "$STEMMA_HOME" strace.err && strace -f -ttt -o strace.bare ./run.sh 2>"$err"
	cmd 0 adopt; says "$err" 'strace.bare' 'no paths of descriptors; record them with strace -f -ttt -y'
	check 'without paths it says how to make them'
	rm strace.bare && strace -f -y -o strace.bare ./run.sh 2>"$err"
	cmd 1 adopt
	check 'without times it is no log that is read'
else
	skip 'logs of the real strace' 'it is not installed, or may not trace here'
fi
cd .. || exit

# Forms by hand. The files are as old as the log says.
mkdir -p made && cd made && echo 1 >in && echo 2 >out && echo 3 >moved && echo 4 >cut
touch -d @1700000001 in && touch -d @1700000003.3 out && touch -d @1700000004 moved
rm -rf "$STEMMA_HOME"
w=$(pwd)
cat >made.strace <<E
7 1700000002.000000 execve("/opt/tool", ["tool", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345", "a \"q\" \303\251\n", "cut at 32"...], 0x7ffe /* 3 vars */) = 0
7 1700000002.100000 openat(AT_FDCWD<$w>, "in", O_RDONLY <unfinished ...>
8 1700000002.150000 openat(AT_FDCWD<$w>, "noise", O_RDONLY) = -1 ENOENT (No such file or directory)
7 1700000002.200000 <... openat resumed>) = 3<$w/in>
7 1700000003.000000 openat(AT_FDCWD<$w>, "out", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 4<$w/out>
7 1700000003.100000 sendfile(4<$w/out>, 3<$w/in>, NULL, 100) = 2
7 1700000003.200000 openat(AT_FDCWD<$w>, "tmp", O_RDWR|O_CREAT, 0666) = 5<$w/tmp>
7 1700000003.300000 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 5<$w/tmp>, 0) = 0x7f0000000000
7 1700000004.400000 renameat2(AT_FDCWD<$w>, "tmp", AT_FDCWD<$w>, "moved", 0) = 0
7 1700000005.000000 --- SIGCHLD {si_signo=SIGCHLD} ---
7 1700000005.100000 +++ killed by SIGTERM +++
E
cmd 0 adopt && says "$out" 'strace: 1 job ' && sources out && is "$out" 'in moved / may' && sources moved && is "$out" 'in / may'
check 'calls in two parts, sendfile, a shared mapping, a rename'
cmd 0 show --json @ && json '.things[0].executions[] | select(.argv[0] == "tool") | .exit == null and .argv[2] == "a \"q\" é\n" and (.argv[3] | startswith("cut at 32"))' &&
	! holds ghp_0123456789abcdefghij
check 'words with escapes, and one that is cut; a secret is replaced'

rm -rf "$STEMMA_HOME" made.strace
$PYTHON - <<'E'
head = b'9 1700000002.000000 '
lines = [
    b'execve("/x", ["x"], 0x0) = 0', b'openat(', b'openat(AT_FDCWD</>, "', b'openat(AT_FDCWD</>, "a\\', b'read(3<' + b'/a' * 5000 + b'>, "", 1) = 1',
    b'read(' * 10000, b'(' * 100000, b'write(1</etc/passwd>, "x", 1) = 1', b'clone(flags=CLONE_THREAD) = 9', b'clone() = 9', b'vfork() = 99999999999999999999',
    b'<... read resumed>) = 1', b'<... ', b'+++ exited with 99999999999999999999 +++', b'chdir("' + b'../' * 2000 + b'") = 0', b'rename("a", "a") = 0', b'unlink("") = 0',
    b'write(1</tmp/\xff\x1b[31m>, "", 1) = 1', b'read(0<pipe:[' + b'9' * 300 + b']>, "", 1) = 1', b'openat(AT_FDCWD<>, "", O_RDONLY) = 3<>', b'= 0', b'x = 1', b'openat(a, b, c, d, e, f, g, h, i, j) = 3<(>',
]
with open('a.strace', 'wb') as f:
    f.write(b''.join(head + line + b'\n' for line in lines))
    f.write(b''.join(b'%d 1700000003.000000 read(0</in>, <unfinished ...>\n' % n for n in range(50000)))
open('cut.strace', 'wb').write(head + b'openat(AT_FDCWD</>, "x", O_RDONLY) = 3</x')
open('nul.strace', 'wb').write(head + b'read(3</a\0b>, "", 1) = 1\n')
open('empty.strace', 'wb').close()
open('text.strace', 'w').write('this is no log\n')
E
ln -s /dev/zero zero.strace
cmd 0 adopt && cmd 0 fsck && cmd 0 log && cmd 0 lineage /etc/passwd && says_not "$out" "$(printf '\033')"
check 'hostile logs'
finish
