"""A FUSE file system with a file, hello, and a folder, by the kernel's own protocol (linux/fuse.h).

fuse_serve.py MOUNT BACKING READY [ASKED ANSWER [silent]]: makes READY when it is mounted. Before each answer it opens and closes
BACKING, which lies on another file system. With ASKED it makes that file when it is asked for hello (silent: for anything), and
answers when ANSWER is there. In a mount namespace of the caller's. The file $FLUSHED, if that is set, has a byte for each close
that it was told of.
"""
import ctypes, os, struct, sys, time

mount, backing, ready = sys.argv[1:4]
asked, answer_from = sys.argv[4:6] if len(sys.argv) > 4 else (None, None)
silent = sys.argv[6:] == ['silent']
fd = os.open('/dev/fuse', os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f'fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}'
if libc.mount(b'test', mount.encode(), b'fuse', 6, options.encode()) < 0:
    sys.exit('mount: ' + os.strerror(ctypes.get_errno()))
text = b'hello from afar\n'


def attr(node):
    mode, size, links = (0o40755, 0, 2) if node != 2 else (0o100644, len(text), 1)
    return struct.pack('<6Q10I', node, size, 1, 0, 0, 0, 0, 0, 0, mode, links, os.getuid(), os.getgid(), 0, 4096, 0)


def wait():
    while asked and not os.path.exists(answer_from):
        open(asked, 'w').close()
        time.sleep(0.02)


open(ready, 'w').close()
while True:
    try:
        request = os.read(fd, 1 << 17)
    except OSError:  # it was unmounted
        break
    length, code, unique, node = struct.unpack('<IIQQ', request[:24])
    body, error, answer = request[40:length], 0, b''
    if silent and code != 26:
        wait()
    if code != 26:
        open(backing).close()
    if code == 26:  # INIT
        answer = struct.pack('<4I2H2I2H8I', 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, *[0] * 8)
    elif code == 1:  # LOOKUP: nothing of it is kept, so each use of the name asks again
        if body == b'hello\0':
            wait()
            answer = struct.pack('<4Q2I', 2, 1, 0, 0, 0, 0) + attr(2)
        elif body == b'folder\0':
            answer = struct.pack('<4Q2I', 3, 1, 0, 0, 0, 0) + attr(3)
        else:
            error = -2
    elif code == 3:  # GETATTR
        answer = struct.pack('<QII', 0, 0, 0) + attr(node)
    elif code in (14, 27):  # OPEN, OPENDIR
        answer = struct.pack('<QII', 0, 0, 0)
    elif code == 15:  # READ
        at, size = struct.unpack('<8xQI', body[:20])
        answer = text[at:at + size]
    elif code in (2, 42):  # FORGET: no answer
        continue
    elif code == 25 and 'FLUSHED' in os.environ:
        with open(os.environ['FLUSHED'], 'a') as flushed:
            flushed.write('.')
    elif code not in (18, 25, 29):  # RELEASE, FLUSH, RELEASEDIR
        error = -38
    os.write(fd, struct.pack('<IiQ', 16 + len(answer), error, unique) + answer)
