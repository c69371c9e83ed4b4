#!/bin/sh
# stemma serve: the record over HTTP. Its answers are the commands'; only the owner gets them; what makes no sense has a status
# and a sentence. Faults and crowds are in t0398.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

history <<'END'
for k, word in enumerate(('ONE', 'TWO', 'SIX')):
    h = History('01AAAAAAAAAAAAAAAAAAAAA' + word, argv=['./all.sh', str(k)], start=k * 1000)
    sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh', str(k)], exe='/usr/bin/dash', script='/w/all.sh')
    a = h.process(sh); h.exec(a, ['sort', '-k%d' % (k + 1), 'in'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/in', size=9)); h.write(a, h.file('/w/mid'), size=9); h.exit(a)
    b = h.process(sh); h.exec(b, ['uniq', '-c', 'mid'], exe='/usr/bin/uniq')
    h.read(b, h.file('/w/mid', size=9)); h.write(b, h.file('/w/out%d' % k), size=4); h.write(b, h.file(b'/w/\xff <b>&%41+\n'), size=k + 1); h.exit(b)
    h.exit(sh); h.end(); h.save(home, evtext)
END

serving <<'END'
for args, target in ((['log'], 'runs'), (['log', '-n', '1'], 'runs?limit=1'), (['show', '@'], 'run/@'), (['show', '@~1'], 'run/01AAAAAAAAAAAAAAAAAAAAATWO'),
                     (['why', '/w/out1'], 'why?file=/w/out1'), (['why', '/w/mid@{1}'], 'why?file=%2Fw%2Fmid%40%7B1%7D'), (['why', b'/w/\xff <b>&%41+\n'], 'why?file=/w/%ff+%3Cb%3E%26%2541%2B%0a'),
                     (['lineage', '/w/out1'], 'lineage?file=/w/out1'), (['lineage', '--down', '/w/in'], 'lineage?file=/w/in&down=1'),
                     (['lineage', '--all', '/w/out1'], 'lineage?all=true&file=/w/out1'), (['lineage', '--certain', '/w/out1'], 'lineage?file=/w/out1&certain'),
                     (['lineage', '--stages', '/w/out1'], 'lineage?file=/w/out1&stages=1&all=0'), (['lineage', '--depth', '1', '/w/out1'], 'lineage?file=/w/out1&depth=1'),
                     (['diff', '@~1', '@'], 'diff?a=@~1&b=@'), (['diff', '/w/out0', '/w/out1'], 'diff?a=/w/out0&b=/w/out1'),
                     (['find', 'used /w/in'], 'find?q=used+/w/in'), (['find', 'runs that used /w/in'], 'find?q=runs%20that%20used%20/w/in')):
    a = s.get('api/v1/' + target)
    got, want = a.json(), told(args[0], '--json', *args[1:])
    got.pop('next', None)
    assert a.status == 200 and a.headers['content-type'] == 'application/json', (target, a.status, a.body)
    assert got == want, (target, got, want)
END
check 'the answers are the commands'"'"
serving <<'END'
a = s.get('api/v1/openapi.json')
d = a.json()
assert a.status == 200 and d['openapi'] == '3.1.0' and d['info']['version'] and {'/api/v1/' + p for p in ('runs', 'run/{id}', 'why', 'lineage', 'diff', 'find', 'openapi.json')} <= d['paths'].keys()
tried = {'file': '/w/out1', 'a': '@', 'b': '@', 'q': 'used%20/w/in', 'id': '@', 'limit': '3', 'depth': '2', 'where': 'exit%200', 'of': 'max'}
for path, item in d['paths'].items():
    if not path.startswith('/api/'):
        continue
    get = item['get']
    needed = [p for p in get['parameters'] if p['required']]
    target = path.lstrip('/')
    for p in needed:
        target = target.replace('{%s}' % p['name'], tried[p['name']])
    query = '&'.join('%s=%s' % (p['name'], tried[p['name']]) for p in needed if p['in'] == 'query')
    answer = s.get(target + '?' + query)
    assert answer.status == 200, (path, answer.status, answer.body)
    for p in get['parameters']:  # what the document says is taken is taken
        if p['in'] == 'query' and p['name'] not in ('cursor', 'stages') and not p['required']:
            value = tried.get(p['name'], 'true')
            assert s.get('%s?%s&%s=%s' % (target, query, p['name'], value)).status == 200, (path, p)
    for p in needed:
        if p['in'] == 'query':
            less = '&'.join('%s=%s' % (q['name'], tried[q['name']]) for q in needed if q is not p)
            assert s.get(target + '?' + less).status == 400, (path, p)
END
check 'the OpenAPI document says what there is'
serving <<'END'
for target, status, word in (('api/v1', 404, 'address'), ('api/v1/nothing', 404, 'address'), ('api/v1/run/', 404, 'address'), ('api/v1/run/a/b', 404, 'address'),
                             ('api/v1/why', 400, 'file'), ('api/v1/why?file=', 400, 'file'), ('api/v1/why?file=/w/in&file=/w/in', 400, 'twice'),
                             ('api/v1/why?file=/w/in&what=1', 400, 'what'), ('api/v1/why?file=%00', 400, 'escape'), ('api/v1/why?file=%4', 400, 'escape'),
                             ('api/v1/why?file=%zz', 400, 'escape'), ('api/v1/runs?limit=x', 400, 'number'), ('api/v1/runs?limit=-1', 400, 'number'),
                             ('api/v1/runs?limit=99999999999999999999999999', 400, 'number'), ('api/v1/runs?all=maybe', 400, 'all'), ('api/v1/find?q=used', 400, ''),
                             ('api/v1/diff?a=@&b=/w/out1', 400, 'kinds'), ('api/v1/lineage?file=/w/in&all=1&stages=1', 400, 'together'),
                             ('api/v1/run/@~99', 404, ''), ('api/v1/run/x0', 404, ''), ('api/v1/why?file=/w/nosuch', 404, 'nosuch'), ('api/v1/why?file=/etc/passwd', 404, ''),
                             ('api/v1/why?file=../../../../etc/shadow', 404, ''), ('api/v1/runs?cursor=01ZZZZZZZZZZZZZZZZZZZZZZZZ', 410, 'cursor'),
                             ('api/v1/find?q=used+/w/in&cursor=v000000000000000000000000', 410, 'cursor'), ('api/v1/why?file=' + 'a' * 17000, 414, 'long')):
    a = s.get(target)
    p = a.json()
    assert a.status == status == p['status'] and a.headers['content-type'] == 'application/problem+json' and word in p['detail'], (target[:80], a.status, a.body)
    assert b'root:' not in a.body
for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'NONSENSE'):
    a = s.get('api/v1/runs', method, body=b'x')
    assert a.status == 405 and a.headers['allow'] == 'GET, HEAD', (method, a.status)
a = s.get('api/v1/runs', 'HEAD')
assert a.status == 200 and not a.body and int(a.headers['content-length']) > 100
for bad in (b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00', b'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', b'GET http://evil/ HTTP/1.1\r\nHost: evil\r\n\r\n',
            b'GET /%s/api/v1/runs HTTP/1.1\r\n\r\n' % s.token.encode(), b'A' * 60000 + b'\r\n\r\n', b'GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n'):
    with s.connect() as c:
        try:
            c.sendall(bad)
            c.shutdown(socket.SHUT_WR)
            got = c.recv(1000)
        except OSError:
            got = b''
        assert not got.startswith(b'HTTP/1.1 2'), (bad[:60], got)
assert s.get('api/v1/runs').status == 200
END
check 'what makes no sense has a status and a sentence'
serving <<'END'
last = s.token[:-1] + ('A' if s.token[-1] != 'A' else 'B')
for token in ('', 'x', s.token[:-1], s.token + 'x', last, s.token.swapcase(), s.token.replace(s.token[0], '%%%02x' % ord(s.token[0]), 1)):
    for a in (s.get(token + '/api/v1/runs', token=False), s.get('api/v1/runs', token=False, Authorization='Bearer ' + token), s.get('api/v1/runs?token=' + token, token=False),
              s.get('api/v1/runs', token=False, Cookie='token=' + s.token)):
        assert a.status == 401 and b'ONE' not in a.body and s.token.encode() not in a.body, (token, a.status, a.body)
assert s.get('api/v1/runs', token=False, Authorization='Bearer ' + s.token).status == 200
assert s.get('api/v1/runs', host='localhost:%d' % s.port).status == 200
for host in ('evil.example', 'evil.example:%d' % s.port, '127.0.0.1', '127.0.0.1:1', '127.0.0.1:%d.evil.example' % s.port, 'localhost.evil:%d' % s.port, ''):
    a = s.get('api/v1/runs', host=host)
    assert a.status in (400, 403) and b'ONE' not in a.body, (host, a.status)
for origin in ('http://evil.example', 'null', 'https://' + s.host, 'http://127.0.0.1:1', 'http://%s.evil' % s.host, 'file://'):
    a = s.get('api/v1/runs', Origin=origin)
    assert a.status == 403 and b'ONE' not in a.body, (origin, a.status)
a = s.get('api/v1/runs', Origin='http://' + s.host)
assert a.status == 200
for a in (a, s.get('nothing'), s.get('api/v1/runs', token=False)):
    assert not [h for h in a.headers if h.startswith('access-control') or h == 'set-cookie'], a.headers
    policy = a.headers['content-security-policy']
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and 'unsafe' not in policy and '*' not in policy, policy
    assert a.headers['x-content-type-options'] == 'nosniff' and a.headers['referrer-policy'] == 'no-referrer' and 'private' in a.headers['cache-control']
with open('/proc/%d/cmdline' % s.process.pid) as f:
    assert s.token not in f.read()
if os.geteuid() == 0:  # another user who has seen the token
    code = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.sendall(sys.stdin.buffer.read()); print(s.recv(10000).decode())"
    ask = lambda user: subprocess.run([sys.executable, '-c', code, str(s.port)], input=s.request('api/v1/runs'), stdout=subprocess.PIPE, check=True, user=user, group=user, cwd='/').stdout
    assert b' 200 ' in ask(0).split(b'\r\n')[0]
    said = ask(65534)
    import struct
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4) as diag:  # does this kernel tell? SOCK_DIAG_BY_FAMILY of all TCP sockets
        diag.settimeout(WAIT)
        diag.send(struct.pack('=IHHII', 72, 20, 0x301, 1, 0) + struct.pack('=BBBBI', socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xffffffff) + bytes(48))
        tells = struct.unpack('=IH', diag.recv(65536)[:6])[1] == 20
    print('the kernel tells whose a connection is' if tells else '# the kernel does not tell whose a connection is')
    assert not tells or b' 403 ' in said.split(b'\r\n')[0] and b'ONE' not in said, said
END
check 'only who has the token, and asks for this host from here'
rm -f "$T/token"
serving --token "$T/token" <<'END'
assert open(T + '/token').read() == s.token + '\n' and os.stat(T + '/token').st_mode & 0o777 == 0o600
with Server(stemma, home, '--token', T + '/token') as again:
    assert again.token == s.token
END
got=$?
chmod 644 "$T/token"
[ $got = 0 ] && cmd 125 serve --token "$T/token" && says "$err" 'only you' && echo short >"$T/short" && chmod 600 "$T/short" && cmd 125 serve --token "$T/short" && says "$err" 'no token'
check 'a token is kept in a file that only its owner can read'
serving --socket "$T/sock" <<'END'
mode = os.stat(T + '/sock').st_mode & 0o777
assert mode == 0o600 and s.address == T + '/sock', oct(mode)
assert s.get('api/v1/runs').json() == told('log', '--json')
if os.geteuid() == 0:
    os.chmod(T, 0o755); os.chmod(T + '/sock', 0o666)
    code = "import sys, socket; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'GET /api/v1/runs HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(10000).decode())"
    said = subprocess.run([sys.executable, '-c', code, T + '/sock'], stdout=subprocess.PIPE, check=True, user=65534, group=65534, cwd='/').stdout
    assert b' 403 ' in said.split(b'\r\n')[0] and b'ONE' not in said, said
two = subprocess.run([stemma, '--store', home, 'serve', '--socket', T + '/sock'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert two.returncode == 125 and b'in use' in two.stderr, two
assert s.stop() == 0 and not os.path.exists(T + '/sock')
c = socket.socket(socket.AF_UNIX); c.bind(T + '/sock'); c.close()
with Server(stemma, home, '--socket', T + '/sock') as left:
    assert left.get('api/v1/runs').status == 200
END
check 'a Unix socket: for the user, whatever its mode; one that is left over is replaced'
serving <<'END'
a = s.get('api/v1/runs')
tag = a.headers['etag']
for known in (tag, '"x", ' + tag, '*'):
    b = s.get('api/v1/runs', If_None_Match=known)
    assert b.status == 304 and not b.body and b.headers['etag'] == tag, (known, b.status)
assert s.get('api/v1/runs', If_None_Match='"x"').status == 200 and s.get('api/v1/why?file=/w/out1').headers['etag'] != tag
seen, cursor = [], ''
while True:
    page = s.get('api/v1/runs?limit=2' + cursor).json()
    seen += page['runs']
    if 'next' not in page: break
    assert len(page['runs']) == 2
    cursor = '&cursor=' + page['next']
assert seen == told('log', '--json')['runs'] and len(seen) == 3
for what, key in (('used /w/in', 'entities'), ('runs that used /w/in', 'runs'), ('execs that used /w/in', 'executions')):
    want, seen, cursor = told('find', '--json', what)[key], [], ''
    while True:
        page = s.get('api/v1/find?limit=1&q=' + quoted(what) + cursor).json()
        seen += page[key]
        if 'next' not in page: break
        cursor = '&cursor=' + page['next']
    assert seen == want and len(want) >= 3, (what, len(seen), len(want))
END
check 'tags of answers, and pages'
cmd 0 serve --help && says "$out" socket && cmd 2 serve x && cmd 2 serve --port 99999 && cmd 2 serve --port 1 --socket s && cmd 2 serve --timeout x && cmd 2 serve --memory 1 &&
	cmd 1 --store "$T/nowhere" serve && says "$err" 'no runs have been recorded' && [ ! -e "$T/nowhere" ]
check 'how it is called'
finish
