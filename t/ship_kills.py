"""ship_kills.py STEMMA FOLDER ROUNDS [SEED]: a node that records, a shipper and a collector, of which one or both are killed by SIGKILL
again and again. At the end the collector's segments hold each frame of the node's once and nothing else.

The frames are read by ship_frames.py, not by stemma."""
import os, random, signal, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ship_frames import frames, verdict

stemma, top, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
node, col, spool = (os.path.join(top, x) for x in ("node", "col", "spool"))
for d in (top, spool):
    os.makedirs(d, exist_ok=True)
os.chmod(spool, 0o1777)


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
    have = frames(os.path.join(col, "logs"), torn=True) if os.path.isdir(os.path.join(col, "logs")) else {}
    if have.keys() == want.keys():
        break
for p in both:
    p.send_signal(signal.SIGTERM)
    p.wait()
verdict(want, frames(os.path.join(col, "logs")), killed)
