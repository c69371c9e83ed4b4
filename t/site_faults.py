"""site_faults.py STEMMA FOLDER SECONDS SEED NODES - a site, whose parts are killed at random while its nodes record.

Three NATS servers with two streams; a collector for each, nodes divided among them; two builders, each receiving from both collectors; a
PostgreSQL database. Each node is a network namespace, and a host name, where the machine allows it. Meanwhile the database is asked: what it has
must be, row for row, the record of just the events that it says it has (stemma_load.session), built in one process. At the end it must be the record
of all that the nodes recorded. $PG_CONTROL: a command that starts and stops the server; PGHOST and the like: where it is.

Ends with 1 if a row is lost, doubled or wrong. The last line has the figures: for tests/campaigns/site-faults.txt."""
import json, os, random, shlex, signal, socket, struct, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ship_frames import frames

stemma, top, seconds, seed, n_nodes = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
rng = random.Random(seed)
COUNT, SEQ = 28, 32  # in the header of a frame
PATIENCE = 600  # s, until all has come to the database
names = ["n%d" % i for i in range(n_nodes)]
streams = ["EAST", "WEST"]
os.makedirs(os.path.join(top, "shared"))
quiet = dict(stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def place(*words):
    return os.path.join(top, *words)


def call(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **{**dict(stdin=subprocess.DEVNULL), **more}).stdout


# ---- networks: a bridge with 254 addresses, of this process alone ----

net = "10.%d.%d" % (200 + os.getpid() % 50, os.getpid() // 50 % 250)
tag = "s%d" % (os.getpid() % 100000)
bridge = None


def make_networks():
    global bridge
    if os.getuid() != 0:
        return "not root"
    done = subprocess.run(["ip", "link", "add", tag, "type", "bridge"], capture_output=True, text=True)
    if done.returncode:
        return "no bridge: " + done.stderr.strip()
    bridge = tag
    call("ip", "addr", "add", net + ".1/24", "dev", tag)
    call("ip", "link", "set", tag, "up")
    for i, n in enumerate(names):
        call("ip", "netns", "add", tag + n)
        call("ip", "link", "add", tag + n, "type", "veth", "peer", "name", "eth0", "netns", tag + n)
        call("ip", "link", "set", tag + n, "master", tag, "up")
        call("ip", "-n", tag + n, "addr", "add", "%s.%d/24" % (net, i + 2), "dev", "eth0")
        call("ip", "-n", tag + n, "link", "set", "eth0", "up")
    return None


def remove_networks():
    if bridge:
        for n in names:
            subprocess.run(["ip", "netns", "del", tag + n], capture_output=True)
        subprocess.run(["ip", "link", "del", tag], capture_output=True)


def link(n, state):
    if bridge:
        subprocess.run(["ip", "link", "set", tag + n, state], capture_output=True)


def on(n, words):
    """The words as they run on the node."""
    within = ["ip", "netns", "exec", tag + n] if bridge else []
    uts = ["unshare", "--uts"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--uts"]
    return within + uts + ["sh", "-c", 'hostname "$1"; shift; exec "$@"', "-", n] + words


def end(*_):
    raise SystemExit("told to end")


for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, end)
why_not = make_networks()
if why_not:
    print("# nodes share one network: " + why_not)
address = net + ".1" if bridge else "127.0.0.1"

# ---- the parts ----

parts, running = {}, {}


def start(name):
    log = open(place(name + ".log"), "a")
    running[name] = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--"] + parts[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place("shared"), start_new_session=True)


def part(kind, name, words):
    parts[kind + ":" + name] = words


call("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", place("key"), "-out", place("cert"), "-days", "2",
    "-subj", "/CN=" + address, "-addext", "subjectAltName=DNS:%s,IP:%s" % (address, address), stderr=subprocess.DEVNULL)
open(place("c.token"), "w").write("secret\n")
tokens = {}
for c in streams:
    for n in names:
        tokens[n] = call(stemma, "--store", place(c), "collect", "--add-node", n, "--host", n).strip()
        open(place(n + ".token"), "w").write(tokens[n] + "\n")
taken = [socket.socket() for _ in range(6)]
for s in taken:
    s.bind((address, 0))
ports = [s.getsockname()[1] for s in taken]
for s in taken:
    s.close()
hosts = ",".join("%s:%d" % (address, p) for p in ports[:3])
users = ""
for n in names:
    may = ", ".join('"%s.frames.%s", "$JS.API.CONSUMER.INFO.%s.collector"' % (c, n, c) for c in streams)
    hears = ", ".join('"%s.answer.%s", "%s.inbox.%s.>"' % (c, n, c, n) for c in streams)
    users += '  { user: "%s", password: "%s", permissions: { publish: [%s], subscribe: [%s] } }\n' % (n, tokens[n], may, hears)
for i in range(3):
    open(place("nats%d.conf" % i), "w").write("""
server_name: s%d
listen: %s:%d
max_payload: 2MB
tls { cert_file: "%s", key_file: "%s" }
jetstream { store_dir: "%s" }
cluster { name: site, listen: %s:%d, routes: [%s] }
accounts { SITE { jetstream: enabled, users: [ { user: collector, password: secret }
%s ] } }
""" % (i, address, ports[i], place("cert"), place("key"), place("js%d" % i), address, ports[3 + i], ", ".join("nats://%s:%d" % (address, p) for p in ports[3:]), users))
    part("nats", str(i), ["nats-server", "-c", place("nats%d.conf" % i)])
for c in streams:
    part("collector", c, [stemma, "--store", place(c), "collect", "--from", "nats://collector@%s/%s" % (hosts, c), "--token", place("c.token"), "--ca", place("cert"),
        "--watch", "--interval", "50ms", "--replicas", "3"])
for b in "XY":
    os.makedirs(place("to" + b))
    part("receiver", b, [stemma, "--store", place(b), "collect", "--from", place("to" + b), "--watch", "--interval", "50ms"])
    part("builder", b, [stemma, "--store", place(b), "site", "load", "--watch", "--interval", "300ms", "--take-over", "4s", "postgresql:///site"])
    for c in streams:
        part("relay", c + b, [stemma, "--store", place(c), "ship", "--collected", "--to", place("to" + b), "--watch", "--interval", "50ms"])
at_collector = {n: streams[i % 2] for i, n in enumerate(names)}


def shipper(n):
    part("shipper", n, on(n, [stemma, "--store", place(n), "ship", "--to", "nats://%s@%s/%s" % (n, hosts, at_collector[n]), "--token", place(n + ".token"), "--ca",
        place("cert"), "--watch", "--interval", "100ms"]))


for n in names:
    shipper(n)

# ---- what the nodes do ----

WORK = """
i=0
while :; do
    i=$((i + 1))
    STEMMA run -q -- sh -c "cat NAME.* >NAME.sum 2>/dev/null; for k in 1 2 3; do head -c 1000 *.sum >NAME.\\$k.$i 2>/dev/null; done; sort NAME.sum | head -n 20 >both"
    rm -f NAME.*.$((i - 3))
    sleep PAUSE
done
"""
for n in names:
    text = WORK.replace("STEMMA", shlex.join([stemma, "--store", place(n)])).replace("NAME", n).replace("PAUSE", "%.2f" % (0.2 * n_nodes))
    part("recorder", n, on(n, ["sh", "-c", text]))

# ---- what is compared: the rows of both, with public ids in the place of row numbers ----

# A table, and what it is joined with; texts; numbers.
TABLES = {
    "run": ("run a", "a.ulid a.outer_run a.argv a.cwd a.user a.user_group a.host a.mode a.ending a.labels",
        "a.began a.ended a.code a.executions a.inputs a.outputs a.recorder_cpu a.traps"),
    "execution": ("execution a LEFT JOIN run r ON r.id = a.run LEFT JOIN execution p ON p.id = a.parent LEFT JOIN file f ON f.id = a.exe LEFT JOIN file s ON s.id = a.script",
        "a.pub r.ulid p.pub f.pub s.pub a.argv a.cwd a.host a.user a.user_group a.job a.step a.rank a.ending",
        "a.pid a.n a.began a.ended a.code a.cpu a.user_time a.system_time a.rss a.rchar a.wchar a.read_bytes a.write_bytes"),
    "file": ("file a", "a.pub a.kind a.path a.domain", "a.named a.ino a.gen a.versions a.network"),
    "version": ("version a JOIN file f ON f.id = a.file", "a.pub f.pub a.origin", "a.n a.size a.mtime a.began a.ended"),
    "access": ("access a JOIN execution e ON e.id = a.execution JOIN file f ON f.id = a.file LEFT JOIN version g ON g.id = a.generated LEFT JOIN version u ON u.id = a.used",
        "e.pub f.pub g.pub u.pub a.session a.mode a.api a.via a.evidence", "a.seq a.sure a.began a.ended a.count a.bytes_read a.bytes_written a.uses a.part"),
    "used": ("edge a JOIN execution e ON e.id = a.from_id JOIN version v ON v.id = a.to_id WHERE a.type = 'used'", "e.pub v.pub a.certainty a.evidence a.via a.api",
        "a.lo a.hi a.count a.bytes a.part"),
    "made": ("edge a JOIN version v ON v.id = a.from_id JOIN execution e ON e.id = a.to_id WHERE a.type = 'wasGeneratedBy'", "v.pub e.pub a.certainty a.evidence a.via a.api",
        "a.lo a.hi a.count a.bytes a.part"),
    "derived": ("edge a JOIN version v ON v.id = a.from_id JOIN version w ON w.id = a.to_id WHERE a.type = 'wasDerivedFrom'", "v.pub w.pub a.certainty a.evidence a.via", "a.lo a.hi"),
    "informed": ("edge a JOIN execution e ON e.id = a.from_id JOIN execution x ON x.id = a.to_id WHERE a.type = 'wasInformedBy'", "e.pub x.pub a.certainty a.evidence a.via",
        "a.lo a.hi"),
    "edge": ("edge a", "a.type", "a.lo"),
    "name": ("name a JOIN file f ON f.id = a.file", "a.path f.pub a.host", "a.began a.ended"),
    "gap": ("gap a LEFT JOIN execution e ON e.id = a.execution LEFT JOIN run r ON r.id = a.run", "e.pub r.ulid a.reason a.text", "a.count a.began a.ended"),
}


def query(text, number):
    def cells(how, columns):
        return [how.replace("%", c.split(".")[0] + '."' + c.split(".")[1] + '"') for c in columns.split()]
    return " UNION ALL ".join("SELECT '%s|' || %s AS r FROM %s" % (name, " || '|' || ".join(cells(text, texts) + cells(number, numbers)), source)
        for name, (source, texts, numbers) in TABLES.items())


OF_SQLITE = query("CASE WHEN % IS NULL THEN '-' ELSE hex(CAST(% AS BLOB)) END", "coalesce(%, '-')")
OF_POSTGRES = "SET LOCAL search_path = stemma, pg_catalog; " + query("coalesce(upper(encode(convert_to(%, 'SQL_ASCII'), 'hex')), '-')", "coalesce(%::text, '-')")


def rows_of(home):
    return sorted(json.loads(line)["r"] for line in call(stemma, "--store", home, "sql", "--jsonl", OF_SQLITE, stderr=subprocess.DEVNULL).splitlines())


def database():
    """Of one state: (session -> its events), rows. None: it cannot be asked now, or has nothing yet."""
    global why_none
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "site", "-c", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "-c",
        "SELECT 'session|' || number || '|' || events FROM stemma_load.session", "-c", OF_POSTGRES, "-c", "COMMIT"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        why_none = done.stderr.strip()[:200]
        return None
    lines = done.stdout.splitlines()
    of = {int(s.split("|")[1]) & (1 << 64) - 1: int(s.split("|")[2]) for s in lines if s.startswith("session|")}
    return of, sorted(s for s in lines if not s.startswith("session|"))


def all_frames():
    """host -> (session, number) -> bytes: what the nodes have on disk."""
    return {n: frames(place(n, "logs"), torn=True) if os.path.isdir(place(n, "logs")) else {} for n in names}


def last_event(frame):
    seq, count = struct.unpack_from("<QI", frame, SEQ)[0], struct.unpack_from("<I", frame, COUNT)[0]
    return seq + count - 1


def record_of(recorded, events=None):
    """A record of the nodes' frames, or of those whose events are among the first so many of their session. Its folder, and sessions -> events."""
    home = tempfile.mkdtemp(dir=top)
    have = {}
    for n in names:
        os.makedirs(os.path.join(home, "logs", n, "d"))
        with open(os.path.join(home, "logs", n, "d", "0.stl"), "wb") as out:
            for (session, _), copies in sorted(recorded[n].items()):
                best = max(copies, key=len)
                if events is None or last_event(best) <= events.get(session, 0):
                    out.write(best)
                    have[session] = max(have.get(session, 0), last_event(best))
    return home, have


# ---- faults ----

problems, killed, looks, partly, why_none = [], {}, 0, 0, ""


def control(what):
    return subprocess.run([*shlex.split(os.environ["PG_CONTROL"]), what], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def send_signal(name, number):
    try:
        os.killpg(running[name].pid, number)
    except ProcessLookupError:
        pass


def kill(name, number=signal.SIGKILL):
    send_signal(name, number)
    running.pop(name).wait()


def fault():
    kind = rng.choice(["nats", "shipper", "recorder", "collector", "relay", "receiver", "builder", "builder", "database", "stop", "network", "move"])
    killed[kind] = killed.get(kind, 0) + 1
    if kind == "database":
        control("kill")
        time.sleep(rng.uniform(0, 1))
        control("start")
    elif kind == "stop":  # a builder is dead for others, and is not
        name = "builder:" + rng.choice("XY")
        send_signal(name, signal.SIGSTOP)
        time.sleep(rng.uniform(0, 8))
        send_signal(name, signal.SIGCONT)
    elif kind == "network":
        n = rng.choice(names)
        link(n, "down")
        time.sleep(rng.uniform(0, 3))
        link(n, "up")
    elif kind == "move":  # a node goes to the other collector
        n = rng.choice(names)
        kill("shipper:" + n)
        at_collector[n] = streams[1 - streams.index(at_collector[n])]
        shipper(n)
        start("shipper:" + n)
    else:
        name = rng.choice([p for p in parts if p.startswith(kind + ":")])
        kill(name)
        time.sleep(rng.uniform(0, 1.5))
        start(name)


def differences(want, have):
    missing, extra = sorted(set(want) - set(have)), sorted(set(have) - set(want))
    twice = len(have) - len(set(have)) - (len(want) - len(set(want)))
    return "" if want == have else "%d rows, not %d; missing %d: %s; extra %d: %s; doubled %d" % (len(have), len(want), len(missing), missing[:3], len(extra), extra[:3], twice)


def look():
    """The database is the record of the events that it says it has."""
    global looks, partly
    seen = database()
    if not seen or not seen[0]:
        return
    recorded = all_frames()
    home, have = record_of(recorded, seen[0])
    if have != {s: e for s, e in seen[0].items() if e}:
        problems.append("sessions: %s" % sorted(set(have.items()) ^ set(seen[0].items()))[:4])
    complaint = differences(rows_of(home), seen[1])
    if complaint:
        problems.append("wrong: " + complaint)
    looks += 1
    partly += len(have) < len({s for f in recorded.values() for s, _ in f})
    subprocess.run(["rm", "-rf", home])


def finish():
    for name in [p for p in running if p.startswith("recorder:")]:
        kill(name, signal.SIGTERM)
    time.sleep(2)
    home, want = record_of(all_frames())
    rows, complaint = rows_of(home), "nothing was loaded"
    last = time.time() + PATIENCE
    while complaint and time.time() < last:
        time.sleep(1)
        seen = database()
        complaint = differences(rows, seen[1]) if seen else "the database does not answer: " + why_none
    if complaint:
        problems.append("at the end: " + complaint)
    for b in "XY":
        twice = [k for k, v in frames(place(b, "logs"), torn=True).items() if len(set(v)) < len(v)]
        if twice:
            problems.append("builder %s has %d frames twice" % (b, len(twice)))
    return len(rows), sum(want.values()), len(want)


try:
    for name in parts:
        if not name.startswith("recorder:") and not name.startswith("shipper:"):
            start(name)
    for n in names:  # a shipper needs a record
        subprocess.run(on(n, [stemma, "--store", place(n), "run", "-q", "--", "true"]), check=True, cwd=place("shared"), **quiet)
        start("recorder:" + n)
        start("shipper:" + n)
    last = time.time() + seconds
    next_look = time.time() + 5
    while time.time() < last and not problems:
        time.sleep(rng.uniform(0.2, 1.5))
        for _ in range(rng.choice((1, 1, 2))):
            fault()
        if time.time() > next_look:
            look()
            next_look = time.time() + 10
    n_rows, n_events, n_sessions = finish()
finally:
    for name in list(running):
        send_signal(name, signal.SIGCONT)
        kill(name)
    remove_networks()
for line in problems:
    print("# " + line[:2000])
print("# faults: %s; %d of %d looks were before all had come" % (", ".join("%s %d" % (k, v) for k, v in sorted(killed.items())), partly, looks))
print("%-6d %-6d %-7d %-8d %-8d %-8d %-6d %d" % (seed, seconds, sum(killed.values()), n_sessions, n_events, n_rows, looks, len(problems)))
sys.exit(1 if problems else 0)
