"""ship_nats_kills.py STEMMA FOLDER ROUNDS [SERVERS [SEED]]: a node that records, a shipper, NATS servers and a collector, some of which are
killed by SIGKILL again and again. At the end the collector's segments hold each frame of the node's once and nothing else.

The frames are read by ship_kills.py, not by stemma."""
import json, os, random, signal, socket, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ship_frames import frames, verdict

stemma, top, rounds = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
n_servers = int(sys.argv[4]) if len(sys.argv) > 4 else 1
rng = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
node, col, work = (os.path.join(top, x) for x in ("node", "col", "work"))
os.makedirs(work)


def free_ports(n):
    taken = [socket.socket() for _ in range(n)]
    for s in taken:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in taken]
    for s in taken:
        s.close()
    return ports


token = subprocess.run([stemma, "--store", col, "collect", "--add-node", "n1", "--host", os.uname().nodename], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
open(os.path.join(top, "n1.token"), "w").write(token + "\n")
open(os.path.join(top, "c.token"), "w").write("secret\n")
ports = free_ports(2 * n_servers)
clients, routes = ports[:n_servers], ports[n_servers:]
for i in range(n_servers):
    cluster = ""
    if n_servers > 1:
        cluster = "cluster { name: site, listen: 127.0.0.1:%d, routes: [%s] }" % (routes[i], ", ".join("nats://127.0.0.1:%d" % r for r in routes))
    open(os.path.join(top, "nats%d.conf" % i), "w").write("""
server_name: s%d
listen: 127.0.0.1:%d
max_payload: 2MB
jetstream { store_dir: "%s/js%d" }
%s
accounts { SITE { jetstream: enabled, users: [
  { user: collector, password: secret }
  { user: n1, password: "%s", permissions: {
      publish: ["STEMMA.frames.n1", "$JS.API.CONSUMER.INFO.STEMMA.collector"], subscribe: ["STEMMA.answer.n1", "STEMMA.inbox.n1.>"] } } ] } }
""" % (i, clients[i], top, i, cluster, token))
hosts = ",".join("127.0.0.1:%d" % p for p in clients)


to = ["--to", "nats://n1@" + hosts, "--token", os.path.join(top, "n1.token")]


def start(*args):
    log = open(os.path.join(top, os.path.basename(args[0]) + ".log"), "a")
    return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def server(i):
    return start("nats-server", "-c", os.path.join(top, "nats%d.conf" % i))


def shipper():
    return start(stemma, "--store", node, "ship", *to, "--watch", "--interval", "20ms")


def collector():
    return start(stemma, "--store", col, "collect", "--from", "nats://collector@" + hosts, "--token", os.path.join(top, "c.token"), "--watch",
        "--interval", "20ms", "--replicas", str(n_servers))


servers = [server(i) for i in range(n_servers)]
parts = {"shipper": shipper, "collector": collector}
open(os.path.join(work, "in"), "w").write("x\n" * 100)
subprocess.run([stemma, "--store", node, "run", "-q", "--", "true"], cwd=work, check=True)
running = {name: make() for name, make in parts.items()}
killed = {"server": 0, "shipper": 0, "collector": 0}
try:
    for i in range(rounds):
        # Small runs, and now and then one that fills several frames.
        loop = "for i in 1 2 3; do cat in >o%d.$i; done" % i if i % 5 else "i=0; while [ $i -lt 300 ]; do : <in >o%d.$i; i=$((i + 1)); done" % i
        subprocess.run([stemma, "--store", node, "run", "-q", "--", "sh", "-c", loop], cwd=work, check=True)
        time.sleep(rng.uniform(0, 0.3 * n_servers))
        for name in rng.sample(["server", "shipper", "collector"], rng.choice((1, 1, 2))):
            killed[name] += 1
            if name == "server":
                k = rng.randrange(n_servers)
                servers[k].send_signal(signal.SIGKILL)
                servers[k].wait()
                time.sleep(rng.uniform(0, 0.3))
                servers[k] = server(k)
            else:
                running[name].send_signal(signal.SIGKILL)
                running[name].wait()
                running[name] = parts[name]()
    want = frames(os.path.join(node, "logs"))
    for _ in range(1800):
        time.sleep(0.1)
        have = frames(os.path.join(col, "logs"), torn=True) if os.path.isdir(os.path.join(col, "logs")) else {}
        if have.keys() >= want.keys():
            break
    # The marks say so, too.
    running["shipper"].send_signal(signal.SIGTERM)
    running["shipper"].wait()
    for _ in range(10):
        last = subprocess.run([stemma, "--store", node, "ship", "--json", *to], stdout=subprocess.PIPE).stdout
        left = json.loads(last or b"{}").get("waiting_bytes")
        if left == 0:
            break
finally:
    for p in [*running.values(), *servers]:
        p.send_signal(signal.SIGTERM)
        p.wait()
print("killed: %s; %d of %d servers" % (killed, n_servers, n_servers))
if left != 0:
    raise SystemExit("the marks never came to the end: %s" % last)
verdict(want, frames(os.path.join(col, "logs")), sum(killed.values()))
