#!/bin/sh
# rerun of a hostile record: it is not run unasked, chooses neither what programs load nor what is read, and reaches
# nothing outside its own folder.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T/tmp
mkdir "$TMPDIR" "$HOME/.ssh" && echo SECRET-KEY >"$HOME/.ssh/id_rsa" && chmod 600 "$HOME/.ssh/id_rsa"
echo precious >"$HOME/precious"
if ! cmd 0 run -q -- true || ! cmd 0 log; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
cat >"$T/evil.c" <<'EOF'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) { int fd = open(MARK, O_CREAT | O_WRONLY, 0600); (void)!write(fd, "x", 1); }
EOF
gcc -shared -fPIC -DMARK="\"$T/loaded\"" -o "$T/evil.so" "$T/evil.c" 2>/dev/null || : >"$T/evil.so"
echo "echo x >$T/loaded" >"$T/bashenv"

# received N SCRIPT [MORE]: the record of somebody who pretends to be this user on this host, whose run N is `bash -c
# SCRIPT` in $T/work; MORE is Python: reads, cwd, env, argv may be set there. It lies in $T/theirs.
received()
{
	rm -rf "$T/theirs"
	printf '%s' "$2" >"$T/script"
	mine=$STEMMA_HOME
	STEMMA_HOME=$T/theirs
	history <<EOF
import getpass, os, socket, pwd
argv, cwd, reads, env = ['/bin/bash', '-c', open('$T/script').read()], '$T/work', [], ['PATH=/usr/bin:/bin', 'LD_PRELOAD=$T/evil.so', 'BASH_ENV=$T/bashenv', 'ENV=$T/bashenv', 'HOME=$HOME', 'LANG=C']
${3:-}
me = pwd.getpwuid(os.getuid()).pw_name
h = History('01HZZZZZZZZZZZZZZZZZZZ%04d' % $1, argv=argv, host=socket.gethostname(), user=me, cwd=cwd, boot=open('/proc/sys/kernel/random/boot_id').read().strip().replace('-', ''), start=$1)
p = h.process(pid=300 + $1)
h.exec(p, argv, exe='/usr/bin/bash', cwd=cwd, env=env)
for f in reads:
    h.read(p, h.file(f, size=11))
h.write(p, h.file(cwd + '/out.txt'), size=3)
h.exit(p)
h.end()
h.save(home, evtext)
EOF
	STEMMA_HOME=$mine
}
# document: the same as a PROV-JSON text, $T/doc.json
document()
{
	STEMMA_HOME=$T/theirs "$STEMMA" export --format prov-json --output "$T/doc.json" 2>"$err" && [ -s "$T/doc.json" ]
}
ulid() { printf '01HZZZZZZZZZZZZZZZZZZZ%04d' "$1"; }
untouched() { [ "$(cat "$HOME/.ssh/id_rsa")" = SECRET-KEY ] && [ "$(cat "$HOME/precious")" = precious ] && ! [ -e "$T/loaded" ] && ! [ -e "$T/ran" ]; }

# ---- it is not run unasked ----
received 1 "echo x >$T/ran; echo x >out.txt"
document && cmd 0 import "$T/doc.json" && cmd 2 rerun "$(ulid 1)" && says "$err" 'this run was not recorded by you' "echo x >$T/ran" "LD_PRELOAD=$T/evil.so  (left out)" 'BASH_ENV' "$T/work" 'hint: with --trust it is confined' && untouched
check 'a document that was imported is shown and not run'
cmd 0 rerun "$(ulid 1)" --check && untouched && cmd 2 rerun "$(ulid 1)" --force && untouched && cmd 2 rerun "$(ulid 1)" --unconfined && untouched
check 'nor with --check, --force or --unconfined'
received 2 "echo x >$T/ran"
cmd 0 import "$T/theirs" && cmd 2 rerun "$(ulid 2)" && untouched
check 'a log that was imported neither'
received 3 "echo x >$T/ran"
host=$(ls "$T/theirs/logs" | head -n 1)
mkdir -p "$STEMMA_HOME/logs/$host" && cp -r "$T/theirs/logs/$host"/* "$STEMMA_HOME/logs/$host/" && cmd 2 rerun "$(ulid 3)" && untouched
check 'nor one that was copied among the logs of this host'
cmd 2 --store "$T/theirs" rerun "$(ulid 3)" && untouched
check 'nor one from a record of somebody else'
own=$(sed -n '$s/ .*//p' "$STEMMA_HOME/marks")
sed -n "s/^$own //p" "$STEMMA_HOME/marks" | sed "s/^/$(ulid 3) /" >>"$STEMMA_HOME/marks" && cp "$STEMMA_HOME/marks" "$T/theirs/marks" && cmd 2 rerun "$(ulid 3)" && cmd 2 --store "$T/theirs" rerun "$(ulid 3)" && untouched
check 'nor with a mark of another run'
received 4 "$(printf 'echo \033]0;title\007\342\200\256')"
cmd 0 import "$T/theirs" && cmd 2 rerun "$(ulid 4)" && ! LC_ALL=C grep -q "$(printf '[\033\007]')" "$err" && says "$err" 'command'
check 'what is shown cannot steer a terminal'

# What of a run of one's own was changed is not one's own any more.
cmd 0 run -q -- sh -c 'echo own >own.txt'
run=$(sed -n '$s/ .*//p' "$STEMMA_HOME/marks")
find "$STEMMA_HOME/logs" -name '*.stl' -exec "$EVTEXT" dump {} + >"$T/events" 2>/dev/null
rm -rf "$T/forged" && mkdir -p "$T/forged" && cp -r "$STEMMA_HOME/marks" "$T/forged/" && mkdir -p "$T/forged/logs/$host/2026-01-01" && sed "s/echo own >own.txt/echo x >\/\/$(echo "$T/ran" | sed 's|/|\\/|g')/" "$T/events" >"$T/events.forged" && grep -q "echo x >//" "$T/events.forged" && "$EVTEXT" make "$T/forged/logs/$host/2026-01-01/1.stl" <"$T/events.forged" 2>"$err" && cmd 2 --store "$T/forged" rerun "$run" && untouched
check 'a run of one'"'"'s own whose command was changed counts as received'
cmd 0 rerun "$run" && says_not "$err" 'not recorded by you' && cmd 0 run -q --digest -- sh -c 'echo own >own.txt' && cmd 0 rerun @ && says "$out" identical
check 'and unchanged as own'
HOME=$T/other cmd 2 rerun @ && says "$err" 'not recorded by you'
check 'who has not the key has not recorded it'

# ---- with --trust, confined ----
cmd 0 run -q --digest -- sh -c 'echo probe' && "$STEMMA" rerun @ >"$out" 2>"$err"
cmd 2 rerun "$(ulid 1)" --trust --from "$T/nosuch" && untouched
check 'a folder that is not there is refused'
mkdir "$T/in" && echo input >"$T/in/in.txt" && ln -s "$HOME/.ssh/id_rsa" "$T/in/link.txt" && ln -s "$HOME/.ssh" "$T/in/dir"
received 10 'cat in.txt >out.txt'  "reads = [cwd + '/in.txt']"
cmd 0 import "$T/theirs"
"$STEMMA" rerun "$(ulid 10)" --trust --force --from "$T/in" --in "$T/again" >"$out" 2>"$err" </dev/null
if grep -q 'cannot confine' "$err"; then
	[ ! -e "$T/again/out.txt" ] && untouched
	check 'where nothing confines it, it is not run'
	skip 'the rest' 'no Landlock or no call filters here'
	finish
	exit
fi
is "$T/again/out.txt" input && untouched && says "$err" 'LD_PRELOAD' && says "$out" 'left out   '
check 'it is run in its folder, with the files of the folder that was given'
[ "$("$STEMMA" log --json | jq -r '.runs[0].id' | cut -c 1-2)" = 01 ] && run=$("$STEMMA" log --json | jq -r '.runs[0].id') && ! grep -q "^$run" "$STEMMA_HOME/marks"
check 'and what it was then is not marked as own'

# Memory that is kept for what the command says can be made where none may be executable.
received 11 'echo said >&2; cp in.txt out.txt' "reads = [cwd + '/in.txt']"
cmd 0 import "$T/theirs"
if [ "$(id -u)" = 0 ] && [ -e /proc/sys/vm/memfd_noexec ] && unshare -pf true 2>/dev/null; then
	cat >"$T/noexec.sh" <<'EOF'
echo 2 >/proc/sys/vm/memfd_noexec && exec "$STEMMA" rerun "$1" --trust --force --from "$2" --in "$3"
EOF
	unshare -pf --mount-proc env STEMMA="$STEMMA" sh "$T/noexec.sh" "$(ulid 11)" "$T/in" "$T/noexec" >"$out" 2>"$err" </dev/null
	is "$T/noexec/out.txt" input && says "$err" '| said' && untouched
	check 'with vm.memfd_noexec = 2 as well'
else
	skip 'with vm.memfd_noexec = 2 as well' 'only root can set it, in a namespace of its own, where the kernel has it'
fi

# attack NAME SCRIPT [MORE]: the script must not get what it is after. What it could do it says in got.txt.
n=20
attack()
{
	n=$((n + 1))
	rm -rf "$T/again"
	received $n "echo >ran.txt; $2" "${3:-}"
	cmd 0 import "$T/theirs" || return
	timeout 60 "$STEMMA" rerun "$(ulid $n)" --trust --force --from "$T/in" --in "$T/again" >"$out" 2>"$err" </dev/null
	if [ "${4:-}" = refused ]; then
		! [ -e "$T/again/ran.txt" ] && says "$err" 'an invalid path' && untouched
	else
		[ -e "$T/again/ran.txt" ] && ! grep -rq SECRET-KEY "$T/again" "$out" "$err" && untouched && ! [ -e "$T/again/got.txt" ]
	fi
	check "$1"
	[ -s "$T/again/got.txt" ] && sed 's/^/# got: /' "$T/again/got.txt"
	chmod -R u+rwx "$T/again" 2>/dev/null
}
key=$HOME/.ssh/id_rsa
attack 'a record that declares its own reads of a key' "cat $key >out.txt && echo read >got.txt" "reads = ['$key']"
attack 'whose folder is where the key lies' "cat id_rsa >out.txt; cat $key >>out.txt && echo read >got.txt" "cwd = '$HOME/.ssh'; reads = ['$key']"
attack 'whose folder is the root' "cat $key >out.txt && echo read >got.txt" "cwd = '/'; reads = ['$key']"
attack 'with .. in a path' "echo x >out.txt" "reads = [cwd + '/../home/.ssh/id_rsa', cwd + '/../../etc/cron.d/x']" refused
attack 'through links in the folder that was given' "cat link.txt dir/id_rsa >out.txt && echo read >got.txt" "reads = [cwd + '/link.txt', cwd + '/dir/id_rsa']"
attack 'through those links by their own names' "cat $T/in/link.txt $T/in/dir/id_rsa >out.txt && echo read >got.txt"
attack 'through a link of its own' "ln -s $key l; cat l >out.txt && echo read >got.txt"
attack 'through a hard link' "ln $key l && cat l >out.txt && echo read >got.txt"
attack 'by moving it here' "mv $key l && cat l >out.txt && echo read >got.txt"
attack 'through /proc' "for p in /proc/[0-9]*; do [ \$p = /proc/\$\$ ] || { cat \$p/root$key \$p/cwd/../home/.ssh/id_rsa; } 2>/dev/null; done >out.txt; cat /proc/self/root$key >>out.txt && echo read >got.txt"
attack 'the environments and command lines of other processes' "for p in /proc/[0-9]*; do [ \$p = /proc/\$\$ ] || [ \$p = /proc/self ] || cat \$p/environ \$p/cmdline 2>/dev/null; done | tr '\\0' '\\n' | grep -q . && echo read >got.txt"
attack 'writing outside' "for f in $T/ran $HOME/precious $T/in/in.txt /tmp/stemma-hostile.\$\$ /var/tmp/stemma-hostile.\$\$ $STEMMA_HOME/marks; do echo x 2>/dev/null >>\$f && echo \$f >>got.txt; done; true"
attack 'removing' "rm -rf $HOME/precious $HOME/.ssh $STEMMA_HOME; [ -e $HOME/precious ] || echo gone >got.txt"
attack 'truncating' "$PYTHON -c 'import os; os.truncate(\"$HOME/precious\", 0)' && echo cut >got.txt"
attack 'modes, owners, times' "chmod 777 $key $T/in/in.txt && echo mode >got.txt; touch -d 2001-01-01 $HOME/precious $T/in/in.txt && echo time >>got.txt; chgrp \$(id -g) $HOME/precious && echo group >>got.txt; true"
attack 'the machine'"'"'s secrets' "for f in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_ed25519_key; do [ -e \$f ] && head -c 1 \$f >/dev/null 2>&1 && echo \$f >>got.txt; done; true"
cat >"$T/in/sockets.py" <<'EOF'
import os, socket, ctypes, struct, sys, errno
got = []
libc = ctypes.CDLL(None, use_errno=True)
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16, 17, 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind); got.append('socket %d %d' % (family, kind))
        except OSError:
            pass
for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        socket.socketpair(socket.AF_UNIX, kind); got.append('pair %d' % kind)
    except OSError:
        pass
a, b = socket.socketpair()
try:
    a.connect('/run/dbus/system_bus_socket'); got.append('connect')
except OSError:
    pass
for name, number, args in (('ptrace', 101, (16, os.getppid(), 0, 0)), ('io_uring', 425, (1, ctypes.create_string_buffer(256))), ('unshare', 272, (0x10000000,)), ('add_key', 248, (b'user', b'x', b'x', 1, -3)), ('bpf', 321, (0, 0, 0)), ('mount', 165, (b'', b'/', b'', 0x40000, 0)), ('pidfd_getfd', 438, (0, 0, 0)), ('open_by_handle_at', 304, (0, 0, 0)), ('setns', 308, (0, 0)), ('userfaultfd', 323, (0,)), ('shmget', 29, (1, 4096, 0o1600))):
    if os.uname().machine != 'x86_64':
        break
    if libc.syscall(number, *args) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        got.append(name + ' %d' % ctypes.get_errno())
import fcntl
for fd in (0, 1, 2):
    try:
        fcntl.ioctl(fd, 0x5412, b'x'); got.append('TIOCSTI')
    except OSError:
        pass
try:
    os.open('/dev/tty', os.O_RDWR); got.append('/dev/tty')
except OSError:
    pass
# By a number alone: limits that end another process, memory and queues that it shares, its class of input and output.
other, shm, msg, sem = map(int, open('other.txt').read().split())
room = ctypes.create_string_buffer(16)
for name, number, args in (('limits of another', 302, (other, 4, room, None)), ('shmat', 30, (shm, None, 0)), ('shmctl', 31, (shm, 2, ctypes.create_string_buffer(256))), ('msgrcv', 70, (msg, room, 8, 0, 0o4000)), ('msgsnd', 69, (msg, b'\1' + bytes(15), 8, 0o4000)), ('msgctl', 71, (msg, 2, ctypes.create_string_buffer(256))), ('semctl', 66, (sem, 0, 12, 0)), ('semop', 65, (sem, struct.pack('hhh', 0, 1, 0o4000), 1)), ('sched_setscheduler', 144, (other, 0, struct.pack('i', 0)))):
    if os.uname().machine != 'x86_64':
        break
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(number, *args) >= 0:
        got.append(name)
try:
    fcntl.fcntl(os.open('/etc/passwd', os.O_RDONLY), 1024, fcntl.F_RDLCK); got.append('lease')
except OSError:
    pass
# Of a user that there is not, so that nothing happens where nothing refuses it.
for name, number, args in (('priority of all', 141, (2, 54321, 5)), ('class of all', 251, (3, 54321, 3 << 13))):
    if os.uname().machine == 'x86_64' and libc.syscall(number, *args) < 0 and ctypes.get_errno() != errno.EPERM:
        got.append(name)
for flags in (0x10000000, 0x10020000, 0x40000000):
    pid = libc.syscall(56, flags | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        got.append('namespaces %x' % flags)
try:
    os.kill(-1, 0); got.append('kill all')
except OSError:
    pass
try:
    os.kill(other, 0); got.append('kill')
except OSError:
    pass
if got:
    open('got.txt', 'w').write('\n'.join(got) + '\n')
EOF
# others: a process, and what programs share by a number: other.txt names them.
others()
{
	sleep 1000 &
	other=$!
	"$PYTHON" -c 'import ctypes; c = ctypes.CDLL(None); print(c.shmget(0, 4096, 0o1600), c.msgget(0, 0o1600), c.semget(0, 1, 0o1600))' >"$T/in/numbers"
	echo "$other $(cat "$T/in/numbers")" >"$T/in/other.txt"
}
others_are_there()
{
	# shellcheck disable=SC2046 # three words
	set -- $(cat "$T/in/numbers")
	kill -0 "$other" && kill "$other" && ipcrm -m "$1" && ipcrm -q "$2" && ipcrm -s "$3"
}
others
attack 'sockets, other processes, keyrings, the terminal' "cat in.txt other.txt >/dev/null; $PYTHON -B sockets.py" "reads = [cwd + '/sockets.py', cwd + '/other.txt']"
"$STEMMA" rerun "$(ulid $n)" --trust --unconfined --force --from "$T/in" --in "$T/open" >"$out" 2>"$err" </dev/null
says "$T/open/got.txt" 'socket 1 1' 'pair 2' 'kill' && says "$err" 'not confined'
check 'which the same command gets where nothing confines it'
others_are_there
check 'the other process is there, and what it shared'
# What stands in the set that root's programs inherit is not bounded by the bounding set.
capabilities='while read -r a b; do [ "$a" = CapPrm: ] && [ "$b" != 0000000000000000 ] && echo "$b" >>got.txt; done </proc/self/status; true'
attack 'capabilities' "$capabilities"
if [ "$(id -u)" = 0 ] && setpriv --inh-caps=+sys_admin true 2>/dev/null; then
	real=$STEMMA
	printf '#!/bin/sh\nexec setpriv --inh-caps=+sys_admin,+dac_read_search %s "$@"\n' "$real" >"$T/inherits.sh"
	chmod +x "$T/inherits.sh"
	STEMMA=$T/inherits.sh
	attack 'capabilities that are inherited' "$capabilities"
	STEMMA=$real
fi
# What the caller has open: no layer sees whom a descriptor belongs to. The script is bash's, whose redirections are closed
# for it where they are not there.
received $((n + 1)) "echo >ran.txt; { echo x >&7 && echo written >>got.txt; read -r line <&8 && echo read >>got.txt; cat /dev/fd/8 && echo read >>got.txt; } 2>/dev/null; true"
n=$((n + 1))
cmd 0 import "$T/theirs"
for how in '' --unconfined; do
	rm -rf "$T/again"
	# shellcheck disable=SC2086 # none or one word
	(exec 7>>"$T/handed" 8<"$key" && exec timeout 60 "$STEMMA" rerun "$(ulid $n)" --trust --force $how --from "$T/in" --in "$T/again") >"$out" 2>"$err" </dev/null
	[ -e "$T/again/ran.txt" ] && untouched || break
	if [ "$how" ]; then
		says "$T/again/got.txt" written && [ -s "$T/handed" ]
		check 'which the same command has where nothing confines it'
	else
		! [ -e "$T/again/got.txt" ] && ! [ -s "$T/handed" ] && ! grep -rq SECRET-KEY "$T/again" "$out" "$err"
		check 'files that the caller has open'
	fi
done
# A program with its owner's rights, in a folder that it opens to everybody, would be run as this user by whoever likes to.
cat >"$T/in/setid.py" <<'EOF'
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
os.chmod('.', 0o777)
def new(name):
    open(name, 'w').close()
    return os.open(name, os.O_RDWR)
def direct(number, *args):
    if os.uname().machine == 'x86_64' and libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), '')
def tmpfile():
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755)
    os.link('/proc/self/fd/%d' % fd, 's-tmpfile', src_dir_fd=os.open('.', os.O_RDONLY), follow_symlinks=True)
how = ctypes.create_string_buffer(struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0))
for act in (lambda: (new('s-chmod'), os.chmod('s-chmod', 0o4755)), lambda: (new('s-group'), os.chmod('s-group', 0o2755)),
            lambda: os.fchmod(new('s-fchmod'), 0o6755), lambda: (new('s-at'), os.chmod('s-at', 0o4755, dir_fd=os.open('.', os.O_RDONLY))),
            lambda: (new('s-at2'), direct(452, -100, b's-at2', 0o4755, 0)), lambda: os.open('s-open', os.O_CREAT | os.O_WRONLY, 0o4755),
            lambda: direct(2, b's-old', os.O_CREAT | os.O_WRONLY, 0o4755), lambda: direct(85, b's-creat', 0o4755),
            lambda: os.mknod('s-mknod', 0o104755), lambda: direct(133, b's-node', 0o104755, 0),
            lambda: direct(437, -100, b's-openat2', how, 24), tmpfile):
    try:
        act()
    except OSError:
        pass
new('plain')
os.chmod('plain', 0o755)
os.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o755))
got = [f for f in os.listdir('.') if os.lstat(f).st_mode & 0o6000]
if got or os.stat('plain').st_mode & 0o777 != 0o755 or os.stat('made').st_mode & 0o777 != 0o755:
    open('got.txt', 'w').write('\n'.join(got) + '\n')
EOF
attack 'programs that others can run as this user' "$PYTHON -B setid.py" "reads = [cwd + '/setid.py']"
[ -e "$T/again/made" ]
check 'where it can make other programs'
"$STEMMA" rerun "$(ulid $n)" --trust --unconfined --force --from "$T/in" --in "$T/free" >"$out" 2>"$err" </dev/null
for f in s-chmod s-group s-fchmod s-open s-mknod; do says "$T/free/got.txt" $f || break; done
check 'which the same command makes where nothing confines it'
attack 'names with newlines, and a pipe in the place of an input' "echo x >out.txt" "reads = [cwd + '/a\\nb', cwd + '/fifo']; os.path.exists('$T/in/fifo') or os.mkfifo('$T/in/fifo')"
attack 'output that it leaves as a link' "rm -f out.txt; ln -s $key out.txt; mkfifo p; exit 0"

# What goes on when the command is over, and exchanges a folder for a link while the folder is removed.
cat >"$T/in/exchange.c" <<'EOF'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { FOLDERS = 200 };
int main(int argc, char **argv)
{
	static char real[FOLDERS][16], link[FOLDERS][16];
	char name[64];
	int said[2];
	if (argc != 3 || chdir(argv[1]) < 0 || pipe(said) < 0)
		return 1;
	for (int i = 0; i < FOLDERS; i++) {
		snprintf(real[i], sizeof(real[i]), "d%d", i);
		snprintf(link[i], sizeof(link[i]), "l%d", i);
		snprintf(name, sizeof(name), "d%d/precious", i);
		if (mkdir(real[i], 0700) < 0 || close(open(name, O_CREAT | O_WRONLY, 0600)) < 0 || symlink(argv[2], link[i]) < 0)
			return 1;
	}
	if (fork())
		return 0;
	setsid();
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	alarm(20);
	for (int left = 1; left;) {
		left = 0;
		for (int i = 0; i < FOLDERS; i++)
			left += syscall(SYS_renameat2, AT_FDCWD, real[i], AT_FDCWD, link[i], 2 /* RENAME_EXCHANGE */) == 0;
	}
	return 0;
}
EOF
if gcc -O1 -o "$T/in/exchange" "$T/in/exchange.c" 2>"$err"; then
	for round in 1 2 3; do
		received 60 "./exchange \"\$TMPDIR\" $HOME" "reads = [cwd + '/exchange']"
		cmd 0 import "$T/theirs"
		rm -rf "$T/again"
		timeout 60 "$STEMMA" rerun "$(ulid 60)" --trust --force --from "$T/in" --in "$T/again" >"$out" 2>"$err" </dev/null
		untouched || break
	done
	untouched && [ $round = 3 ]
	check 'a process that stays behind cannot lead the removal of its folder astray'
	echo precious >"$HOME/precious"
else
	skip 'a process that stays behind cannot lead the removal of its folder astray' 'no compiler here'
fi
# ---- own runs are kept from the user's files, too ----
cat >again.sh <<END2
#!/bin/sh
[ -e "$T/first" ] && { echo changed >"$HOME/precious"; chmod 0 "$HOME/precious"; cat "$key" >stolen.txt; } 2>/dev/null
rm "\$(mktemp)" && echo fine >own.txt
END2
chmod +x again.sh
cmd 0 run -q --digest -- ./again.sh && : >"$T/first" && cmd 1 rerun @ --in "$T/owned" && untouched && is "$T/owned/own.txt" fine && ! [ -s "$T/owned/stolen.txt" ]
check 'an own run that now wants more gets no more'
rm "$T/first"
cmd 0 run -q --digest -- ./again.sh && cmd 0 rerun @ --unconfined && says "$err" 'not confined'
check '--unconfined says so'
# shellcheck disable=SC2016
cmd 0 run -q -- env LD_LIBRARY_PATH=/nonexistent sh -c : && LD_LIBRARY_PATH=/usr/lib cmd 0 run -q --digest -- sh -c 'echo "$LD_LIBRARY_PATH" >path.txt' && cmd 1 rerun @ && says "$out" 'left out   LD_LIBRARY_PATH' && LD_LIBRARY_PATH=/usr/lib cmd 0 rerun @~1 && says "$out" identical && says_not "$out" 'left out'
check 'a variable of the loader comes from the caller, not from the record'
# ---- where a layer is missing ----
cat >"$T/without.py" <<'EOF'
# without.py CALL... -- COMMAND: these calls are not there, as on an older kernel or where it forbids them.
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
at = sys.argv.index('--')
numbers = {'landlock': 444, 'unshare': 272 if os.uname().machine == 'x86_64' else 97}
code = struct.pack('HBBI', 0x20, 0, 0, 0)
for name in sys.argv[1:at]:
    code += struct.pack('HBBI', 0x15, 0, 1, numbers[name]) + struct.pack('HBBI', 6, 0, 0, 0x50000 | (errno.ENOSYS if name == 'landlock' else errno.EPERM))
code += struct.pack('HBBI', 6, 0, 0, 0x7fff0000)
room = ctypes.create_string_buffer(code, len(code))
prog = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(code) // 8, ctypes.addressof(room)))
if os.geteuid() != 0:
    libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, prog, 0, 0) != 0:
    sys.exit(77)
os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
EOF
real=$STEMMA
without()
{
	printf '#!/bin/sh\nexec %s -B %s %s -- %s "$@"\n' "$PYTHON" "$T/without.py" "$*" "$real" >"$T/without.sh"
	chmod +x "$T/without.sh"
	STEMMA=$T/without.sh
}
cmd 0 run -q --digest -- sh -c 'echo own >own.txt'
own=$(sed -n '$s/ .*//p' "$STEMMA_HOME/marks")
without landlock
cmd 125 rerun "$(ulid 10)" --trust --force --from "$T/in" && says "$err" 'no Landlock' 'hint: use --unconfined' && untouched
check 'without Landlock a received record is not run'
cmd 0 rerun "$own" && says "$err" 'partly confined: this kernel has no Landlock' && says "$out" identical
check 'one of one'"'"'s own is, which is said'
without landlock unshare
cmd 125 rerun "$(ulid 10)" --trust --force --from "$T/in" && untouched && cmd 0 rerun "$own" && says "$err" 'and write everything you can write'
check 'without namespaces as well'
without unshare
cmd 0 rerun "$own" && says "$err" 'namespaces are not available' && says "$out" identical
check 'without namespaces an own run is run'
attack 'without namespaces: a key' "cat $key >out.txt && echo read >got.txt" "reads = ['$key']"
attack 'without namespaces: writing outside' "for f in $T/ran $HOME/precious $T/in/in.txt /tmp/stemma-hostile.\$\$ $STEMMA_HOME/marks; do echo x 2>/dev/null >>\$f && echo \$f >>got.txt; done; rm -rf $HOME/precious $HOME/.ssh; true"
attack 'without namespaces: modes, owners, times' "chmod 777 $key $T/in/in.txt && echo mode >got.txt; touch -d 2001-01-01 $HOME/precious && echo time >>got.txt; chgrp \$(id -g) $HOME/precious && echo group >>got.txt; true"
others
attack 'without namespaces: sockets, other processes, keyrings, the terminal' "cat in.txt other.txt >/dev/null; $PYTHON -B sockets.py" "reads = [cwd + '/sockets.py', cwd + '/other.txt']"
others_are_there
check 'without namespaces: the other process is there, and what it shared'
STEMMA=$real

# ---- an ordinary user ----
if [ "$(id -u)" = 0 ] && [ -z "${AS_USER:-}" ]; then
	mkdir "$T/user" && chmod 755 "$T" && chown 65534:65534 "$T/user"
	if setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$T/user" STEMMA_HOME="$T/user" "$real" --version >/dev/null 2>&1; then
		setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$T/user" HOME="$T/user" STEMMA="$real" STEMMA_EVTEXT="$EVTEXT" AS_USER=1 sh "$here/t/t0861-rerun-hostile.sh" >"$out" 2>"$err" && ! grep -q '^not ok' "$out" && { [ "$(grep -c '^ok' "$out")" -ge 40 ] || grep -q SKIP "$out"; }
		check 'all of this as an ordinary user'
	else
		skip 'all of this as an ordinary user' 'the program cannot be run by one here'
	fi
fi
finish
