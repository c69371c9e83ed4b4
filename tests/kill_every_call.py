#!/usr/bin/python3
"""Kills the recorder behind each of its system calls and compares what the job did.

    kill_every_call.py STEMMA EVTEXT PROGS KILLER [--from I] [--count N] [--seconds S] [--campaign FILE] [--of N --slice J]
                       [--how traced] [--call NUMBER] [--program TEXT]

Place I is made of a program (I mod 50), a victim (worker, keeper, both) and the number of the call behind which it is
killed. Numbers of calls are taken in steps of a prime, so that a campaign comes to each; a place behind the last call
is passed over. With --campaign it begins where the file says that the one before had ended, and adds its counts to it.
--of, --slice: only places that are J modulo N, for two at a time. KILLER kills by programs in the kernel where it can;
--how traced: by ptrace. --call: only calls of that number count; --program: only programs that have this text. Prints TAP; fails if a job was changed.

A job counts as changed if its output, its files or its status are not as without a recorder. Where the keeper is killed
before the command was started there is no job: it must not have begun. Where worker and keeper are killed before
there is a standby (doc/capture.md: the first 20 ms) the job may fail; these rounds are counted apart. Where both are
killed the program sleeps for 30 ms first, so that most of these rounds have a standby.
The record counts as wrong if it cannot be read, or if it neither says that something is missing nor is whole."""
import hashlib, json, os, re, shutil, subprocess, sys, tempfile, time

SHELL = [
    'cat in', 'cat in in2 >y', 'sort x', 'sort x >y; cat y', 'cp in y; cmp in y', 'mv x z; cat z', 'ln in y; rm in; cat y',
    'ln -s in y; cat y', 'head -c 3 page | wc -c', 'cat x | sort | tail -1', 'wc -l <x', 'grep 1 x in', 'mkdir d; cp x d; ls d',
    'cat nowhere', 'exit 7', 'false', 'sleep 0.05; cat in', 'sleep 0.05; sort x | tail -1 >y; sleep 0.05; cat y',
    'for i in 1 2 3 4 5; do cat x >>all; done; wc -l <all', 'cat <<E\nhere\nE', 'echo $(cat in) $(cat in2)',
    'dd if=page of=y bs=7 2>/dev/null; cmp page y', 'tee y <in', 'touch y; rm y; ls', 'sed s/a/b/ x', 'cut -d" " -f2 x',
    '(cat in; sleep 0.05; cat in2) | cat', 'sort x >y & wait; cat y', 'sleep 0.1 & cat x; wait; cat in', 'chmod 600 in; cat in',
    'truncate -s 2 in; cat in', 'find . -type f | sort', 'mkfifo f; cat f & cat x >f; wait', 'tar cf - in x | tar tf -',
    'sh -c "cat in; exit 3"; echo $?', 'sh -c "kill -9 \\$\\$"; echo $?', 'sh -c "trap \\"echo t\\" TERM; kill -TERM \\$\\$; cat in"', 'gzip -c x | gzip -dc',
    'i=0; while [ $i -lt 40 ]; do cat x >>y; i=$((i+1)); done; cksum <y', 'env -i /bin/cat in', 'od -c in', 'seq 2000 | sort -n | md5sum']
CASES = [('p-open', 'read'), ('p-open', 'rdwr'), ('p-open', 'trunc'), ('p-name', 'rename'), ('p-name', 'exchange'),
         ('p-fd', 'dup'), ('p-fd', 'exec-writes'), ('p-end', 'last-thread')]
VICTIMS = ['worker', 'keeper', 'both']
STEP = 617  # a prime: k goes through all of them

args = sys.argv[1:5]
if len(args) < 4:
    sys.exit(__doc__)
stemma, evtext, progs, killer = (os.path.abspath(a) for a in args)
option = dict(zip(sys.argv[5::2], sys.argv[6::2]))
PROGRAMS = [(s, s) for s in SHELL] + [('%s %s' % c, '"%s/%s" %s "$PWD" 9>/dev/null' % (progs, *c)) for c in CASES]
assert len(PROGRAMS) == 50
PLACES = 50 * len(VICTIMS)
CALL = int(option.get('--call', -1))
page = ''.join(chr(97 + i % 26) for i in range(4096))


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + '/sub')
    for name, text in (('in', 'hello in\n'), ('in2', 'hello in2\n'), ('page', page), ('x', 'b 2\na 1\nc 3\n')):
        open(folder + '/' + name, 'w').write(text)


def state(folder):
    """What the job left: names, kinds and contents."""
    found = []
    for at, dirs, files in os.walk(folder):
        for name in sorted(dirs + files):
            path = os.path.join(at, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append((os.path.relpath(path, folder), hashlib.sha1(open(path, 'rb').read()).hexdigest()))
            else:
                found.append((os.path.relpath(path, folder), os.readlink(path) if os.path.islink(path) else 'other'))
    return sorted(found)


def job(script):
    # The status is the last thing written, and by one rename: the job is over then.
    return ['sh', '-c', ': >../begun; (%s\n) >../out 2>../err; echo $? >../ended.tmp; mv ../ended.tmp ../ended' % script]


class Round:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix='kill.')
        self.folder = self.top + '/d'
        self.killer = subprocess.Popen([killer] + ['--traced'] * (option.get('--how') == 'traced'), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=dict(os.environ, STEMMA_HOME=self.top + '/home'))
        self.how = self.killer.stdout.readline().decode().strip()

    def clear(self):
        for name in ('begun', 'out', 'err', 'ended', 'ended.tmp'):
            if os.path.exists(self.top + '/' + name):
                os.remove(self.top + '/' + name)
        shutil.rmtree(self.top + '/home', ignore_errors=True)
        fresh(self.folder)

    def read(self, name):
        try:
            return open(self.top + '/' + name, 'rb').read()
        except FileNotFoundError:
            return None

    def result(self):
        # A shell names itself and the line in what it says of who was killed; process numbers differ.
        err = re.sub(rb'\b\d+\b', b'N', self.read('err') or b'')
        return self.read('out'), err, self.read('ended'), state(self.folder)

    def plain(self, script):
        self.clear()
        if subprocess.run(job(script), cwd=self.folder, stdin=subprocess.DEVNULL).returncode != 0:
            sys.exit('the job does not work by itself: ' + script)
        return self.result()

    def recorded(self, script, victim, k):
        """What the killer tells, and what the job left when the command had ended. Where that was killed the job goes on by
        itself, to its end."""
        self.clear()
        words = [self.folder, stemma, 'run', '-q', '--'] + job('sleep 0.03; ' * (victim == 'both') + script)
        self.killer.stdin.write(b'%s %d %d %d\n' % (victim.encode(), k, CALL, len(words)) + b''.join(w.encode() + b'\0' for w in words))
        self.killer.stdin.flush()
        report, result = self.answer(), None
        if not report['killed'] or victim == 'worker':
            result = self.result()
        report.update(self.answer())
        return report, result or self.result()

    def answer(self):
        words = self.killer.stdout.readline().split()
        if not words:
            sys.exit('the killer is gone')
        return {words[i].decode(): int(words[i + 1]) for i in range(0, len(words), 2)}

    def end(self):
        self.killer.stdin.close()
        self.killer.wait()
        shutil.rmtree(self.top, ignore_errors=True)

    def record(self):
        """What is wrong with the record, or ''."""
        logs = [os.path.join(at, f) for at, _, files in os.walk(self.top + '/home') for f in files if f.endswith('.stl')]
        if not logs:
            return ''
        p = subprocess.run([evtext, 'dump'] + logs, capture_output=True, text=True)
        bad = [l for l in p.stderr.splitlines() if 'torn' not in l]
        if bad:
            return 'log: ' + bad[0]
        said = '"k":"session_end"' not in p.stdout or re.search(r'"k":"gap".*"reason":[17]\b', p.stdout)
        # Killed between writing a frame and noting that, the frame is written twice (doc/format/event-log.md).
        ends = len(set(re.findall(r'"session":"(\w+)","seq":(\d+),[^{}]*"k":"run_end"', p.stdout)))
        return '' if (said and ends <= 1) or ends == 1 else 'it does not say what is missing: %d ends' % ends


class Campaign:
    def __init__(self, path):
        self.path, self.bad, self.changed, self.done = path, [], 0, 0
        self.counts = {'next': 0, 'rounds': {}, 'changed': 0, 'records_wrong': 0, 'cpu_seconds': 0}
        if path and os.path.exists(path):
            self.counts.update(json.load(open(path)))
        self.spent = self.counts['cpu_seconds']

    def add(self, kind, place):
        self.counts['rounds'][kind] = self.counts['rounds'].get(kind, 0) + 1
        self.counts['next'] = place + 1
        self.done += 1

    def say(self, text, changed=True):
        self.bad.append(text)
        print('# ' + text[:2000], flush=True)
        self.counts['changed' if changed else 'records_wrong'] += 1

    def keep(self, r):
        """What was reached, so far and in all."""
        if not self.path:
            return
        user, system, over_user, over_system = (int(n) for n in open('/proc/%d/stat' % r.killer.pid).read().rsplit(') ')[1].split()[11:15])
        used = sum(os.times()[:4]) + (user + system + over_user + over_system) / os.sysconf('SC_CLK_TCK')
        self.counts['cpu_seconds'] = round(self.spent + used)
        with open(self.path + '.new', 'w') as f:
            json.dump(self.counts, f, indent=1, sort_keys=True)
            f.write('\n')
        os.rename(self.path + '.new', self.path)


class Programs:
    """What each program does by itself, and how many calls its recorder makes."""

    def __init__(self, r, c):
        self.r, self.c, self.truth, self.made = r, c, {}, {}

    def known(self, name, script, victim):
        if name not in self.truth:
            self.truth[name] = self.r.plain(script)
        if (name, victim) not in self.made:
            report, result = self.r.recorded(script, victim, 0)
            if result != self.truth[name]:
                self.c.say('%s: without a kill: %r is not %r' % (name, result, self.truth[name]))
            for v in VICTIMS[:2] if victim != 'both' else ['both']:
                self.made[name, v] = report['worker'] * (v != 'keeper') + report['keeper'] * (v != 'worker')
        return self.truth[name], self.made[name, victim]


def kind_of(victim, report, begun):
    if not report['killed']:
        return 'missed'  # this time it had made fewer calls
    kind = 'both, before the standby' if victim == 'both' and not report['standby'] else victim
    return kind if begun or victim == 'worker' else kind + ', before the command'


def one(r, c, programs, i):
    name, script = PROGRAMS[i % 50]
    victim, step = VICTIMS[i // 50 % len(VICTIMS)], i // PLACES
    truth, made = programs.known(name, script, victim)
    if step >= made:
        return
    k = 1 + step * STEP % made
    report, result = r.recorded(script, victim, k)
    kind = kind_of(victim, report, r.read('begun') is not None)
    where = 'place %d: %s: %s killed behind call %d (%s)' % (i, name, victim, k, report)
    if kind in ('missed', 'worker', 'keeper', 'both') and result != truth:
        c.say('%s: %r is not %r' % (where, result, truth))
    elif victim == 'worker' and report['status'] != 0:
        c.say(where)
    elif not report['over']:
        c.say(where + ': what it started lives on')
    wrong = r.record()
    if wrong:
        c.say('%s: %s' % (where, wrong), changed=False)
    c.add(kind, i)


def main():
    c = Campaign(option.get('--campaign'))
    first, count = int(option.get('--from', c.counts['next'])), int(option.get('--count', 10 ** 9))
    seconds, of, part = float(option.get('--seconds', 10 ** 9)), int(option.get('--of', 1)), int(option.get('--slice', 0))
    begin, r = time.monotonic(), Round()
    programs = Programs(r, c)
    for i in range(first, PLACES * 10 ** 5):
        if c.done >= count or time.monotonic() - begin > seconds:
            break
        if i % of == part and option.get('--program', '') in PROGRAMS[i % 50][1]:
            one(r, c, programs, i)
            if c.done % 50 == 0:
                c.keep(r)
        if i // PLACES > max(programs.made.values(), default=i):
            break
    c.keep(r)
    r.end()
    print('%s 1 - the recorder is killed behind each of its calls, %s: %d rounds' % ('not ok' if c.bad or not c.done else 'ok', r.how, c.done))
    print('# %s; calls: %d' % (json.dumps(c.counts['rounds'], sort_keys=True), sum(programs.made.values())))
    print('1..1')
    return 1 if c.bad or not c.done else 0


sys.exit(main())
