#!/bin/sh
# stemma serve: what changes is told to those who listen (server-sent events), bounded: how far runs are, and what they use now.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

history <<'END'
for k in range(50):  # so that an event is large enough to fill the buffers of who does not read
    h = History('01AAAAAAAAAAAAAAAAAAAAA%03d' % k, argv=['./old.sh', str(k)], start=k * 100)
    p = h.process(); h.exec(p, ['./old.sh', '<b>'], exe='/usr/bin/old'); h.write(p, h.file('/w/old%d' % k), size=k); h.exit(p, code=k % 2); h.end(); h.save(home, evtext)
END
cat >"$T/listen.py" <<'END'
import select
class Listener:
    """Reads events: [(name, data)], as they come."""
    def __init__(self, s, **how):
        self.c = s.connect()
        self.c.sendall(s.request('api/v1/events', **how))
        self.text, self.events, self.over = b'', [], False
        while b'\r\n\r\n' not in self.text: self.take()
        self.head, self.text = self.text.split(b'\r\n\r\n', 1)
    def take(self):
        part = self.c.recv(65536)
        if not part: raise EOFError(self.text[:300])
        self.text += part
    def next(self):
        while True:
            plain = re.sub(rb'(?:^|\r\n)[0-9a-fA-F]+\r\n', b'', self.text)  # of chunks only the bytes
            whole = plain.split(b'\n\n')[:-1]
            events = [w for w in whole if b'event: ' in w]
            if len(events) > len(self.events):
                e = events[len(self.events)].decode()
                self.events.append(e)
                name, data = re.search(r'event: (\S+)\ndata: (.*)', e, re.S).groups()
                return name, json.loads(data)
            self.take()
    def until(self, holds):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            name, data = self.next()
            assert name == 'progress' and data['format'] == 1, data
            if holds(data['runs']): return data['runs']
        raise TimeoutError(self.events[-1])
    def close(self): self.c.close()
END
listening()
{
	{
		echo "import re, socket, time; exec(open(T + '/listen.py').read())"
		cat
	} >"$T/listening"
	serving "$@" <"$T/listening"
}
listening <<'END'
a = s.get('api/v1/progress').json()
assert a['format'] == 1 and len(a['runs']) == 50 and a['runs'][0]['id'].endswith('049') and a['runs'][0]['exit'] == {'status': 0} and a['runs'][0]['recording'] == 'ended' and 'now' not in a['runs'][0], a['runs'][0]
l = Listener(s)
head = l.head.decode().lower()
assert head.split('\r\n')[0].split()[1] == '200' and 'content-type: text/event-stream' in head and "default-src 'none'" in head and 'private' in head and 'access-control' not in head, head
assert l.until(lambda runs: True) == a['runs']
code = ("import sys; sys.path.insert(0, '%s/t'); from history import *; home, evtext = '%s', '%s'\n"
        "h = History('01AAAAAAAAAAAAAAAAAAAAANEW', argv=['new'], start=1000000)\n"
        "p = h.process(); h.exec(p, ['new'], exe='/usr/bin/new'); h.exit(p); h.end(); h.save(home, evtext)"
        % (here, home, os.environ.get('STEMMA_EVTEXT') or os.path.join(os.path.dirname(stemma), '../../tests/stemma-evtext')))
subprocess.run([sys.executable, '-B', '-c', code], check=True)
l.until(lambda runs: runs[0]['id'].endswith('NEW'))
l.close()
for method in ('POST', 'PUT'): assert s.get('api/v1/events', method, body=b'x').status == 405
assert s.get('api/v1/events?x=1').status == 400 and s.get('api/v1/events', token=False).status == 401 and s.get('api/v1/events', Origin='http://evil.example').status == 403
assert s.get('api/v1/events', 'HEAD').status == 200
assert '/api/v1/events' in s.get('api/v1/openapi.json').json()['paths']
END
check 'who listens is told the runs, and a new one; only who has the token'
listening <<'END'
p = subprocess.Popen([stemma, 'run', '-q', '--', 'sh', '-c', 'while :; do :; done & sleep 600'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
try:
    s.until(lambda: p.poll() is not None or [r for r in s.get('api/v1/progress').json()['runs'] if r['recording'] == 'running'])
    if p.poll() is not None:
        print('# nothing can be recorded here')
    else:
        l = Listener(s)
        [run] = [r for r in l.until(lambda runs: [r for r in runs if r['recording'] == 'running' and r.get('now', {}).get('processes', 0) >= 3]) if r['recording'] == 'running']
        now = run['now']
        assert now['memory_resident'] > 100000 and now['complete'] and now['threads'] >= 3 and run['executions'] >= 2 and 'end' not in run or run['end'] is None, run
        busy = now['cpu_time']
        l.until(lambda runs: [r for r in runs if r.get('now', {}).get('cpu_time', 0) > busy + 0.5])  # it goes on
        # who does not read is dropped, and others are told meanwhile
        slow = s.connect(4096); slow.sendall(s.request('api/v1/events'))
        before = s.memory()
        time.sleep(1)
        end = time.monotonic() + WAIT
        while True:
            l.until(lambda runs: True)
            slow.setblocking(False)
            poll = select.poll(); poll.register(slow, select.POLLHUP | select.POLLERR)
            if poll.poll(0): break
            assert time.monotonic() < end, 'it was never dropped'
        assert s.memory() < before + (8 << 20)
        l.close()
finally:
    os.killpg(p.pid, 15)
    p.wait()
END
check 'a run that goes on: processes, memory and CPU time now; who does not read is dropped, and others wait for nobody'
listening <<'END'
many = [Listener(s) for k in range(64)]
assert s.get('api/v1/events').status == 503
for l in many: l.until(lambda runs: True)
for l in many[:40]: l.close()
s.until(lambda: not s.get('api/v1/runs').status != 200)
def again():
    with s.connect() as c:
        c.sendall(s.request('api/v1/events'))
        return b' 200 ' in c.recv(100).split(b'\r\n')[0]
s.until(again)  # those that left are found
assert s.stop() == 0
for l in many[40:]:
    try:
        while True: l.take()
    except EOFError: pass
END
check 'at most 64 listen; those that left make room; the server ends with listeners'
finish
