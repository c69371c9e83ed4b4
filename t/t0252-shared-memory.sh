#!/bin/sh
# What a program shares with the recorder (doc/opens.md, doc/io.md): its own log and nothing else. No program of a run can write
# code that another one runs, nor see or change what another one tells the recorder. A process that changes its user, root or
# namespaces or confines itself shares nothing any more, and what it opens from then on is recorded all the same.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

needs_code

cat >"$T/shared.py" <<'PY'
import ctypes, errno, os, re, struct, sys, threading
case, folder, out = sys.argv[1:]
# Of a program with threads: they open files, and one of them confines itself.
threads = case.endswith('_threads')
case = case.removesuffix('_threads')
libc = ctypes.CDLL(None, use_errno=True)
CODE = 0x2f7374650000
problems = []

def must(ok, what):
    if not ok:
        problems.append(what)

def shared(pid='self'):
    """What the recorder shares with a process: {inode: (from, to, permissions)}."""
    found = {}
    for line in open(f'/proc/{pid}/maps'):
        m = re.match(r'(\w+)-(\w+) (\S+) \S+ \S+ (\d+)\s+/memfd:stemma', line)
        if m:
            found[int(m[4])] = (int(m[1], 16), int(m[2], 16), m[3])
    return found

def of_recorder():
    """The memory of that kind that processes of the recorder have. Only root may look."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if open(f'/proc/{pid}/comm').read().startswith('stemma'):
                found.update(shared(pid))
        except OSError:
            pass
    return found

def read_files(name, n=400):
    os.makedirs(f'{folder}/{name}', exist_ok=True)
    for i in range(n):
        path = f'{folder}/{name}/f{i}'
        if not os.path.exists(path):
            open(path, 'w').close()
    for i in range(n):
        os.close(os.open(f'{folder}/{name}/f{i}', os.O_RDONLY))

def in_threads(n, f, *args):
    results = []
    started = [threading.Thread(target=lambda: results.append(f(*args))) for _ in range(n)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    return results[0]

def raw(number, *args):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])

def prctl(*args):
    return libc.prctl(*[ctypes.c_ulong(a) for a in args])

def seccomp_allow_all():
    code = struct.pack('HBBI', 6, 0, 0, 0x7fff0000)  # return ALLOW
    buf = ctypes.create_string_buffer(code)
    return ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(buf))), buf

def confine():
    if case == 'setuid':
        os.setresuid(65534, 65534, 65534)
    elif case == 'setgid':
        os.setresgid(65534, 65534, 65534)
    elif case == 'setgroups':
        os.setgroups([65534])
    elif case == 'chroot':
        os.chroot('/')
    elif case == 'unshare':
        return raw(272, 0x00020000)
    elif case == 'setns':
        return raw(308, os.open('/proc/self/ns/uts', os.O_RDONLY), 0)
    elif case == 'setreuid':
        return raw(113, 65534, 65534)
    elif case == 'setfsuid':  # gives the one before: root's
        return raw(122, 65534)
    elif case == 'capset':
        header, data = struct.pack('Ii', 0x20080522, 0), struct.pack('6I', 0, 0, 0, 0, 0, 0)
        a, b = ctypes.create_string_buffer(header), ctypes.create_string_buffer(data)
        return raw(126, ctypes.addressof(a), ctypes.addressof(b))
    elif case == 'seccomp':
        prog, keep = seccomp_allow_all()
        prctl(38, 1, 0, 0, 0)
        return raw(317, 1, 0, ctypes.addressof(prog))
    elif case == 'filter':
        prog, keep = seccomp_allow_all()
        prctl(38, 1, 0, 0, 0)
        return prctl(22, 2, ctypes.addressof(prog))
    elif case == 'filter32':
        prctl(38, 1, 0, 0, 0)
        return int80(172, 22, 2, int80_filter())
    elif case == 'seccomp32':
        prctl(38, 1, 0, 0, 0)
        return int80(354, 1, 0, int80_filter())
    elif case == 'setuid32':
        return int80(208, 65534, 65534, 65534)
    elif case == 'x32':  # where the kernel has it; where not, it is stopped all the same
        raw(0x40000000 | 105, 65534)
    elif case == 'landlock':
        attr = ctypes.create_string_buffer(struct.pack('Q', 1 << 6))  # MAKE_CHAR: all else stays allowed
        prctl(38, 1, 0, 0, 0)
        fd = raw(444, ctypes.addressof(attr), 8, 0)
        if fd < 0:
            return fd
        r = raw(446, fd, 0)
        os.close(fd)
        return r
    return 0

# By the 32-bit interface, from a 64-bit program. What it points to lies where 32 bits lead.
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def low(code):
    at = libc.mmap(None, 4096, 7, 0x62, -1, 0)  # MAP_32BIT
    ctypes.memmove(at, code, len(code))
    return at

def int80(number, *args):
    # push rbx; mov eax, edi; mov ebx, esi; xchg ecx, edx; int 0x80; pop rbx; ret: the third argument is in ecx, the fourth in edx
    code = low(bytes.fromhex('53 89f8 89f3 87ca cd80 5b c3'))
    r = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint] * 4)(code)(number, *args[:3])
    return r

def int80_filter():
    program = low(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
    return low(struct.pack('HxxI', 1, program))

for name in ('before', 'after', 'child'):
    read_files(name, 1)
read_files('before')
own = shared()
if not own:
    open(out, 'w').write('no code\n')
    sys.exit()

if case == 'alone':
    code = [l for l in open('/proc/self/maps') if l.startswith('%x-' % CODE)]
    must(len(code) == 1 and ' r-xp ' in code[0] and code[0].split()[4] == '0', f'the code is not private memory: {code}')
    must(not [l for l in open('/proc/self/maps') if 'memfd:stemma' in l and 'x' in l.split()[1]],
         'memory of the recorder can be executed')
    must(len(own) == 1, f'more than one log: {own}')
    was = ctypes.string_at(CODE, 4096)
    (at, end, mode), = own.values()
    for page in range((end - at) // 4096):  # shows another page of the same memory, if it has one
        if raw(216, at, 4096, 0, page, 0) == 0 and any(ctypes.string_at(at, 4096)):
            must(ctypes.string_at(at, 64) != was[:64], f'page {page} of the log is the code')
    must(ctypes.string_at(CODE, 4096) == was, 'the code has changed')
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if int(pid) != os.getpid() and open(f'/proc/{pid}/comm').read().startswith('stemma') is False:
                must(not set(shared(pid)) & set(own), f'process {pid} has this log, too')
        except OSError:
            pass
elif case == 'fork':
    pid = os.fork()
    if pid == 0:
        must(not set(shared()) & set(own), 'a forked child has its parent\'s log')
        read_files('child')
        theirs = shared()
        must(theirs and not set(theirs) & set(own), f'a forked child has no log of its own: {theirs}')
        if problems:
            open(out, 'a').write(''.join(p + '\n' for p in problems))
        os._exit(len(problems))
    must(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, 'the child has its parent\'s log, or none of its own')
    must(shared().keys() == own.keys(), 'the parent\'s log is another one')
elif case == 'namespace':
    pid = raw(56, 0x10000000 | 17, 0, 0, 0, 0)  # clone, CLONE_NEWUSER
    if pid < 0:
        open(out, 'w').write('not possible\n')
        sys.exit()
    if pid == 0:
        read_files('before')
        os._exit(bool(shared()))
    must(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, 'a child in a user namespace of its own shares memory')
elif case == 'recorder':
    def stat(pid):  # name, parent
        text = open(f'/proc/{pid}/stat').read()
        return text[text.index('(') + 1:text.rindex(')')], text.rsplit(')', 1)[1].split()[1]
    theirs, at = set(), str(os.getppid())
    while stat(at)[0].startswith('stemma'):
        theirs.add(at)
        at = stat(at)[1]
    must(theirs, 'no recorder above this process')
    for pid in filter(str.isdigit, os.listdir('/proc')):  # not those of other runs, which may be stopped by a try to trace them
        try:
            if pid not in theirs and stat(pid)[1] not in theirs or pid == str(os.getpid()):
                continue
        except OSError:
            continue
        for what in ('mem', 'maps', 'fd', 'environ', 'auxv'):
            try:
                os.listdir(f'/proc/{pid}/fd') if what == 'fd' else open(f'/proc/{pid}/{what}', 'rb').read(1)
                must(False, f'/proc/{pid}/{what} of the recorder can be read')
            except (PermissionError, FileNotFoundError, ProcessLookupError):
                pass
            except OSError as e:
                must(e.errno in (errno.EACCES, errno.EPERM), f'{what}: {e}')
        must(raw(101, 16, int(pid), 0, 0) < 0, 'the recorder can be traced')
elif case == 'table':
    # The command's own counts. Its child stays root and looks at the recorder.
    r, w = os.pipe()
    r2, w2 = os.pipe()
    pid = os.fork()
    if pid == 0:
        must(set(own) <= set(of_recorder()), 'the recorder has not what the command shares')
        must(not set(own) & set(shared()), 'a forked child has its parent\'s counts')
        os.write(w2, b'.')
        os.read(r, 1)
        must(not set(own) & set(of_recorder()), 'the recorder still has what the command had shared')
        if problems:
            open(out, 'a').write(''.join(p + '\n' for p in problems))
        os._exit(len(problems))
    os.read(r2, 1)
    os.setresuid(65534, 65534, 65534)
    for i in range(60):
        fd = os.open(f'{folder}/sight/f{i}', os.O_RDONLY)
        must(os.read(fd, 10) == b'', 'reading goes wrong')
        os.close(fd)
    os.write(w, b'.')
    must(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, 'something is still shared')
else:
    # In a child, so that its parent is root and may look at the recorder.
    r, w = os.pipe()
    r2, w2 = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        os.close(w2)
        read_files('child')
        if threads:
            in_threads(4, read_files, 'child')
        os.write(w, b'%d\n' % (list(shared())[0] if shared() else 0))
        os.read(r2, 1)
        try:
            rc = in_threads(1, confine) if threads else confine()
        except OSError as e:
            rc = -e.errno
        os.write(w, b'%d\n' % rc)
        read_files('after', 1)
        for i in range(300):
            os.close(os.open(f'{folder}/before/f{i}', os.O_RDONLY))
        for i in range(60):
            os.close(os.open(f'{folder}/sight/f{i}', os.O_RDONLY))
        grand = os.fork()
        if grand == 0:
            os._exit(bool(set(shared()) & set(own)) or any(i in of_recorder() for i in shared()))
        bad = os.waitstatus_to_exitcode(os.waitpid(grand, 0)[1])
        os.write(w, b'%d\n' % bad)
        os.read(r2, 1)
        os._exit(0)
    os.close(w)
    os.close(r2)
    from_child = os.fdopen(r)
    inode = int(from_child.readline())
    must(inode and inode in of_recorder(), f'the child has no log that the recorder has ({inode})')
    os.write(w2, b'.')
    rc = int(from_child.readline())
    if rc < 0:
        open(out, 'w').write('not possible\n')
    must(rc >= 0 or case in ('landlock', 'seccomp'), f'the call failed: {rc}')
    must(int(from_child.readline()) == 0, 'a child of the confined process shares memory')
    if rc >= 0:
        must(inode not in of_recorder(), 'the recorder still has the log')
    os.write(w2, b'.')
    os.waitpid(pid, 0)
with open(out, 'a') as f:
    f.write(''.join(p + '\n' for p in problems))
PY

options=
# share CASE NAME: runs it, and looks at what it has found.
share()
{
	D=$T/$1/d
	mkdir -p "$D/sight"
	chmod 755 "$T" "$T/$1" "$D" "$D/sight"
	i=0
	while [ $i -lt 60 ]; do
		: >"$D/sight/f$i"
		i=$((i + 1))
	done
	: >"$T/$1/why"
	chmod 666 "$T/$1/why"
	# shellcheck disable=SC2086 # none, or one
	STEMMA_INJECT=always STEMMA_HOME=$T/$1/home timeout 120 "$STEMMA" run $options -- $PYTHON "$T/shared.py" "$1" "$D" "$T/$1/why" >"$T/$1/err" 2>&1 || cat "$T/$1/err" >>"$T/$1/why"
	if [ "$(cat "$T/$1/why")" = "no code" ] || [ "$(cat "$T/$1/why")" = "not possible" ]; then
		skip_ "$2" "$(cat "$T/$1/why") here"
		return
	fi
	events "$T/$1/home" "$T/events" || cat "$T/events.err" >>"$T/$1/why"
	if [ "$1" != alone ] && [ "$1" != fork ] && [ "$1" != recorder ] && [ "$1" != namespace ]; then
		seen=$(grep '"k":"file"' "$T/events" | grep -c "$D/sight/f[0-9]*\"")
		[ "$seen" = 60 ] || echo "of 60 files that were read afterwards $seen are in the record" >>"$T/$1/why"
	fi
	[ ! -s "$T/$1/why" ]
	result $? "$2" "$T/$1/why"
}

share alone "the code is private memory, the log is the process's own"
share fork "a forked child has a log of its own"
share namespace "nothing is shared with a child in another user namespace"
if [ "$(id -u)" = 0 ]; then
	for c in setuid setreuid setfsuid setgid setgroups chroot unshare setns capset seccomp filter landlock setuid32 seccomp32 filter32 x32; do
		share $c "nothing is shared after $c"
	done
	for c in setuid setgroups unshare seccomp; do
		share ${c}_threads "nothing is shared after $c by a thread"
	done
	options=--count
	share table "nothing is shared after setuid, with --count"
	options=
elif grep -q __asan_init "$STEMMA"; then
	skip_ "the recorder's memory cannot be read from within the run" "the address sanitizer's search for leaks has to trace it"
else
	share recorder "the recorder's memory cannot be read from within the run"
fi

# A program puts code of its own where the filter lets opens pass, and opens a file from there.
cat >"$T/page.py" <<'PY'
import ctypes, mmap, os, sys
when, path = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
CODE = 0x2f7374650000
code = bytes.fromhex('4889fe bf9cffffff 31d2 b801010000 0f05 c3')  # openat(AT_FDCWD, its argument, O_RDONLY)
at = libc.mmap(ctypes.c_void_p(CODE), ctypes.c_size_t(4096), 7, 0x32, -1, ctypes.c_long(0))
if at != CODE:
    sys.exit('the page cannot be had')
ctypes.memmove(CODE, code, len(code))
fd = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(CODE)(path.encode())
if fd < 0 or os.read(fd, 10) != b'data\n':
    sys.exit('the file was not opened')
os.close(fd)
if when == 'exec':
    os.execv('/bin/true', ['true'])
os._exit(0)
PY
echo data >"$T/unseen"
chmod 755 "$T"
for when in exit exec; do
	: >"$T/why"
	STEMMA_HOME=$T/page-$when timeout 120 "$STEMMA" run -- $PYTHON "$T/page.py" $when "$T/unseen" >"$T/why" 2>&1 || echo "it failed" >>"$T/why"
	events "$T/page-$when" "$T/events" || cat "$T/events.err" >>"$T/why"
	grep '"k":"gap"' "$T/events" | grep -q "it has its own code where opens for reading are not stopped" || grep '"k":"file"' "$T/events" | grep -q "$T/unseen\"" || echo "the file is not in the record, and nothing says so" >>"$T/why"
	[ ! -s "$T/why" ]
	result $? "code of a program's own at the exempt page is said, at its $when" "$T/why"
	: >"$T/why"
done

finish
