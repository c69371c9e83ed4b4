#!/bin/sh
# t0420-open-sessions.sh - a run that is asked of again and again while it is recorded: the index goes on where it stood, and knows
# what an index knows that is made at once.
#
# Real recordings, whose logs come in pieces that are cut at any byte; each kind of recorder has other events. How much is read of
# a log that has grown is counted in events, not in time.
set -u
: "${STEMMA:?}" "${STEMMA_GROWTH:?}" "${STEMMA_GRAPHDUMP:?}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/t0420.XXXXXX")
trap 'rm -rf "$dir"' EXIT
exec python3 - "$dir" <<'END'
import difflib, os, random, re, shutil, subprocess, sys
stemma, growth, graphdump = (os.environ[name] for name in ('STEMMA', 'STEMMA_GROWTH', 'STEMMA_GRAPHDUMP'))
folder = sys.argv[1]
environment = {'HOME': folder, 'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8', 'TMPDIR': folder}
count = failed = 0

def ok(good, what, comment=''):
    global count, failed
    count += 1
    failed += not good
    print('%sok %d - %s' % ('' if good else 'not ', count, what))
    for line in comment.splitlines() if not good else ():
        print('# ' + line)
    sys.stdout.flush()

def logs_of(home):
    found = {}
    for at, _, names in os.walk(os.path.join(home, 'logs')):
        for name in names:
            if name.endswith('.stl'):
                path = os.path.join(at, name)
                with open(path, 'rb') as f:
                    found[os.path.relpath(path, home)] = f.read()
    return found

def dump(home, *options):
    done = subprocess.run([graphdump, '--store', home, *options], capture_output=True, env=environment)
    return done.stdout.decode('latin-1').splitlines() + ['status %d' % done.returncode] + done.stderr.decode().splitlines()

def answers(home):
    """What people are told of its runs, beside the graph."""
    said = []
    for question in (['log', '--json'], ['show', '--json', '@'], ['stat', '--json', '@'],
                     ['sql', 'SELECT api, write, calls, bytes, first, last FROM io ORDER BY 1, 2, 3, 4, 5, 6'],
                     ['sql', 'SELECT reason, count, execution IS NULL FROM gap ORDER BY 1, 2, 3'],
                     ['sql', 'SELECT wall_time, cpu_time, host FROM summary ORDER BY 1, 2, 3']):
        done = subprocess.run([stemma, '--store', home, *question], capture_output=True, env=environment)
        said += [' '.join(question)] + done.stdout.decode('latin-1').splitlines() + [line for line in done.stderr.decode().splitlines() if home not in line]
    return said

def write(home, logs, share):
    """The first part of each log."""
    for path, data in logs.items():
        path = os.path.join(home, path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, 'ab') as f:
            f.write(data[f.tell():int(len(data) * share)])

def grows(name, logs, pieces, seed):
    """Asked after each of so many pieces: "" or what is wrong."""
    chance = random.Random(seed)
    home = os.path.join(folder, name)
    for share in sorted(chance.random() for _ in range(pieces)) + [1]:
        write(home, logs, share)
        grown = dump(home) + answers(home)
        anew = os.path.join(folder, 'anew')
        shutil.rmtree(anew, ignore_errors=True)
        write(anew, logs, share)
        at_once = dump(anew) + answers(anew)
        if grown != at_once:
            return 'with %.4f of the log:\n' % share + '\n'.join(list(difflib.unified_diff(at_once, grown, 'at once', 'grown', lineterm='', n=0))[:40])
    return ''

# What a run does in which a worker's descriptors, pipes, renames, caches and failures meet.
script = '''
mkdir -p w/m && cd w
printf 'def f(x):\\n    return x + 1\\n' >m/util.py
for i in 1 2 3 4 5 6; do
    printf '%s\\n' "$i" b a >in$i
    sort in$i | tee out$i.tmp | wc -l >count$i
    mv out$i.tmp out$i
done
(sleep 0.2; cat out1 out2 >late) &
python3 -c "import sys; sys.path.insert(0, 'm'); import util; open('py.out', 'w').write(str(util.f(len(open('out3').read()))))"
{ cat out4; cat out5; } >both
cp both copy && ln copy linked && rm copy && : >>both
cat /nonexistent 2>/dev/null || true
mkdir d && mv d e && cat out6 >e/f && exec 3<both && wait && cat <&3 >last
'''
for name, options in (('complete', []), ('counted', ['--count']), ('exact', ['--exact']), ('safe', ['--capture=safe'])):
    home = os.path.join(folder, 'recorded-' + name)
    work = os.path.join(folder, 'work-' + name)
    os.mkdir(work)
    done = subprocess.run([stemma, '--store', home, 'run', '-q', *options, '--', 'sh', '-c', script], cwd=work, env=environment,
                          capture_output=True)
    if done.returncode:
        print('# recording (%s) ended with %d: %s' % (name, done.returncode, done.stderr.decode()))
    logs = logs_of(home)
    wrong = grows('grown-' + name, logs, 24, name)
    ok(logs and not wrong, 'recorded %s: in 24 pieces as at once' % name, wrong)

# Two runs in one record, of which one ends before the other.
home = os.path.join(folder, 'made')
subprocess.run([growth, home, 'open', '900'], check=True)
subprocess.run([growth, home, 'run', '900', '1'], check=True)
subprocess.run([growth, home, 'renames', '20', '2'], check=True)
wrong = grows('grown-made', logs_of(home), 30, 1)
ok(not wrong, 'an open run beside others: in 30 pieces as at once', wrong)
expected = dump(os.path.join(folder, 'grown-made'))
for events in (1, 100, 1000):
    part = os.path.join(folder, 'part-%d' % events)
    write(part, logs_of(home), 1)
    ok(dump(part, '--events', str(events)) == expected, 'in parts of %d events' % events)

# How much is read.
home = os.path.join(folder, 'read')
subprocess.run([growth, os.path.join(folder, 'whole'), 'open', '6000'], check=True)
logs = logs_of(os.path.join(folder, 'whole'))
read = []
for piece in range(20):
    write(home, logs, (piece + 1) / 20)
    said = subprocess.run([stemma, '--store', home, 'index'], capture_output=True, env=environment).stdout.decode()
    found = re.search(r'(\d+)  events read', said)
    read.append(int(found.group(1)) if found else -1)
ok(min(read) > 0 and max(read) <= 3 * sum(read) // 20, 'of a log that grows only what is new is read', str(read))
anew = os.path.join(folder, 'read-anew')
write(anew, logs, 1)
said = subprocess.run([stemma, '--store', anew, 'index'], capture_output=True, env=environment).stdout.decode()
found = re.search(r'(\d+)  events read', said)
ok(found and int(found.group(1)) == sum(read), 'each event once', '%s; %d' % (said, sum(read)))
print('1..%d' % count)
sys.exit(failed != 0)
END
