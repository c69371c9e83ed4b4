#!/usr/bin/env python3
"""serve_load.py STEMMA RECORD [SECONDS] - what `stemma serve` costs on that record: requests of /why for each second of a core, and the memory of
its processes.

RECORD is made by stemma-growth, `run N` once or more (tests/growth.c). CPU times are those of the server and its workers; the client's
are not counted. Memory is what the processes have of their own, then all that is resident, the mapped pages of the index with it.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 't'))
from serve import Server, quoted, read_answer  # pylint: disable=wrong-import-position

TICK = os.sysconf('SC_CLK_TCK')


def cpu(server):
    """Seconds of the server and those of its children that are there or were waited for."""
    total = 0
    for pid in [server.process.pid, *server.workers()]:
        with open('/proc/%d/stat' % pid, encoding='ascii', errors='replace') as text:
            fields = text.read().rsplit(')', 1)[1].split()
        total += sum(int(n) for n in fields[11:15 if pid == server.process.pid else 13])
    return total / TICK


def memory(server):
    """Bytes: anonymous, and all that is resident."""
    anonymous = resident = 0
    for pid in [server.process.pid, *server.workers()]:
        with open('/proc/%d/smaps_rollup' % pid, encoding='ascii') as text:
            for line in text:
                words = line.split()
                anonymous += int(words[1]) * 1024 if words[0] == 'Anonymous:' else 0
                resident += int(words[1]) * 1024 if words[0] == 'Pss:' else 0
    return anonymous, resident


def load(server, targets, seconds, headers=()):
    """Requests on 16 connections, one after the other on each, for so long: requests, CPU seconds, the most memory."""
    connections = [server.connect() for _ in range(16)]
    requests = [server.request(target, **dict(headers)) for target in targets]
    before, end, n, most = cpu(server), time.monotonic() + seconds, 0, (0, 0)
    while time.monotonic() < end:
        for k, c in enumerate(connections):
            c.sendall(requests[(n + k) % len(requests)])
        for c in connections:
            status = read_answer(c).status
            if status not in (200, 304):
                sys.exit('status %d' % status)
        n += len(connections)
        if n % 1024 == 0:
            most = max(most, memory(server))
    spent = cpu(server) - before
    for c in connections:
        c.close()
    return n, spent, max(most, memory(server))


def main():
    stemma, record = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    with Server(stemma, record) as server:
        targets = ['api/v1/why?file=' + quoted(path) for path in paths(server)]
        print('| what | requests/s of a core | of its own | with the mapped index |')
        print('|---|---|---|---|')
        for what, some, headers in (('/why, many files', targets, ()), ('/why, one file', targets[:1], ()), ('openapi.json', ['api/v1/openapi.json'], ())):
            n, spent, (anonymous, resident) = load(server, some, seconds, headers)
            print('| %s | %d | %.1f MB | %.1f MB |' % (what, n / spent, anonymous / 1e6, resident / 1e6))


def paths(server):
    """Files that stemma-growth made, of all its runs."""
    runs = len(server.get('api/v1/runs?limit=1000').json()['runs'])
    return ['/w/%d/%d/out%d' % (k % runs, k * 157 // 1000, k * 157) for k in range(1000)]


main()
