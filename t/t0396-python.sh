#!/bin/sh
# stemma from Python: data frames, graphs, SPARQL, runs, and the magics of a notebook. The truth is what the script below ran; names that
# are markup stay text. What needs pandas, networkx or IPython runs where some Python here has them.
library=${STEMMA_LIBRARY:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
library=${library:-$BUILD/src/lib/libstemma.so.0}
[ -e "$library" ] || {
	echo "1..0 # SKIP no library at $library"
	exit
}
export STEMMA_LIBRARY="$library" PYTHONPATH="$here/bindings/python" PYTHONDONTWRITEBYTECODE=1 STEMMA_COMMAND="$STEMMA"

# with_modules NAME...: a Python that has them, or nothing
with_modules()
{
	for one in "$PYTHON" python3 /usr/bin/python3; do
		for module in "$@"; do
			"$one" -c "import $module" >/dev/null 2>&1 || continue 2
		done
		echo "$one"
		return
	done
}
# asks PYTHON NAME: the program on standard input ends well
asks()
{
	"$1" - >"$out" 2>"$err" </dev/stdin
	check "$2"
}

printf 'c\nb\na\n' >in.txt
evil='<img src=x onerror=alert(1)>&"'
cmd 0 run -- sh -c 'sort in.txt > mid.txt; uniq -c mid.txt > out.txt; cp mid.txt "$1"; cat "$1" > end.txt; exit 3' sh "$evil" ||
	[ $? = 3 ] || true
asks "$PYTHON" 'answers are lists and dicts, with tables and trees' <<'END'
from stemma.record import Record
with Record() as r:
    why, lineage, runs = r.why('out.txt'), r.lineage('out.txt'), r.runs()
    assert [m['argv'] for m in why['makers']] == [['uniq', '-c', 'mid.txt']] and isinstance(why, dict)
    assert isinstance(runs, list) and runs[0]['exit'] == {'status': 3}, runs
    page = why._repr_html_() + lineage._repr_html_() + runs._repr_html_()
    assert 'uniq -c mid.txt' in page and 'in.txt@{1}' in page and page.count('<ul>') == page.count('</ul>'), page
    down = r.lineage('in.txt', down=True)._repr_html_()
    assert 'out.txt' in down and 'end.txt' in down, down
END
asks "$PYTHON" 'names that are markup, or turn text around, stay text' <<'END'
from stemma.record import Record
from stemma.answers import Lineage, Rows, Why
with Record() as r:
    page = r.lineage('end.txt')._repr_html_() + r.why('end.txt')._repr_html_() + r.runs()._repr_html_()
    assert 'onerror' in page and '<img' not in page, page
bad = '</td><script>\x1b]0;x\x07\u202egnp.exe'
page = Rows([{bad: bad, 'argv': [bad]}])._repr_html_() + Why(entity={'path': bad}, makers=[{'argv': [bad]}])._repr_html_()
page += Lineage(root=bad, entities=[{'id': bad, 'path': bad}], edges=[{'type': 'used', 'from': bad, 'to': bad}])._repr_html_()
assert '<script' not in page and not any(c in page for c in '\x1b\x07\u202e'), page
END
asks "$PYTHON" 'run: what it ran, how it ended, what it used' <<'END'
import sys
from stemma.record import Record, RecordError
with Record() as r:
    run = r.run(['sh', '-c', 'sort in.txt > again.txt; exit 4'], options=['--label', 'from=python'])
    assert run['exit'] == {'status': 4} and run['outputs'] == 1 and run['labels'] == {'from': 'python'}, run
    assert run['summary']['exit_status'] == 4 and run['summary']['run'] == run['id'], run
    assert [m['argv'] for m in r.why('again.txt')['makers']] == [['sort', 'in.txt']]
    for wrong, error in ((['/no/such/program'], RecordError), ('sort in.txt', TypeError)):
        try:
            got = r.run(wrong)
            assert error is RecordError and got['exit'].get('status') == 127, got  # as a shell has it
        except error:
            pass
END
asks "$PYTHON" 'sparql: rows, truth, triples, errors' <<'END'
from stemma.record import Record, RecordError
with Record() as r:
    rows = r.sparql('SELECT (COUNT(DISTINCT ?run) AS ?n) WHERE { ?run a stemma:Run }')
    assert [type(row['n']) for row in rows] == [int], rows
    assert r.sparql('ASK { ?a prov:used ?b }') is True and r.sparql('ASK { ?a prov:used ?a }') is False
    assert r.sparql('SELECT ?x WHERE { ?x prov:used ?x }') == []
    assert ' .' in r.sparql('CONSTRUCT { ?a prov:used ?b } WHERE { ?a prov:used ?b } LIMIT 1')
    try:
        r.sparql('SELECT nothing')
    except RecordError as error:
        assert 'line 1' in str(error), error
    else:
        raise SystemExit('no error')
END
pandas=$(with_modules pandas)
if [ "$pandas" ]; then
	asks "$pandas" 'pandas: runs, rows and edges as data frames' <<'END'
from stemma.record import Record
with Record() as r:
    runs = r.runs().to_frame()
    assert str(runs['start'].dtype).startswith('datetime64') and set(runs['exit']) >= {3, 4}, runs.dtypes
    assert any(runs['command'].str.contains('uniq -c mid.txt', regex=False)), runs['command']
    edges = r.lineage('out.txt').to_frame()
    pairs = {(s.split('/')[-1], p.split('/')[-1]) for s, p in zip(edges['source'], edges['product'])}
    assert {('in.txt@{1}', 'sort in.txt'), ('sort in.txt', 'mid.txt@{1}'), ('mid.txt@{1}', 'uniq -c mid.txt'),
            ('uniq -c mid.txt', 'out.txt@{1}')} <= pairs, pairs
    assert len(r.sparql('SELECT ?a ?b WHERE { ?a prov:used ?b }').to_frame()) > 2
END
else
	skip 'pandas' 'no Python here has pandas'
fi
networkx=$(with_modules networkx)
if [ "$networkx" ]; then
	asks "$networkx" 'networkx: ancestors of a file are what it came from' <<'END'
import networkx
from stemma.record import Record
with Record() as r:
    graph = r.lineage('out.txt', certain=True).to_networkx()
    names = {graph.nodes[n]['name'].split('/')[-1] for n in networkx.ancestors(graph, graph.graph['root'])}
    assert {'in.txt@{1}', 'sort in.txt', 'mid.txt@{1}', 'uniq -c mid.txt'} <= names, names
    assert not any('end.txt' in name for name in names), names
    stages = r.lineage('out.txt', stages=True).to_networkx()
    assert any(stages.nodes[n]['name'].startswith('uniq') for n in stages), list(stages.nodes(data='name'))
END
else
	skip 'networkx' 'no Python here has networkx'
fi
ipython=$(with_modules IPython)
if [ "$ipython" ]; then
	cat >notebook.py <<'END'
import os
os.environ['IPYTHONDIR'] = os.getcwd()
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.io import capture_output
shell = InteractiveShell()
shell.history_manager.enabled = False
shell.run_line_magic('load_ext', 'stemma')
why = shell.run_line_magic('stemma', 'why out.txt')
assert why['makers'][0]['argv'] == ['uniq', '-c', 'mid.txt'], why
assert shell.run_line_magic('stemma', 'lineage in.txt -d')['root'] and shell.run_line_magic('stemma', 'log')
assert shell.run_line_magic('stemma', "find used in.txt"), 'find'
assert shell.run_line_magic('stemma', 'sparql SELECT ?a WHERE { ?a prov:used ?b . FILTER(?a != "x y") } LIMIT 1'), 'sparql'
with capture_output() as told:
    assert shell.run_line_magic('stemma', 'why no.such') is None
    assert shell.run_line_magic('stemma', 'show out.txt') is None
assert 'no.such' in told.stdout and 'uniq -c mid.txt' in told.stdout, told.stdout
shell.run_cell_magic('stemma', 'clean the data', 'x = 6 * 7')
assert shell.user_ns['x'] == 42
shell.run_line_magic('stemma', 'cells')
shell.run_cell('y = x + 1')
shell.run_cell('1 / 0', silent=True)
shell.run_cell('z = 1')
shell.run_line_magic('stemma', 'cells off')
shell.run_cell('z = 2')
END
	cmd 0 run -- "$ipython" notebook.py && cmd 0 sql "SELECT name, ended IS NOT NULL FROM annotation WHERE kind = 'activity' ORDER BY name" &&
		says "$out" 'clean the data' && says "$out" 'cell 1' && says "$out" 'cell 2' && says_not "$out" 'cell 4'
	check 'IPython: magics answer, cells are activities'
else
	skip 'IPython' 'no Python here has IPython'
fi
finish
