#!/usr/bin/env python3
"""node_daemon.py BUILD... [--rounds N] [--seconds S] - what stemmad and its helper take of a processor for an event, as
Markdown. As root; its base and socket are its own.

Each round starts the daemon of each build, one after the other, and lets a process make, write, read and remove files
in a folder of /dev/shm: as fast as it can, then evenly at 5,000 and at 100 events a second. At last a script takes the output of
one program after the other. Only that file system
is watched, but processes are the whole node's: what others start is counted as events, too, and shown. CPU time is the
kernel's, to the nanosecond (schedstat). Middle of the rounds, with the least and the most; where there are two builds,
the ratio is made within the round. At 100 a second there is hardly anything to do but wake up, so what a second takes
there, over what it takes at 5,000, is the share of waking up."""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time

WORKS = ('burst', 5000, 100, 'programs')
NAMES = {'burst': 'as many as can be', 'programs': "a script that takes programs' output"}

def cpu(pid):
    """ns of all threads, and how often they waited."""
    ns = waits = 0
    for task in os.listdir(f'/proc/{pid}/task'):
        ns += int(open(f'/proc/{pid}/task/{task}/schedstat').read().split()[0])
        for line in open(f'/proc/{pid}/task/{task}/status'):
            if line.startswith('voluntary_ctxt'):
                waits += int(line.split()[1])
    return ns, waits

def one_file(folder, i):
    name = f'{folder}/f{i}'
    for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDONLY):
        fd = os.open(name, flags, 0o600)
        os.write(fd, b'some bytes') if flags != os.O_RDONLY else os.read(fd, 64)
        os.close(fd)
    os.unlink(name)

def programs(folder, seconds):
    """One script that keeps running, as those do whose pipes add up."""
    script = subprocess.Popen(['/bin/sh', '-c', 'while x=$(/bin/echo a); do :; done'], cwd=folder)
    time.sleep(seconds)
    script.terminate()
    script.wait()

def work(folder, rate, seconds):
    """rate: files a second; 0, as many as can be."""
    began, i = time.monotonic(), 0
    while (t := time.monotonic() - began) < seconds:
        due = i + 64 if not rate else int(t * rate)
        while i < due:
            one_file(folder, i)
            i += 1
        if rate:
            time.sleep(0.001)
    return i

class Daemon:
    def __init__(self, build, folder):
        self.program = os.path.join(build, 'src/daemon/stemmad')
        self.env = dict(os.environ, STEMMA_NODE_SOCKET=f'{folder}/run/socket')
        self.log = open(f'{folder}/said', 'w')
        self.process = subprocess.Popen([self.program, '-o', f'base={folder}/base', '-o', f'run={folder}/run', '-o', 'mount=/dev/shm',
                                         '-o', 'max_cpu=1000', '-o', 'max_events=10000000'], stderr=self.log, env=self.env)
        for _ in range(1200):
            if self.process.poll() is not None:
                sys.exit('node_daemon: stemmad cannot run: ' + open(f'{folder}/said').read())
            if self.ask('--stats'):
                break
            time.sleep(0.05)
        children = open(f'/proc/{self.process.pid}/task/{self.process.pid}/children').read().split()
        self.helper = int(children[0])

    def ask(self, what):
        return subprocess.run([self.program, what], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def figures(self):
        """Events of files, of processes; times at which any were lost; ns and waits of both."""
        text = {}
        for line in self.ask('--stats').splitlines():
            text.setdefault(line.partition(' ')[0], line)
        n = [int(w.strip('(')) for w in text['events'].split() if w.strip('(').isdigit()]
        lost = sum(int(w) for w in text['lost'].split() if w.isdigit())
        a, b = cpu(self.process.pid), cpu(self.helper)
        return n[4], n[0] - n[4], lost, a[0], b[0], a[1] + b[1]

    def end(self):
        self.process.terminate()
        self.process.wait()

def measure(daemon, folder, what, seconds):
    rate = 0
    if what not in NAMES:
        # The kernel merges equal events, so how many come of a file is tried first, at about that rate.
        a = daemon.figures()
        n = work(folder, what / 3, 1)
        time.sleep(0.3)
        rate = what * n / max(daemon.figures()[0] - a[0], 1)
    a, began = daemon.figures(), time.monotonic()
    programs(folder, seconds) if what == 'programs' else work(folder, rate, seconds)
    took = time.monotonic() - began
    time.sleep(0.3) # the last is read and told
    b = daemon.figures()
    files, others, lost, ns, helper, waits = (y - x for x, y in zip(a, b))
    return {'files': files / took, 'others': others / took, 'each': (ns + helper) / 1000 / max(files + others, 1),
            'share': 100 * (ns + helper) / 1e9 / took, 'helper': 100 * helper / max(ns + helper, 1), 'waits': waits / took,
            'lost': lost}

def main():
    parser = argparse.ArgumentParser(usage='node_daemon.py BUILD... [--rounds N] [--seconds S]')
    parser.add_argument('builds', nargs='+')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=4)
    o = parser.parse_args()
    found = {}
    base = tempfile.mkdtemp(prefix='stemma-bench.', dir='/dev/shm')
    daemon = None
    try:
        for _ in range(o.rounds):
            for build in o.builds:
                folder = tempfile.mkdtemp(dir=base)
                # Its logs are on another file system, which is not watched.
                state = tempfile.mkdtemp(prefix='stemma-bench.', dir=os.environ.get('TMPDIR', '/var/tmp'))
                try:
                    daemon = Daemon(build, state)
                    for what in WORKS:
                        found.setdefault((build, what), []).append(measure(daemon, folder, what, o.seconds))
                finally:
                    if daemon:
                        daemon.end()
                        daemon = None
                    shutil.rmtree(state)
    finally:
        shutil.rmtree(base)
    def middle(build, what, key, form):
        v = [r[key] for r in found[build, what]]
        return f'{statistics.median(v):{form}} ({min(v):{form}} … {max(v):{form}})'
    print(f'CPU time of stemmad and its helper; {o.rounds} rounds of {o.seconds:g} s, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors.\n')
    print('| build | work | events of files a second | others\' | an event, us | of a processor, % | the helper\'s part, % | waits a second | lost |')
    print('|---|---|---|---|---|---|---|---|---|')
    for build in o.builds:
        for what in WORKS:
            print(f'| {os.path.basename(os.path.normpath(build))} | {NAMES.get(what, f"{what} a second")} | '
                  f'{middle(build, what, "files", ".0f")} | {middle(build, what, "others", ".0f")} | {middle(build, what, "each", ".1f")} | '
                  f'{middle(build, what, "share", ".1f")} | {middle(build, what, "helper", ".0f")} | {middle(build, what, "waits", ".0f")} | '
                  f'{sum(r["lost"] for r in found[build, what])} |')
    print()
    for build in o.builds:
        v = [100 * b['share'] / a['share'] for a, b in zip(found[build, 5000], found[build, 100])]
        print(f'{os.path.basename(os.path.normpath(build))}: a second with 100 events takes {statistics.median(v):.0f} % ({min(v):.0f} … {max(v):.0f}) of one with 5,000.')
    for build in o.builds[1:]:
        for what in WORKS:
            v = [b['each'] / a['each'] for a, b in zip(found[o.builds[0], what], found[build, what])]
            print(f'{os.path.basename(os.path.normpath(build))} over {os.path.basename(os.path.normpath(o.builds[0]))}, {what}: '
                  f'{statistics.median(v):.2f} ({min(v):.2f} … {max(v):.2f})')
main()
