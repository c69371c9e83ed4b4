"""ship_kills.py STEMMA FOLDER ROUNDS [SEED]: a node that records, a shipper and a collector, of which one or both are killed by SIGKILL
again and again. At the end the collector's segments hold each frame of the node's once and nothing else.

The frames are read here, after doc/format/event-log.md, not by stemma."""
import os, random, signal, struct, subprocess, sys, time

stemma, top, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
node, col, spool = (os.path.join(top, x) for x in ("node", "col", "spool"))
for d in (top, spool):
    os.makedirs(d, exist_ok=True)
os.chmod(spool, 0o1777)


def frames(folder):
    """(session, number) -> how often it stands there whole, with its bytes."""
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
                session, number = struct.unpack_from("<QI", data, at + 16)
                found.setdefault((session, number), []).append(data[at : at + 56 + size])
                at += 56 + size
            if at != len(data):
                raise SystemExit("%s: torn" % name)
    return found


def start(*args):
    return subprocess.Popen([stemma, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


work = os.path.join(top, "work")
os.makedirs(work)
open(os.path.join(work, "in"), "w").write("x\n" * 100)
killed = 0
for i in range(rounds):
    subprocess.run([stemma, "--store", node, "run", "--", "sh", "-c", "for i in 1 2 3; do cat in >o%d.$i; done" % i], cwd=work, check=True)
    both = [
        start("--store", node, "ship", "--to", spool, "--watch", "--interval", "20ms"),
        start("--store", col, "collect", "--from", spool, "--watch", "--interval", "20ms"),
    ]
    time.sleep(rng.uniform(0, 0.15))
    for p in rng.sample(both, rng.choice((1, 1, 2))):
        p.send_signal(signal.SIGKILL)
        killed += 1
    for p in both:
        p.send_signal(signal.SIGTERM)
        p.wait()
both = [
    start("--store", node, "ship", "--to", spool, "--watch", "--interval", "20ms"),
    start("--store", col, "collect", "--from", spool, "--watch", "--interval", "20ms"),
]
want = frames(os.path.join(node, "logs"))
for _ in range(600):
    time.sleep(0.1)
    have = frames(os.path.join(col, "logs")) if os.path.isdir(os.path.join(col, "logs")) else {}
    if have.keys() == want.keys():
        break
for p in both:
    p.send_signal(signal.SIGTERM)
    p.wait()
have = frames(os.path.join(col, "logs"))
lost = [k for k in want if k not in have]
extra = [k for k in have if k not in want]
twice = [k for k in have if len(have[k]) > 1]
other = [k for k in want if k in have and want[k][0] != have[k][0]]
print("%d frames, %d killed" % (len(want), killed))
if lost or extra or twice or other:
    raise SystemExit("lost %d, extra %d, twice %d, other %d" % (len(lost), len(extra), len(twice), len(other)))
print("same")
