#!/bin/sh
# stemma serve under faults: crowds, clients that are slow or leave, questions that never end, workers that die, a record that
# grows, is forgotten from and made anew.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAABIG', argv=['make'])
top = h.process(); h.exec(top, ['make'], exe='/usr/bin/make')
for i in range(1500):
    p = h.process(top); h.exec(p, ['step', str(i), 'x' * 400], exe='/usr/bin/step')
    h.read(p, h.file('/w/f%d' % i, size=None if i else 1)); h.write(p, h.file('/w/f%d' % (i + 1)), size=2); h.exit(p)
h.exit(top); h.end(); h.save(home, evtext)
END

serving <<'END'
want = {k: told('why', '--json', '/w/f%d' % (k + 1)) for k in range(8)}
cons = [s.connect() for k in range(1000)]
for k, c in enumerate(cons):
    c.sendall(s.request('api/v1/why?file=/w/f%d' % (k % 8 + 1)))
for k, c in enumerate(cons):
    a = read_answer(c)
    assert a.status == 200 and a.json() == want[k % 8], (k, a.status, a.body[:200])
for c in cons:
    c.close()
with s.connect() as c:
    for k in range(200):  # one connection, one after the other
        c.sendall(s.request('api/v1/why?file=/w/f%d' % (k % 8 + 1)))
        assert read_answer(c).json() == want[k % 8]
    c.sendall(b''.join(s.request('api/v1/why?file=/w/f%d' % (k % 8 + 1)) for k in range(20)))  # all at once
END
check '1,000 requests at once, and many on one connection'
serving <<'END'
slow = []
for part in (b'', b'G', s.request('api/v1/runs')[:-2], s.request('api/v1/runs')[:20]):  # which send no whole request
    for k in range(50):
        c = s.connect(); c.sendall(part); slow.append(c)
lazy = []
for k in range(20):  # which read nothing of a large answer
    c = s.connect(4096); c.sendall(s.request('api/v1/lineage?file=/w/f1500&all=1')); lazy.append(c)
for k in range(300):  # which leave
    c = s.connect(); c.sendall(s.request('api/v1/lineage?file=/w/f1500')); c.close()
for k in range(20):
    assert s.get('api/v1/why?file=/w/f%d' % (k + 1)).status == 200
first = slow[-1]
first.sendall(s.request('api/v1/runs')[20:])
assert read_answer(first).status == 200, 'who was slow gets an answer, too'
for c in slow[:-1]:  # they are ended
    try:
        while c.recv(1000): pass
    except ConnectionError:
        pass
for c in lazy:
    c.close()
assert s.get('api/v1/runs').status == 200 and s.stop() == 0
END
check 'who sends slowly, reads nothing or leaves stops nobody'
serving --timeout 2s <<'END'
assert s.get('api/v1/runs').status == 200
def stop_all():
    for pid in s.workers():
        os.kill(pid, signal.SIGSTOP)
s.until(lambda: len(s.workers()) == 1)  # no other than the worker is left
stop_all()
a = s.get('api/v1/why?file=/w/f3')
assert a.status == 504 and 'too long' in a.json()['detail'], a.body
assert s.get('api/v1/why?file=/w/f3').status == 200
s.until(lambda: len(s.workers()) == 1)
with s.connect() as c:
    stop_all()
    c.sendall(s.request('api/v1/why?file=/w/f3'))
    time.sleep(0.2)
    for pid in s.workers():
        os.kill(pid, signal.SIGKILL)
    assert read_answer(c).status in (200, 500)
assert s.get('api/v1/why?file=/w/f3').status == 200
END
check 'a question that takes too long ends alone; so does a worker that dies'
serving --memory 64M <<'END'
got = [s.get('api/v1/lineage?file=/w/f1500&all=1').status for k in range(3)]
assert set(got) <= {200, 507}, got
assert s.get('api/v1/why?file=/w/f3').status == 200
END
check 'memory of an answer is bounded'
serving <<'END'
def grow(k):
    code = ("import sys; sys.path.insert(0, '%s/t'); from history import *; home, evtext = '%s', '%s'\n"
            "h = History('01AAAAAAAAAAAAAAAAAAAAN%03d', argv=['new'], start=%d)\n"
            "p = h.process(); h.exec(p, ['new'], exe='/usr/bin/new'); h.read(p, h.file('/w/f7', size=2)); h.write(p, h.file('/w/new%d'), size=3); h.exit(p); h.end(); h.save(home, evtext)"
            % (here, home, os.environ.get('STEMMA_EVTEXT') or os.path.join(os.path.dirname(stemma), '../../tests/stemma-evtext'), k, 10**6 + k * 1000, k))
    subprocess.run([sys.executable, '-B', '-c', code], check=True)
stop = False
def ask(k):
    seen = {}
    while not stop:
        for target in ('runs', 'why?file=/w/f9', 'why?file=/w/new1', 'lineage?file=/w/f9', 'find?q=used+/w/f7', 'run/@'):
            status = s.get('api/v1/' + target).status
            seen[status] = seen.get(status, 0) + 1
    return seen
with ThreadPoolExecutor(4) as pool:
    asked = [pool.submit(ask, k) for k in range(3)]
    try:
        for k in range(3):
            grow(k)
            s.until(lambda: s.get('api/v1/why?file=/w/new%d' % k).status == 200)
            subprocess.run([stemma, 'index', '--rebuild'], check=True, stdout=subprocess.DEVNULL)
            s.until(lambda: s.get('api/v1/why?file=/w/new%d' % k).status == 200)
        s.until(lambda: s.get('api/v1/find?q=used+/w/f7').json() == told('find', '--json', 'used /w/f7'))
        subprocess.run([stemma, 'forget', '01AAAAAAAAAAAAAAAAAAAAN001'], check=True, stdout=subprocess.DEVNULL)
        s.until(lambda: s.get('api/v1/why?file=/w/new1').status == 404)
        assert s.get('api/v1/runs?cursor=01AAAAAAAAAAAAAAAAAAAAN001').status == 410
    finally:
        stop = True
    seen = [a.result() for a in asked]
assert set().union(*seen) <= {200, 404, 503} and all(a[200] > 3 for a in seen), seen
assert s.get('api/v1/runs').json() == told('log', '--json') and s.get('api/v1/why?file=/w/new2').json() == told('why', '--json', '/w/new2')
END
check 'the record grows, is made anew and forgotten from: each answer is of one state of it'
serving <<'END'
with s.connect() as c:
    c.sendall(s.request('api/v1/lineage?file=/w/f1500&all=1'))
    pids = s.workers()
    assert s.stop(signal.SIGINT) == 0
s = Server(stemma, home)
s.get('api/v1/runs')
pids += s.workers()
s.stop(signal.SIGKILL)
def gone(pid):
    try:
        return open('/proc/%d/stat' % pid).read().split(')')[1].split()[0] == 'Z'
    except OSError:
        return True
assert pids
s.until(lambda: all(gone(pid) for pid in pids))
END
check 'its end: by a signal, in the middle; by a kill; no worker stays'
finish
