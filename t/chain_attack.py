"""Changes a segment as somebody would who knows its format: frames stay where they are and their checksums are right.

    chain_attack.py SEGMENT replace OLD NEW     the same number of bytes, wherever they stand in the events
    chain_attack.py SEGMENT drop SESSION        all frames of a session (16 hex digits)
    chain_attack.py SEGMENT swap SESSION        two events of it change places
    chain_attack.py SEGMENT cut SESSION         its last frame loses its last event
    chain_attack.py SEGMENT flip SESSION        the middle byte of its largest event
    chain_attack.py SEGMENT none                nothing: the segment is written as it was
    chain_attack.py SEGMENT unseal              all seals
    chain_attack.py SEGMENT copy EVTEXT RUN TO  a run under another id, in the new segment TO

and as somebody who knows the chain as well, and makes all of it anew (the segment holds whole sessions of one host):

    chain_attack.py SEGMENT forge EVTEXT HEAD result OLD NEW   a result's value
    chain_attack.py SEGMENT forge EVTEXT HEAD back NS          everything was so much earlier
    chain_attack.py SEGMENT forge EVTEXT HEAD early SESSION NS one session was so much earlier
    chain_attack.py SEGMENT forge EVTEXT HEAD best RUN...      the plan was of these runs, and there were no others

    chain_attack.py SEGMENT shorten EVTEXT HEAD N              what came behind seal N is not there

HEAD is the file of what the host knows of its last seal, which is written, too.
"""
import ctypes
import ctypes.util
import hashlib
import json
import os
import struct
import subprocess
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


def dump(evtext, path):
    text = subprocess.run([evtext, 'dump', path], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [json.loads(line) for line in text.splitlines()]


def make(evtext, path, lines):
    text = ''.join(json.dumps(line) + '\n' for line in lines)
    subprocess.run([evtext, 'make', path], input=text.encode(), check=True)


def sealed_parts(path):
    """How many bytes of each session a seal covers, and their digest."""
    sums, sizes = {}, {}
    with open(path, 'rb') as f:
        for head, payload in frames(f.read()):
            whole = build(head, payload)[16:]
            sums.setdefault(head[3], hashlib.sha256()).update(whole)
            sizes[head[3]] = sizes.get(head[3], 0) + len(whole)
    return {s: (sizes[s], sums[s].digest()) for s in sums}


def raw(seal, name):
    return seal.get(name, '').encode('latin-1')


def seal_hash(seal):
    """doc/format/event-log.md, Seals."""
    more = ('plan', 'step', 'repetition', 'run', 'start')
    words = [len(raw(seal, 'chain')), seal.get('number', 0), len(raw(seal, 'before')), seal['t'], seal.get('why', 0), len(seal.get('sessions', []))]
    version = b'stemma seal 1\n'
    if any(seal.get(name) for name in more):
        version = b'stemma seal 2\n'
        words += [len(raw(seal, 'plan')), seal.get('step', 0), seal.get('repetition', 0), len(raw(seal, 'run')), len(raw(seal, 'start'))]
    text = version + b''.join(struct.pack('<Q', w % 2**64) for w in words)
    text += b''.join(raw(seal, name) for name in ('chain', 'before', 'plan', 'run', 'start'))
    return hashlib.sha256(text + b''.join(s.encode('latin-1') for s in seal.get('sessions', []))).digest()


def change(lines, what, words):
    """What the forger wants the record to say."""
    if what in ('back', 'early'):
        for line in lines:
            if what == 'back' or line['session'] == words[0]:
                line['t'] -= int(words[-1])
        return lines
    if what == 'result':
        old, new = words
        for line in lines:
            if line['k'] == 'result':
                line['value'] = [new if v == old else v for v in line['value']]
        return lines
    runs = words  # best
    others = {line.get('run') for line in lines if line.get('step') == 2} - set(runs)
    gone = {line['session'] for line in lines if line.get('run') in others}
    lines = [line for line in lines if line['session'] not in gone]
    count = 0
    for line in lines:
        if line['k'] == 'plan':
            line['runs'] = len(runs)
        elif line.get('step') == 2:
            count += 1
            line['repetition'] = count
        elif line.get('step') == 3:
            line['repetition'] = count
    return lines


def write_head(head, number, time, last):
    """With the key that is there: the only one that an attacker finds."""
    text = 'stemma seals 1\nnumber %d\ntime %d\nhash %s\n' % (number, time, last.hex())
    with open(head) as f:
        text += ''.join(line for line in f if line.startswith(('start ', 'key ')))
    with open(head, 'w') as f:
        f.write(text + 'sum %s\n' % hashlib.sha256(text.encode()).hexdigest())


def shorten(path, evtext, head, count):
    """The record as it was when it had so many seals, and the host knows of no later one."""
    kept, seals = [], []
    for line in dump(evtext, path):
        if line['k'] == 'seal':
            seals.append(line)
        if len(seals) > int(count):
            break
        kept.append(line)
    seals = seals[:int(count)]
    last = {line['session'] for line in kept} - {line['session'] for line in kept if line['k'] == 'session_end'}
    kept = {line['session'] for line in kept if line['session'] not in last}
    with open(path, 'rb') as f:
        data = f.read()
    with open(path, 'wb') as f:
        f.write(b''.join(build(head, payload) for head, payload in frames(data) if '%016x' % head[3] in kept))
    write_head(head, int(count), seals[-1]['t'], raw(seals[-1], 'hash'))


def forge(path, evtext, head, what, *words):
    lines = change(dump(evtext, path), what, words)
    make(evtext, path, lines)
    parts = sealed_parts(path)
    before, number = b'', 0
    for line in lines:
        if line['k'] != 'seal':
            continue
        entries = []
        for entry in line.get('sessions', []):
            session = struct.unpack('<Q', entry.encode('latin-1')[:8])[0]
            size, digest = parts[session]
            entries.append((struct.pack('<QQ', session, size) + digest).decode('latin-1'))
        number += 1
        line.update(number=number, before=before.decode('latin-1'), sessions=entries)
        before = seal_hash(line)
        line['hash'] = before.decode('latin-1')
    make(evtext, path, lines)
    write_head(head, number, max(line['t'] for line in lines if line['k'] == 'seal'), before)


def copy(path, evtext, run, to):
    """As if the run had been made once more."""
    lines = dump(evtext, path)
    mine = {line['session'] for line in lines if run in (line.get('run'), line.get('id'))}
    mine -= {line['session'] for line in lines if line['k'] == 'seal'}
    number = {s: '%016x' % (int(s, 16) ^ 0xff) for s in mine}
    other = run[:-1] + ('0' if run[-1] != '0' else '1')
    kept = [json.loads(json.dumps(line).replace(run, other)) for line in lines if line['session'] in mine]
    for line in kept:
        line['session'] = number[line['session']]
    assert kept, 'there is no such run'
    make(evtext, to, kept)


def main():
    path, what, *words = sys.argv[1:]
    if what == 'forge':
        forge(path, *words)
        return
    if what == 'shorten':
        shorten(path, *words)
        return
    if what == 'copy':
        copy(path, *words)
        return
    with open(path, 'rb') as f:
        data = f.read()
    all_frames = list(frames(data))
    session = int(words[0], 16) if what in ('drop', 'swap', 'cut', 'flip') else None
    mine = [i for i, (head, _) in enumerate(all_frames) if head[3] == session]
    out, done = b'', 0
    if what == 'unseal':
        evtext = os.environ['EVTEXT']
        seals = {int(line['session'], 16) for line in dump(evtext, path) if line['k'] == 'seal'}
        mine = [i for i, (head, _) in enumerate(all_frames) if head[3] in seals]
    for i, (head, payload) in enumerate(all_frames):
        if what == 'replace':
            old, new = (w.encode() for w in words)
            assert len(old) == len(new)
            done += payload.count(old)
            payload = payload.replace(old, new)
        elif what in ('drop', 'unseal') and i in mine:
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
