#!/usr/bin/env python3
"""Make the segments that stemma-evtext cannot: torn, damaged, newer, future. Run in this folder."""
import ctypes
import struct

xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh3.restype = ctypes.c_uint64
xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

HEADER = struct.Struct("<4sIQQIIQqQ")


def frame(session, number, count, seq, time, payload):
    rest = struct.pack("<QIIQqQ", session, number, count, seq, time, 0) + payload
    return b"STL1" + struct.pack("<IQ", len(payload), xxh3(rest, len(rest))) + rest


def frames(data):
    at = 0
    while at < len(data):
        size = HEADER.unpack_from(data, at)[1]
        yield data[at : at + HEADER.size + size]
        at += HEADER.size + size


def write(name, *parts):
    with open(name, "wb") as f:
        f.write(b"".join(parts))


kinds = open("kinds.stl", "rb").read()
first, second, third, *others = frames(open("sessions.stl", "rb").read())
noise = bytes((i * 73 + 11) % 256 for i in range(1000))
flipped = bytearray(second)
flipped[70] ^= 4
newer = b"STL3" + second[4:]

write("torn.stl", kinds, first[:-1])
write("damaged.stl", noise, first, bytes(flipped), noise[:100], first[:60], third, noise[:7])
write("newer.stl", first, newer, third, newer)
# kind 900 of 5 bytes; an access with a further field; a frame with nothing in it
write("future.stl",
      frame(0xD, 0, 3, 1, 1000, b"\x07\x84\x07\x02\x00\x01\x02\xff" + b"\x0a\x0b\x02\x01\x05\x01\x00\x01\x01\x80\x01"
            + b"\x03\x04\x00\x00"),
      frame(0xD, 1, 0, 4, 1000, b""))
