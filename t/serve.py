"""serve.py - a `stemma serve` and requests to it, byte for byte, for the tests.

    with Server(stemma, home, '--timeout', '5s') as s:
        a = s.get('api/v1/runs'); a.status, a.headers, a.json()
        s.raw(b'GET / HTTP/1.1\\r\\n...')
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse

WAIT = 120  # seconds; on a busy machine nothing is quick


class Answer:
    def __init__(self, data):
        head, self.body = data.split(b'\r\n\r\n', 1)
        lines = head.decode('latin-1').split('\r\n')
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, value = line.split(':', 1)
            self.headers[name.lower()] = value.strip()

    def json(self):
        return json.loads(self.body)


def read_answer(s, head_only=False):
    """One answer, as its length says; the rest stays unread."""
    data = b''
    while b'\r\n\r\n' not in data:
        part = s.recv(65536)
        if not part:
            raise EOFError('no answer: %r' % data[:200])
        data += part
    head, body = data.split(b'\r\n\r\n', 1)
    length = re.search(rb'(?i)content-length: (\d+)', head)
    want = 0 if head_only or b' 304 ' in head.split(b'\r\n')[0] else int(length.group(1)) if length else 0
    while len(body) < want:
        part = s.recv(1 << 20)
        if not part:
            raise EOFError('an answer was cut off')
        body += part
    return Answer(head + b'\r\n\r\n' + body)


class Server:
    def __init__(self, stemma, home, *options, **how):
        self.path = options[options.index('--socket') + 1] if '--socket' in options else None
        self.process = subprocess.Popen([stemma, '--store', home, 'serve', *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **how)
        self.address = self.process.stdout.readline().decode().strip()
        if not self.address:
            raise RuntimeError('it does not serve: ' + self.process.stderr.read().decode())
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.token = (None, None) if self.path else (parts.port, parts.path.strip('/'))
        self.host = 'x' if self.path else '127.0.0.1:%d' % self.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(WAIT)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def connect(self, receive=None):
        s = socket.socket(socket.AF_UNIX if self.path else socket.AF_INET)
        s.settimeout(WAIT)
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.connect(self.path if self.path else ('127.0.0.1', self.port))
        return s

    def request(self, target, method='GET', body=None, host=None, token=True, **headers):
        """The bytes of a request. target: without the token and the first slash."""
        path = ('/%s/' % self.token if token and self.token else '/') + target
        lines = ['%s %s HTTP/1.1' % (method, path), 'Host: ' + (self.host if host is None else host)]
        lines += ['%s: %s' % (name.replace('_', '-'), value) for name, value in headers.items()]
        if body is not None:
            lines.append('Content-Length: %d' % len(body))
        return '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + (body or b'')

    def get(self, target, method='GET', **how):
        with self.connect() as s:
            s.sendall(self.request(target, method, **how))
            return read_answer(s, method == 'HEAD')

    def until(self, holds):
        """Asks again until it holds: the record is indexed at most once a second."""
        end = time.monotonic() + WAIT
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError('it never held')
            time.sleep(0.05)

    def workers(self):
        with open('/proc/%d/task/%d/children' % (self.process.pid, self.process.pid)) as f:
            return [int(pid) for pid in f.read().split()]

    def memory(self):
        """Bytes that the server and its workers have for themselves."""
        total = 0
        for pid in [self.process.pid, *self.workers()]:
            with open('/proc/%d/smaps_rollup' % pid) as f:
                total += sum(int(line.split()[1]) * 1024 for line in f if line.startswith('Pss:'))
        return total


def quoted(text):
    return urllib.parse.quote(os.fsencode(text), safe='')
