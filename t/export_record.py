"""export_record.py - a record that has something of everything an export must write: make(home, evtext, work)."""

import os

from history import *

BAD = b'/w/bad\xff\xfe name'
LINES = '/w/two\nlines\tand a tab'
QUOTES = '/w/"quotes" \\Back\\slash\\ <&> \'%s\' {$x} #;'
UNICODE = '/w/\u00e4\u65e5\U0001f9ec'
LONG = '/w/' + '/'.join(['d' * 254] * 16) + '/' + 'f' * 12  # 4096 bytes
RUN_A, RUN_B, RUN_C = '01AAAAAAAAAAAAAAAAAAAAAAAA', '01BBBBBBBBBBBBBBBBBBBBBBBB', '01CCCCCCCCCCCCCCCCCCCCCCCC'


def make(home, evtext, work='/w'):
    # A: a script with a pipe, appends, strange names, a cache, a lock, an absent path, an ending by signal.
    h = History(RUN_A, argv=['./fit.sh', 'two words', '--sep=\t'], labels=['project=x', 'note=with "quotes"'])
    shell = h.process()
    h.exec(shell, ['./fit.sh', 'two words', '--sep=\t'], exe='/usr/bin/dash', script='/w/fit.sh', env=['LANG=C', 'PS1=\n\x1b[0m'])
    h.read(shell, h.file('/w/fit.sh'))
    sort = h.process(parent=shell)
    h.exec(sort, ['sort', '-k', '1', 'in.csv', b'\xffx\x01\x7f\\"'], exe='/usr/bin/sort')
    h.read(sort, h.file('/w/in.csv', size=100))
    h.read(sort, h.file('/etc/locale', size=5))
    h.read(sort, h.file('/w/none.csv', kind=ABSENT))
    pipe = h.file('', kind=PIPE)
    h.write(sort, pipe, mode=WRITE, via=DESCRIPTOR, bytes_written=10)
    head = h.process(parent=shell)
    h.exec(head, ['head'], exe='/usr/bin/head')
    h.read(head, pipe, via=DESCRIPTOR, bytes_read=10)
    h.write(head, h.file('/w/top.csv'), size=10)
    h.exit(sort)
    h.exit(head, code=3)
    log = h.file('/w/log')
    for i in range(3):
        p = h.process(parent=shell)
        h.exec(p, ['append', str(i)], exe='/w/append')
        h.read(p, h.file('/w/in.csv'))
        h.write(p, log, size=10 * (i + 1), mode=WRITE | APPEND)
        h.exit(p)
    reader = h.process(parent=shell)
    h.exec(reader, ['count'], exe='/usr/bin/wc')
    h.read(reader, log)
    for name in (BAD, LINES, QUOTES, UNICODE, LONG):
        h.write(reader, h.file(name), size=7)
    h.read(reader, h.file(LINES))
    # Two programs have one file open at once.
    other = h.process(parent=shell)
    h.exec(other, ['other'], exe='/usr/bin/other')
    shared = h.file('/w/shared')
    far = h.now + 60 * SECOND
    h.write(reader, shared, size=1, mode=WRITE, until=far)
    h.write(other, shared, size=2, mode=WRITE, until=far)
    h.read(other, shared, until=far)
    lock = h.file('/w/x.lock')
    h.write(other, lock, size=0)
    h.read(reader, lock)
    source = h.file('/w/m.py', size=9)
    h.read(other, source)
    h.write(other, h.file('/w/__pycache__/m.pyc'), size=8)
    h.now += 100 * SECOND
    h.exit(other, code=9, ending=2)
    # Written twice, the second time from the first.
    table = h.file('/w/table')
    h.write(reader, table, size=4)
    h.read(reader, table)
    h.write(reader, table, size=5, mode=WRITE)
    h.write(shell, h.file('/w/report'), size=11, via=DESCRIPTOR)
    h.exit(reader)
    h.exit(shell)
    h.end()
    h.save(home, evtext)
    # B: later and on another host; something changed in between that nobody saw; it never ended.
    h = History(RUN_B, argv=['later'], host='h2', user='bob', boot='b2', start=5000)
    p = h.process()
    h.exec(p, ['later', ''], exe='/w/later', cwd='/w/sub')
    h.read(p, h.file('/w/top.csv', size=12, ino=inode_of('/w/top.csv')))
    h.write(p, h.file('/w/final'), size=3)
    q = h.process(parent=p)
    h.write(q, h.file('/w/final'), size=4, mode=WRITE | APPEND)
    h.save(home, evtext)
    # C: same files again, under the same names and identities as A's.
    h = History(RUN_C, argv=['again'], start=9000)
    p = h.process()
    h.exec(p, ['again'], exe='/usr/bin/again')
    for path in ('/w/in.csv', '/w/top.csv'):
        h.read(p, h.file(path, size=77, ino=inode_of(path)))
    h.write(p, h.file('/w/report', ino=inode_of('/w/report')), size=12)
    h.exit(p)
    h.end()
    h.save(home, evtext)


# The inodes that A gives, in the order in which it names its files first.
def inode_of(path):
    return 1001 + ['/usr/bin/dash', '/w/fit.sh', '/usr/bin/sort', '/w/in.csv', '/etc/locale', '/w/none.csv', '', '/usr/bin/head',
                   '/w/top.csv', '/w/log', '/w/append', '/usr/bin/wc', BAD, LINES, QUOTES, UNICODE, LONG, '/usr/bin/other',
                   '/w/shared', '/w/x.lock', '/w/m.py', '/w/__pycache__/m.pyc', '/w/table', '/w/report'].index(path)
