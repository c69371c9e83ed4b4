#!/bin/sh
# Documents, records and batches that somebody made to cost more than their size explains: what takes four times as much input
# takes about four times the processor time, not sixteen times.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$T/bombs.py" <<'END'
import json, os, re, resource, shutil, subprocess, sys
here, stemma, evtext, folder = sys.argv[1:]
sys.path.insert(0, here + '/t')
from history import *
environment = {'HOME': folder, 'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8'}
for name in ('LD_LIBRARY_PATH', 'TMPDIR'):
    if name in os.environ:
        environment[name] = os.environ[name]
count = failed = 0


def seconds(*arguments):
    """Of the processor, in the program itself."""
    with open(os.devnull, 'w') as null:
        child = subprocess.Popen([stemma, *arguments], stdin=subprocess.DEVNULL, stdout=null, stderr=null, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime, child.returncode


def bomb(what, n, prepare, command, good=(0,)):
    """prepare(folder, n) makes the input, of which command(folder) makes the arguments. The least of three counts."""
    global count, failed
    took, statuses = [], set()
    for size in (n, 4 * n):
        best = None
        for turn in range(3):
            place = '%s/%s' % (folder, what.split(':')[0].replace(' ', '-'))
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            prepare(place, size)
            used, status = seconds(*command(place))
            statuses.add(status)
            best = used if best is None else min(best, used)
            shutil.rmtree(place)
        took.append(best)
    count += 1
    well = statuses <= set(good) and took[1] < 8 * took[0] + 0.1
    failed += not well
    print('%sok %d - %s' % ('' if well else 'not ', count, what))
    print('# %.2f s, then %.2f s of four times as much; status %s' % (*took, sorted(statuses)))
    sys.stdout.flush()


def document(**parts):
    def prepare(place, n):
        made = {name: part(n) for name, part in parts.items()}
        json.dump({'prefix': {'ex': 'http://e/'}, **made}, open(place + '/doc.json', 'w'))
    return prepare


def imported(place):
    return '--store', place + '/record', 'import', place + '/doc.json'


bomb('import: a document of many bundles', 20000, document(bundle=lambda n: {'ex:b%d' % i: {'entity': {'ex:e%d' % i: {}}} for i in range(n)}), imported)
bomb('import: a chain of versions', 10000, document(entity=lambda n: {'ex:e%d' % i: {} for i in range(n)}, wasDerivedFrom=lambda n: {
    '_:d%d' % i: {'prov:generatedEntity': 'ex:e%d' % (i + 1), 'prov:usedEntity': 'ex:e%d' % i} for i in range(n - 1)}), imported)


# As Turtle: nodes without names that stand for many relations, or that many share; a program with many inputs and outputs.
def turtle(make):
    def prepare(place, n):
        head = '@prefix prov: <http://www.w3.org/ns/prov#> .\n@prefix ex: <http://e/> .\n'
        open(place + '/doc.ttl', 'w').write(head + make(n))
    return prepare


for what, size, make in (
        ('each with a relation of its own', 10000, lambda n: ''.join(
            'ex:e%d prov:qualifiedDerivation [ a prov:Derivation ; prov:entity ex:e%d ] .\n' % (i, i + 1) for i in range(n))),
        ('of one relation', 10000, lambda n: '_:q a prov:Derivation ; prov:entity ex:x .\n' + ''.join(
            'ex:e%d prov:qualifiedDerivation _:q .\n' % i for i in range(n))),
        ('all read and made by one program', 10000, lambda n: 'ex:a prov:used ' + ', '.join('ex:i%d' % i for i in range(n)) + ' .\n' + ''.join(
            'ex:o%d prov:wasGeneratedBy ex:a .\n' % i for i in range(n)))):
    if not re.search(rb'^serd +ok', subprocess.run([stemma, 'doctor'], capture_output=True, env=environment, check=False).stdout, re.M):
        count += 1
        print('ok %d - import of Turtle: files %s # SKIP built without serd' % (count, what))
        continue
    bomb('import of Turtle: files ' + what, size, turtle(make), lambda place: ('--store', place + '/record', 'import', place + '/doc.ttl'))


def record(make):
    def prepare(place, n):
        h = History('01HZZZZZZZZZZZZZZZZZZZAA00', argv=['x'])
        make(h, n)
        h.end()
        h.save(place, evtext)
        seconds('--store', place, 'index')
    return prepare


def many_execs(h, n):
    p = h.process()
    for i in range(n):
        h.exec(p, ['p%d' % i])


bomb('show: a process that became another program again and again', 6000, record(many_execs), lambda place: ('--store', place, 'show', '@'))


def one_reads_many(h, n):
    p = h.process()
    h.exec(p, ['p'])
    for i in range(n):
        h.read(p, h.file('/w/i%d' % i, size=1))


bomb('export: a program that read many files', 5000, record(one_reads_many), lambda place: ('--store', place, 'export', '--format', 'prov-n', '@'))


def unindexed(make):
    def prepare(place, n):
        h = History('01HZZZZZZZZZZZZZZZZZZZAA00', argv=['x'])
        make(h, n)
        h.end()
        h.save(place, evtext)
    return prepare


def one_folder_renamed(h, n):
    p = h.process()
    h.exec(p, ['p'])
    d, f = h.file('/w/d0', kind=DIRECTORY), h.file('/w/d0/f', size=1)
    h.write(p, f)
    for i in range(n):
        h.add('name', p=p, op=3, file=d, path='/w/d%d' % (i + 1), old='/w/d%d' % i)


bomb('index: a folder that got name after name', 4000, unindexed(one_folder_renamed), lambda place: ('--store', place, 'index'))


def triples(place, n):
    open(place + '/data.nt', 'w').write(''.join('<http://e/s%d> <http://e/p> <http://e/o%d> .\n' % (i, i) for i in range(n)))
    # What has no variable in common takes nothing away, and all its rows are alike for that.
    open(place + '/minus.rq', 'w').write('SELECT (COUNT(*) AS ?n) { ?a ?b <http://e/o1> MINUS { ?s ?p ?o FILTER(?s != ?o) } }')


bomb('sparql: a MINUS of much that has nothing in common', 30000, triples, lambda place: ('sparql', '--data', place + '/data.nt', '--file', place + '/minus.rq'))
sys.stdout.write('1..%d\n' % count)
sys.exit(failed > 0)
END
exec "$PYTHON" -B "$T/bombs.py" "$here" "$STEMMA" "$EVTEXT" "$T"
