"""site_load.py STEMMA EVTEXT ROUNDS - a record that is loaded into PostgreSQL has the same rows there. Prints TAP.

Of random histories, whose logs arrive one after the other and are loaded each time, with runs forgotten and the index made
anew in between; and of the record of all events (tests/golden/log). Each table is compared row for row, byte for byte, with
what `stemma sql` says; and what two loads wrote is what changed. PGHOST and the like say where the server is.
"""
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests', 'reference'))

import random_history  # noqa: E402

stemma, evtext, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
number = 0


def ok(complaint, what):
    global number
    number += 1
    print('%sok %d - %s' % ('not ' if complaint else '', number, what))
    for line in complaint.splitlines()[:30]:
        print('# ' + line[:500])
    sys.stdout.flush()
    return bool(complaint)


def call(home, *words, status=(0,)):
    done = subprocess.run([stemma, '--store', home, *words], capture_output=True, check=False)
    if done.returncode not in status:
        raise RuntimeError('%s: status %d: %s' % (words, done.returncode, done.stderr.decode('utf-8', 'replace')))
    return done.stdout.decode()


def psql(database, sql):
    return subprocess.run(['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', database, '-c', sql], stdout=subprocess.PIPE,
        check=True).stdout.decode()


def load(home, database, *more):
    return json.loads(call(home, 'site', 'load', '--json', 'postgresql:///' + database, *more))


def tables(database):
    """name -> [(column, type)]"""
    found = {}
    for line in psql(database, "SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns "
            "JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = 'stemma' AND table_type = 'BASE TABLE' ORDER BY table_name, ordinal_position").splitlines():
        table, column, kind = line.split(' ', 2)
        found.setdefault(table, []).append((column, kind))
    return found


def rows(text):
    """Sorted; numbers with a fraction as what they are."""
    return sorted('|'.join('=%r' % float(cell[1:]) if cell.startswith('=') else cell for cell in line.split('|')) for line in text.splitlines() if line)


def row_sqlite(column, kind):
    if kind == 'double precision':
        return "CASE WHEN \"%s\" IS NULL THEN '-' ELSE '=' || printf('%%!.17g', \"%s\") END" % (column, column)
    return "CASE WHEN \"%s\" IS NULL THEN '-' ELSE hex(CAST(replace(\"%s\", char(0), '\\0') AS BLOB)) END" % (column, column) if kind == 'text' else "coalesce(\"%s\", '-')" % column


def row_postgres(column, kind):
    if kind == 'double precision':
        return "coalesce('=' || \"%s\"::text, '-')" % column
    return "coalesce(upper(encode(convert_to(\"%s\", 'SQL_ASCII'), 'hex')), '-')" % column if kind == 'text' else "coalesce(\"%s\"::text, '-')" % column


def differs(home, database):
    """'' or what is not the same; and how many rows were compared."""
    there = tables(database)
    compared = 0
    for table, columns in there.items():
        have = call(home, 'sql', '--jsonl', 'PRAGMA table_info("%s")' % table)
        if [json.loads(line)['name'] for line in have.splitlines()] != [c for c, _ in columns]:
            return 'columns of %s: %s' % (table, columns), compared
    ask = [" UNION ALL ".join("SELECT '%s|' || %s AS r FROM %s%s" % (t, " || '|' || ".join(row(c, k) for c, k in columns), schema, t)
        for t, columns in there.items()) for row, schema in ((row_sqlite, ''), (row_postgres, 'stemma.'))]
    want = rows('\n'.join(json.loads(line)['r'] for line in call(home, 'sql', '--jsonl', ask[0]).splitlines()))
    have = rows(psql(database, ask[1]))
    if want != have:
        missing, extra = sorted(set(want) - set(have)), sorted(set(have) - set(want))
        return '%d rows, %d there\nmissing: %s\nextra: %s' % (len(want), len(have), missing[:5], extra[:5]), compared
    return '', len(want)


def a_round(seed):
    world = random_history.generate(seed)
    r = random.Random(seed)
    os.environ['STEMMA_SKEW'] = '%dns' % world['skew']
    database = 'round%d' % seed
    subprocess.run(['createdb', '-T', 'template0', '-E', 'SQL_ASCII', '--locale=C', database], check=True)
    forgotten = compared = 0
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, 'logs', 'h', 'd')
        os.makedirs(folder)
        logs = world['logs']
        r.shuffle(logs)
        for n, events in enumerate(logs):
            subprocess.run([evtext, 'make', os.path.join(folder, '%d.stl' % n)], input=random_history.text(events).encode(), check=True)
            if r.random() < 0.3 and n + 1 < len(logs):
                continue
            first = load(home, database)
            complaint, k = differs(home, database)
            compared += k
            if complaint:
                return 'after log %d: %s' % (n, complaint), 0, 0
            again = load(home, database)
            if again['written_rows'] or again['changed_pieces'] or again['rows'] != first['rows']:
                return 'nothing changed, and %s was written' % again, 0, 0
            runs = [json.loads(line)['ulid'] for line in call(home, 'sql', '--jsonl', 'SELECT ulid FROM run WHERE began IS NOT NULL').splitlines()]
            if runs and r.random() < 0.5:
                call(home, 'forget', r.choice(runs), status=(0, 1))
                forgotten += 1
            elif r.random() < 0.2:
                call(home, 'index', '--rebuild')
            else:
                continue
            load(home, database)
            complaint, k = differs(home, database)
            compared += k
            if complaint:
                return 'after log %d and what was forgotten: %s' % (n, complaint), 0, 0
    subprocess.run(['dropdb', database], check=True)
    return '', compared, forgotten


def all_events():
    """The record of all events, which has something in nearly every table."""
    database = 'golden'
    subprocess.run(['createdb', '-T', 'template0', '-E', 'SQL_ASCII', '--locale=C', database], check=True)
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, 'logs', 'h', 'd')
        os.makedirs(folder)
        for n, path in enumerate(sorted(glob.glob(os.path.join(HERE, '..', 'tests', 'golden', 'log', '*.jsonl')) +
                glob.glob(os.path.join(HERE, '..', 'tests', 'golden', 'graph', '*', '*.jsonl')))):
            if not subprocess.run([evtext, 'make', os.path.join(folder, '%d.stl' % n)], stdin=open(path, 'rb'), stderr=subprocess.DEVNULL).returncode:
                continue
            os.path.exists(os.path.join(folder, '%d.stl' % n)) and os.remove(os.path.join(folder, '%d.stl' % n))
        load(home, database)
        complaint, compared = differs(home, database)
        filled = [t for t in tables(database) if psql(database, 'SELECT 1 FROM stemma.%s LIMIT 1' % t).strip()]
    return complaint, compared, filled


failed = total = forgets = 0
for seed in range(1, rounds + 1):
    complaint, compared, forgotten = a_round(seed)
    total += compared
    forgets += forgotten
    failed += ok(complaint, 'random history %d, %d rows, %d forgotten' % (seed, compared, forgotten))
failed += ok('' if total and forgets else 'nothing', '%d rows were compared, %d runs forgotten' % (total, forgets))
complaint, compared, filled = all_events()
failed += ok(complaint, 'all golden events: %d rows in %d tables' % (compared, len(filled)))
failed += ok('' if len(filled) > 12 else 'only %s' % filled, 'most tables had rows: %s' % ' '.join(filled))
print('1..%d' % number)
sys.exit(failed != 0)
