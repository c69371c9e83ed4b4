#!/usr/bin/env python3
"""node_delay.py BUILD... [--times N] - what it costs the record that the tracer reads the kernel's queue by time, as
Markdown. As root.

A folder is made, a file in it is written and closed; some ms later another process reads the file, and as long after
that both are removed. For each such time: of how many files the path was not told, and of how many it was told that
the reading came after the writing, rather than both between the same two reads."""
import argparse, os, re, shutil, subprocess, sys, tempfile, time

DELAYS = (0, 5, 10, 20, 50)

def work(folder, times):
    ask, answer = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(ask[1])
        while n := os.read(ask[0], 64):
            fd = os.open(n.decode().strip(), os.O_RDONLY)
            os.read(fd, 10)
            os.close(fd)
            os.write(answer[1], b'x')
        os._exit(0)
    os.chdir(folder)
    for i in range(times):
        for ms in DELAYS:
            name = f'd{ms}-{i}/f{ms}-{i}'
            os.mkdir(f'd{ms}-{i}')
            fd = os.open(name, os.O_WRONLY | os.O_CREAT)
            os.write(fd, b'some bytes')
            os.close(fd)
            print(ms, os.path.abspath(name), os.stat(name).st_ino)
            time.sleep(ms / 1000)
            os.write(ask[1], os.path.abspath(name).encode())
            os.read(answer[0], 1)
            time.sleep(ms / 1000)
            os.unlink(name)
            os.rmdir(f'd{ms}-{i}')

def main():
    parser = argparse.ArgumentParser(usage='node_delay.py BUILD... [--times N]')
    parser.add_argument('builds', nargs='+')
    parser.add_argument('--times', type=int, default=100)
    parser.add_argument('--work', help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.work:
        return work(o.work, o.times)
    print('| build | ms | files | path not told | reading told to be after writing |\n|---|---|---|---|---|')
    for build in o.builds:
        folder = tempfile.mkdtemp(prefix='stemma-bench.', dir='/dev/shm')
        try:
            out = f'{folder}/truth'
            # Its standard output is the events; the work's own goes to a file.
            r = subprocess.run([os.path.join(build, 'tests/stemma-tracetext'), '--', 'sh', '-c', 'exec "$@" >"$0"', out, sys.executable,
                                os.path.abspath(__file__), 'x', '--times', str(o.times), '--work', folder],
                               stdout=subprocess.PIPE, text=True)
            if r.returncode:
                sys.exit(f'node_delay: stemma-tracetext ended with {r.returncode}')
            # Inodes of a tmpfs are not used again.
            truth = {ino: (int(ms), path) for ms, path, ino in (line.split() for line in open(out))}
        finally:
            shutil.rmtree(folder)
        wrote, read, paths = {}, {}, {}
        for line in r.stdout.splitlines():
            m = re.match(r'file pid=(\d+) .* lo=(\d+) hi=(\d+).* ops=(\S+) path="([^"]*)" .*id=\w+:(\d+):', line)
            if not m or m[6] not in truth:
                continue
            ops = m[4].split(',')
            if 'closed_write' in ops:
                wrote[m[6]] = int(m[3])
                paths[m[6]] = m[5]
            if 'closed_read' in ops:
                read[m[6]] = int(m[2])
        for ms in DELAYS:
            these = [ino for ino in truth if truth[ino][0] == ms]
            print(f'| {os.path.basename(os.path.normpath(build))} | {ms} | {len(these)} | {sum(paths.get(ino) != truth[ino][1] for ino in these)} | '
                  f'{sum(ino in wrote and ino in read and read[ino] >= wrote[ino] for ino in these)} |', flush=True)
main()
