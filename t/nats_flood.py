"""nats_flood.py PORT USER PASSWORD SUBJECT REPLY N - publishes N small messages to SUBJECT, each with REPLY as the subject for the
server's answer, and waits until the server has dealt with all. A client of its own, which keeps to nothing."""
import json
import socket
import sys

port, user, password, subject, reply, n = sys.argv[1:]
s = socket.create_connection(('127.0.0.1', int(port)), 30)
lines = s.makefile('rb')
lines.readline()  # INFO
hello = {'verbose': False, 'pedantic': False, 'user': user, 'pass': password, 'headers': True, 'no_responders': True}
s.sendall(b'CONNECT ' + json.dumps(hello).encode() + b'\r\n')
for _ in range(int(n)):
    s.sendall(('PUB %s %s 4\r\nfake\r\n' % (subject, reply)).encode())
s.sendall(b'PING\r\n')
while True:
    line = lines.readline()
    if not line or line.startswith(b'-ERR'):
        sys.exit('the server says %r' % line)
    if line.startswith(b'PONG'):
        break
