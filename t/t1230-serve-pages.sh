#!/bin/sh
# The pages of stemma serve, in a browser: runs, search, a run, a file, two compared. They show what the commands say, by mouse and
# keys, in light and dark, at 360 and 1,440 pixels, load nothing from elsewhere and execute nothing of the record.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

history <<'END'
names = [b'<img src=x onerror="window.RAN=1">', b'</script><script>window.RAN=1</script>', b'a\nb\x1b]0;x\x07', '\u202egnp.exe'.encode(), b'\xff\xfe', b'javascript:window.RAN=1']
for k, word in enumerate(('ONE', 'TWO')):
    h = History('01AAAAAAAAAAAAAAAAAAAAA' + word, argv=['./all.sh', str(k)], start=k * 1000, user='<b>ann</b>')
    sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh', str(k)], exe='/usr/bin/dash', script='/w/all.sh')
    a = h.process(sh); h.exec(a, ['sort', '-k%d' % (k + 1), 'in'], exe='/usr/bin/sort')
    h.read(a, h.file('/w/in', size=9)); h.write(a, h.file('/w/mid'), size=9); h.exit(a)
    b = h.process(sh); h.exec(b, ['uniq', '-c'] + names, exe='/usr/bin/uniq')
    h.read(b, h.file('/w/mid', size=9)); h.write(b, h.file('/w/out%d' % k), size=4)
    for n in names:
        h.write(b, h.file(b'/w/' + n), size=k + 1)
    h.exit(b)
    h.exit(sh); h.end(); h.save(home, evtext)
h = History('01AAAAAAAAAAAAAAAAAAAAABAD', argv=['hostile'] + names, start=3000)
p = h.process(); h.exec(p, ['hostile'] + names, exe='/usr/bin/hostile'); h.exit(p, code=3); h.end(); h.save(home, evtext)
END

serving <<'END'
import re
def data(page): return json.loads(re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
def report(*args): return subprocess.run([stemma, 'report', *args], stdout=subprocess.PIPE, check=True).stdout
for target, args in (('run?id=@~1', ['@~1']), ('file?file=/w/out1', ['/w/out1']), ('compare?a=@~2&b=@~1', ['--against', '@~2', '@~1']), ('compare?a=/w/out0&b=/w/out1', ['--against', '/w/out0', '/w/out1'])):
    a = s.get(target)
    assert a.status == 200 and a.headers['content-type'].startswith('text/html') and data(a.body) == data(report(*args)), (target, a.status)
    assert b'<script>' not in a.body and b'<style' not in a.body and b' on' + b'load' not in a.body.split(b'id="data"')[0], target
for target in ('', 'search?q=x', 'assets/page.css', 'assets/report.js', 'assets/site.js'):
    a = s.get(target)
    assert a.status == 200 and a.body and s.get(target, If_None_Match=a.headers['etag']).status == 304, (target, a.status)
    assert s.get(target, token=False).status == 401
for target, status in (('run?id=nothing', 404), ('run?id=/w/out1', 404), ('file?file=/w/nosuch', 404), ('file?file=@', 404), ('compare?a=@&b=/w/out1', 400), ('run?id=%3Cb%3E', 404), ('assets/none', 404), ('run', 400)):
    a = s.get(target)
    assert a.status == status and b'<b>' not in a.body, (target, a.status, a.body)
END
check 'pages are those of stemma report, with no code in them'

for chromium in chromium chromium-browser google-chrome none; do command -v $chromium >/dev/null 2>&1 && break; done
cat >"$T/works.py" <<END
import sys; sys.path.insert(0, '$here/t')
from browser import *
with Browser('$chromium', '$T/profile', wait=60) as b:
    b.open('data:text/html,<title>works</title>')
    sys.exit(b.eval('document.title') != 'works')
END
if [ $chromium = none ] || ! $PYTHON -B "$T/works.py" >"$out" 2>"$err"; then
	skip 'the pages in a browser' "Chromium is not here, or cannot be driven: $(tail -n 1 "$err")"
	finish
fi
browsing()
{
	{
		echo 'from browser import *'
		echo "def texts(selector): return b.eval('Array.from(document.querySelectorAll(' + json.dumps(selector) + '), (e) => e.textContent)')"
		echo "def local(): return all(a.startswith(s.address) for a in b.asked if not a.startswith(('about:', 'data:')))"
		echo "with Browser('$chromium', '$T/profile') as b:"
		sed 's/^/    /'
	} >"$T/browsing"
	serving "$@" <"$T/browsing"
}

browsing <<'END'
b.open(s.address)
b.until("document.querySelectorAll('tbody tr').length === 3")
rows = texts('tbody tr')
assert rows[0].startswith('hostile ') and './all.sh 1' in rows[1] and './all.sh 0' in rows[2] and '<b>ann</b>@' in rows[1], rows
assert b.eval('document.title') == 'Runs - stemma'
b.eval("document.querySelectorAll('tbody th a')[1].click()")
b.until("document.getElementById('kind') !== null && document.getElementById('kind').textContent.includes('TWO')")
assert 'run?id=01AAAAAAAAAAAAAAAAAAAAATWO' in b.eval('location.href')
b.until("document.querySelector('[role=treeitem]') !== null")
b.eval("Array.from(document.querySelectorAll('#files tbody a')).find((a) => a.textContent.startsWith('out1')).click()")
b.until("!document.getElementById('details').hidden")
b.eval("Array.from(document.querySelectorAll('#details a')).find((a) => a.textContent === 'Page of this version').click()")
b.until("document.getElementById('kind') !== null && document.getElementById('kind').textContent === 'File'")
assert b.eval('document.title').startswith('out1@{1}') and '/file?file=v' in b.eval('location.href')
here_ = b.eval('location.href')
b.open(here_)
assert b.eval('document.title').startswith('out1@{1}'), 'the address is permanent'
assert not b.said and local(), (b.said, b.asked)
END
check 'from the runs to a run, its file, and that version'"'"'s own address'
browsing <<'END'
b.open(s.address)
b.until("document.querySelectorAll('tbody tr').length === 3")
def tab_to(script):
    for _ in range(40):
        b.key('Tab')
        if b.eval(script): return
    raise AssertionError(script)
for k in (1, 2):
    tab_to("document.activeElement.type === 'checkbox' && document.activeElement.closest('tr') === document.querySelectorAll('tbody tr')[%d]" % k)
    b.key(' ')
b.until("!document.querySelector('#tools button').disabled")
b.eval("document.body.focus(); document.querySelector('#tools button').focus()")
b.key('Enter')
b.until("document.getElementById('differences') !== null && !document.getElementById('differences').hidden")
href = b.eval('location.href')
assert 'a=01AAAAAAAAAAAAAAAAAAAAAONE' in href and 'b=01AAAAAAAAAAAAAAAAAAAAATWO' in href, href
assert 'sort' in b.eval("document.getElementById('differences').textContent")
b.eval("document.querySelector('nav.site input').focus()")
b.type('out')
b.key('Enter')
b.until("location.pathname.endsWith('/search') && document.querySelectorAll('tbody tr').length === 2")
assert [t.split('@')[0] for t in texts('tbody th a')] == ['/w/out0', '/w/out1'] and b.eval("document.querySelector('nav.site input').value") == 'out'
for q, want in (('runs that used /w/in', 2), ('execs that used /w/in', 2), ('used /w/in', 2), ('failed', 0)):
    b.open(s.address + 'search?q=' + quoted(q))
    b.until("document.querySelector('tbody tr') !== null || document.querySelector('#list-body .note') !== null || document.getElementById('said').textContent !== ''")
    assert len(texts('tbody tr')) == want, (q, texts('tbody tr'), texts('#said'))
b.said.clear()
b.open(s.address + 'search?q=' + quoted('used'))
b.until("document.getElementById('list-body').textContent !== '' || document.getElementById('said').textContent !== ''")
b.open(s.address + 'search?q=' + quoted('used ('))
b.until("document.getElementById('said').textContent !== ''")
assert local() and len(b.said) <= 2, b.said
END
check 'by keyboard: two runs are compared, files, runs and programs found; a wrong expression is said'
browsing <<'END'
pages = ['', 'search?q=' + quoted('path *'), 'run?id=@', 'run?id=@~1', 'file?file=%2Fw%2F%3Cimg%20src%3Dx%20onerror%3D%22window.RAN%3D1%22%3E', 'compare?a=@~2&b=@~1', 'search?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.RAN%3D1%3E']
for page in pages:
    b.open(s.address + page)
    b.until("document.querySelector('tbody tr, [role=treeitem], .note') !== null")
    time.sleep(0.3)
    assert b.eval("typeof window.RAN") == 'undefined' and b.eval("document.querySelectorAll('img, iframe, object, embed, base').length") == 0, page
    assert b.eval("Array.from(document.querySelectorAll('*')).every((e) => Array.from(e.attributes).every((a) => !a.name.startsWith('on') && !/^javascript:/.test(a.value)))"), page
    shown = b.eval("Array.from(document.body.children).filter((e) => e.tagName !== 'SCRIPT').map((e) => e.textContent).join('')")
    assert not [c for c in shown if c in '\x1b\x07\u202e\x00'], page
    assert b.eval("Array.from(document.querySelectorAll('input, select')).every((e) => e.labels.length || e.getAttribute('aria-label'))"), page
    assert b.eval("Array.from(document.querySelectorAll('table')).every((e) => e.caption && e.querySelectorAll('thead th[scope=col]').length)"), page
    assert b.eval("document.querySelectorAll('main').length") == 1 and b.eval("document.documentElement.lang") == 'en'
    for dark in (False, True):
        b.scheme(dark)
        for width in (360, 1440):
            b.size(width, 800)
            wide = b.eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1], (page, dark, width, wide)
        back = b.eval("getComputedStyle(document.body).backgroundColor")
        assert (back == 'rgb(255, 255, 255)') != dark, (page, back)
assert not b.said and local(), (b.said, b.asked)
END
check 'hostile names do nothing; light and dark, 360 and 1440 pixels; labels, captions, landmarks'
browsing <<'END'
b.open(s.address)
b.until("document.querySelectorAll('tbody tr').length === 3")
code = ("import sys; sys.path.insert(0, '%s/t'); from history import *; home, evtext = '%s', '%s'\n"
        "h = History('01AAAAAAAAAAAAAAAAAAAAANEW', argv=['brand-new'], start=1000000)\n"
        "p = h.process(); h.exec(p, ['brand-new'], exe='/usr/bin/new'); h.write(p, h.file('/w/new'), size=3); h.exit(p); h.end(); h.save(home, evtext)"
        % (here, home, os.environ.get('STEMMA_EVTEXT') or os.path.join(os.path.dirname(stemma), '../../tests/stemma-evtext')))
subprocess.run([sys.executable, '-B', '-c', code], check=True)
b.until("document.querySelectorAll('tbody tr').length === 4")
assert 'brand-new' in texts('tbody tr')[0]
shown = False
p = subprocess.Popen([stemma, 'run', '-q', '--', 'sleep', '600'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    s.until(lambda: p.poll() is not None or any('sleep' in r['command'] and r.get('standby') for r in s.get('api/v1/runs').json()['runs']))
    if p.poll() is None:
        b.until("document.querySelector('tbody tr').textContent.includes('running')")
        b.until("document.querySelector('[data-progress]').textContent.includes('process')")
        b.open(s.address + 'run?id=@')
        b.until("!document.getElementById('live').hidden && document.getElementById('live-body').textContent.includes('Memory')")
        assert 'Running' in texts('#sections a') and 'running when' in b.eval("document.getElementById('byline').textContent")
        shown = True
finally:
    p.terminate(); p.wait()
if shown:
    b.until("document.getElementById('live-head').textContent.includes('ended')")
    b.open(s.address)
    b.until("document.querySelectorAll('tbody tr').length >= 4")
b.until("!document.querySelector('tbody').textContent.includes('running')")
END
check 'a new run comes by itself, and one that goes on says so'
finish
