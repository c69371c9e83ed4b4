"""ship_frames.py - the frames of segments, read after doc/format/event-log.md and not by stemma; for the tests of ship and collect."""
import os, struct


def frames(folder, torn=False):
    """(session, number) -> how often it stands there whole, with its bytes. torn: the last frame may still be written."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".stl"):
                continue
            data = open(os.path.join(path, name), "rb").read()
            at = 0
            while at + 56 <= len(data):
                magic, size = struct.unpack_from("<4sI", data, at)
                if magic not in (b"STL1", b"STL2"):
                    raise SystemExit("%s: no frame at %d" % (name, at))
                if at + 56 + size > len(data):
                    break
                session, number = struct.unpack_from("<QI", data, at + 16)
                found.setdefault((session, number), []).append(data[at : at + 56 + size])
                at += 56 + size
            if at != len(data) and not torn:
                raise SystemExit("%s: torn" % name)
    return found


def verdict(want, have, killed):
    """Ends with a sentence where the collector has not each frame of the node's once, and nothing else."""
    lost = [k for k in want if k not in have]
    extra = [k for k in have if k not in want]
    twice = [k for k in have if len(have[k]) > 1]
    other = [k for k in want if k in have and want[k][0] != have[k][0]]
    print("%d frames, %d killed" % (len(want), killed))
    if lost or extra or twice or other:
        raise SystemExit("lost %d, extra %d, twice %d, other %d" % (len(lost), len(extra), len(twice), len(other)))
    print("same")
