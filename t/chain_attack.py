"""Changes a segment as somebody would who knows its format: frames stay where they are and their checksums are right.

    chain_attack.py SEGMENT replace OLD NEW     the same number of bytes, wherever they stand in the events
    chain_attack.py SEGMENT drop SESSION        all frames of a session (16 hex digits)
    chain_attack.py SEGMENT swap SESSION        two events of it change places
    chain_attack.py SEGMENT cut SESSION         its last frame loses its last event
    chain_attack.py SEGMENT flip SESSION        the middle byte of its largest event
    chain_attack.py SEGMENT none                nothing: the segment is written as it was
"""
import ctypes
import ctypes.util
import struct
import sys

xxhash = ctypes.CDLL(ctypes.util.find_library('xxhash') or 'libxxhash.so.0')
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
HEAD = struct.Struct('<IIQQIIQqQ')


def frames(data):
    at = 0
    while at + HEAD.size <= len(data):
        head = list(HEAD.unpack_from(data, at))
        yield head, data[at + HEAD.size:at + HEAD.size + head[1]]
        at += HEAD.size + head[1]


def build(head, payload):
    head = head[:]
    head[1] = len(payload)
    rest = HEAD.pack(*head)[16:] + payload
    head[2] = xxhash.XXH3_64bits(rest, len(rest))
    return HEAD.pack(*head)[:16] + rest


def events(payload):
    """The encoded events, each with its length before it."""
    at, found = 0, []
    while at < len(payload):
        n, shift, start = 0, 0, at
        while True:
            byte = payload[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        at += n
        found.append(payload[start:at])
    return found


def main():
    path, what, *words = sys.argv[1:]
    with open(path, 'rb') as f:
        data = f.read()
    all_frames = list(frames(data))
    session = int(words[0], 16) if what in ('drop', 'swap', 'cut', 'flip') else None
    mine = [i for i, (head, _) in enumerate(all_frames) if head[3] == session]
    out, done = b'', 0
    for i, (head, payload) in enumerate(all_frames):
        if what == 'replace':
            old, new = (w.encode() for w in words)
            assert len(old) == len(new)
            done += payload.count(old)
            payload = payload.replace(old, new)
        elif what == 'drop' and i in mine:
            done += 1
            continue
        elif what == 'swap' and i in mine and not done:
            list_of = events(payload)
            if len(list_of) > 4:
                list_of[2], list_of[3] = list_of[3], list_of[2]
                payload = b''.join(list_of)
                done += 1
        elif what == 'cut' and mine and i == mine[-1]:
            payload = b''.join(events(payload)[:-1])
            head[5] -= 1
            done += 1
        elif what == 'flip' and i in mine and not done:
            list_of = events(payload)
            big = max(range(len(list_of)), key=lambda k: len(list_of[k]))
            changed = bytearray(list_of[big])
            changed[len(changed) // 2] ^= 1
            list_of[big] = bytes(changed)
            payload = b''.join(list_of)
            done += 1
        out += build(head, payload)
    if what == 'none':
        assert out == data
        done = 1
    assert done, 'nothing was changed'
    with open(path, 'wb') as f:
        f.write(out)


main()
