#!/bin/sh
# stemma serve: runs by settings and metrics, and what the record shows of runs; as JSON the commands' answers, and as pages.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/serve.sh
. "$here/t/serve.sh"

PYTHONPATH=$here/bindings/python STEMMA_APP_LIBRARY=$BUILD/src/capture/app/libstemma-app.so.1 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH STEMMA_APP_LIBRARY PYTHONDONTWRITEBYTECODE
echo 1 >data.csv
cat >fit.py <<'END'
import sys, stemma
open('data.csv').read()
stemma.config('rate', sys.argv[1]); stemma.config('size', sys.argv[2]); stemma.config('</script><img src=x onerror=window.RAN=1>', 'x')
for i, v in enumerate(sys.argv[3].split()): stemma.metric('accuracy', float(v), step=i + 1)
open('model' + sys.argv[1], 'w').write('x')
END
"$STEMMA" run -q -- $PYTHON fit.py 0.1 16 '0.5 0.75' >"$out" 2>"$err" && "$STEMMA" run -q -- $PYTHON fit.py 0.01 16 '0.5 0.875' && "$STEMMA" run -q -- $PYTHON fit.py 0.001 '32<b>' 0.25 && "$STEMMA" run -q -- $PYTHON fit.py fast '32<b>' 0.125
told=$("$STEMMA" table --json 2>/dev/null | jq '[.rows[].metrics.accuracy] | map(select(. != null)) | length')
if [ "$told" != 4 ]; then
	echo "1..0 # SKIP nothing can be recorded here: $(tail -n 1 "$err")"
	exit 0
fi
serving <<'END'
assert s.get('api/v1/table').json() == told('table', '--json')
assert s.get('api/v1/table?of=max').json() == told('table', '--json', '--of', 'max')
assert s.get('api/v1/table?where=' + quoted("exit 0")).json() == told('table', '--json', '--where', 'exit 0')
assert len(s.get('api/v1/table').json()['rows']) == 4
assert s.get('api/v1/table?of=most').status == 400 and s.get('api/v1/table?where=used').status == 400 and s.get('api/v1/trust').status == 400 and s.get('api/v1/trust?id=nothing').status == 404
assert s.get('api/v1/trust?id=@').json() == told('trust', '--json', '@')
END
check 'the answers are those of stemma table and stemma trust'
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
	exit
fi
{
	echo 'from browser import *'
	echo "def texts(selector): return b.eval('Array.from(document.querySelectorAll(' + json.dumps(selector) + '), (e) => e.textContent)')"
	echo "with Browser('$chromium', '$T/profile') as b:"
	sed 's/^/    /' <<'END'
b.open(s.address)
b.until("document.querySelectorAll('tbody tr').length === 4")
b.eval("Array.from(document.querySelectorAll('nav.site a')).find((a) => a.textContent === 'Metrics').click()")
b.until("location.pathname.endsWith('/table') && document.querySelectorAll('tbody tr').length === 4")
heads = texts('thead th')
assert 'rate' in heads and 'accuracy' in heads, heads
b.eval("Array.from(document.querySelectorAll('thead button')).find((e) => e.textContent === 'accuracy').focus()")
b.key('Enter')
b.until("location.hash.includes('by=m')")
at = heads.index('accuracy')
values = [float(t) for t in b.eval("Array.from(document.querySelectorAll('tbody tr'), (r) => r.children[%d].textContent)" % at)]
assert values == [0.875, 0.75, 0.25, 0.125], values
assert 'The highest accuracy: 0.875' in b.eval("document.getElementById('list-body').textContent") and b.eval("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == 'descending'
here_ = b.eval('location.href')
b.open(here_)
b.until("document.querySelector('th[aria-sort]') !== null")
best = b.eval("document.querySelector('tbody tr.chosen th a').getAttribute('href')")
assert best == 'run?id=' + told('best', '--metric', 'accuracy', '--json')['run']['id'], best
assert len(texts('svg circle title')) >= 3
assert b.eval("typeof window.RAN") == 'undefined' and b.eval("document.querySelectorAll('img, b, main script').length") == 0
for page, ready in (('table', "document.querySelectorAll('tbody tr').length === 4"), ('trust?id=@', "document.querySelectorAll('tbody tr').length > 0")):
    b.open(s.address + page)
    b.until(ready)
    for width in (360, 1440):
        for dark in (False, True):
            b.size(width, 800); b.scheme(dark)
            wide = b.eval("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide[0] <= wide[1], (page, width, wide)
    assert b.eval("Array.from(document.querySelectorAll('table')).every((e) => e.caption && e.querySelectorAll('thead th[scope=col]').length)") and b.eval("Array.from(document.querySelectorAll('select, input')).every((e) => e.labels.length)")
assert any('data.csv' in t for t in texts('tbody th'))
assert not b.said, b.said
END
} >"$T/browsing"
serving <"$T/browsing"
check 'pages: sorted by keyboard, the best is marked, a plot, what the record shows; hostile names; 360 and 1440 pixels, light and dark'
finish
