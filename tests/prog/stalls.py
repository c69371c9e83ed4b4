"""stalls.py page|autofs FOLDER ASKED: asks for what never comes, and waits to be killed. It makes ASKED when that has begun.

page: a thread opens a path whose bytes are in a page of memory that it has promised to fill (userfaultfd(2)), and never does.
autofs: a process opens a name below FOLDER, where it has promised to mount what is asked for (autofs), and never does. As root, in a
mount namespace of its own. 77: that is not possible here.
"""
import ctypes, mmap, os, struct, sys, threading, time

kind, folder, asked = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)


def fail(what):
    sys.stderr.write(f'{what}: {os.strerror(ctypes.get_errno())}\n')
    sys.exit(77)


if kind == 'page':
    machine = os.uname().machine
    number = {'x86_64': 323, 'aarch64': 282, 'riscv64': 282}.get(machine)
    fd = libc.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK) if number else -1
    if fd < 0:
        fail('userfaultfd')
    import fcntl
    api = bytearray(struct.pack('<QQQ', 0xAA, 0, 0))
    fcntl.ioctl(fd, 0xC018AA3F, api)  # UFFDIO_API
    page = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    fcntl.ioctl(fd, 0xC020AA00, bytearray(struct.pack('<QQQQ', address, mmap.PAGESIZE, 1, 0)))  # UFFDIO_REGISTER, missing
    libc.open.argtypes = [ctypes.c_void_p, ctypes.c_int]
    threading.Thread(target=lambda: libc.open(address, 0), daemon=True).start()
    import select
    select.select([fd], [], [])  # somebody wants the page: the kernel, or whoever records
    open(asked, 'w').close()
    while True:
        time.sleep(1)

os.makedirs(folder, exist_ok=True)
r, w = os.pipe()
os.setpgid(0, 0)
if libc.mount(b'test', folder.encode(), b'autofs', 0, f'fd={w},pgrp={os.getpgrp()},minproto=5,maxproto=5,indirect'.encode()) < 0:
    fail('autofs')
os.close(w)
child = os.fork()
if child == 0:
    libc.prctl(1, 9)  # PR_SET_PDEATHSIG: it ends with who mounts
    os.setpgid(0, 0)  # not of the group of who mounts: that one is not made to wait
    try:
        open(folder + '/name')
    except OSError:
        pass
    os._exit(0)
os.read(r, 300)
open(asked, 'w').close()
while True:
    time.sleep(1)
