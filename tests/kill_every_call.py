#!/usr/bin/python3
"""Kills the recorder behind each of its system calls and compares what the job did.

    kill_every_call.py STEMMA EVTEXT PROGS KILLER [--from I] [--count N] [--seconds S] [--campaign FILE]

Round I is made of a program (I mod 50), a victim (worker, keeper, both) and the number of the call behind which it is
killed. Numbers of calls are taken in steps of a prime, so that a campaign comes to each. With --campaign it begins where
the file says that the one before had ended, and adds its counts to it. Prints TAP; fails if a job was changed.

A job counts as changed if its output, its files or its status are not as without a recorder. Where the keeper is killed
before the command was started there is no job: it must not have begun. Where worker and keeper are killed before
there is a standby (doc/capture.md: the first 20 ms) the job may fail; these rounds are counted apart.
The record counts as wrong if it cannot be read, or if it neither says that something is missing nor is whole."""
import hashlib, json, os, re, resource, shutil, subprocess, sys, tempfile, time

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
WAIT = 60   # seconds for a job to end: more than any takes on the busiest machine

args = sys.argv[1:5]
if len(args) < 4:
    sys.exit(__doc__)
stemma, evtext, progs, killer = (os.path.abspath(a) for a in args)
option = dict(zip(sys.argv[5::2], sys.argv[6::2]))
PROGRAMS = [(s, s) for s in SHELL] + [('%s %s' % c, '"%s/%s" %s "$PWD" 9>/dev/null' % (progs, *c)) for c in CASES]
assert len(PROGRAMS) == 50
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

    def clear(self):
        for name in ('begun', 'out', 'err', 'ended', 'ended.tmp', 'report'):
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
        self.clear()
        env = dict(os.environ, STEMMA_HOME=self.top + '/home')
        p = subprocess.run([killer, victim, str(k), self.top + '/report', stemma, 'run', '-q', '--'] + job(script), cwd=self.folder,
                           env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10 * WAIT)
        words = (self.read('report') or b'').decode().split()
        report = {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}
        if not report.get('killed') or victim == 'worker':
            return p.returncode, report
        for i in range(WAIT * 100):  # who was waited for is dead: the job goes on by itself
            if self.read('ended') is not None or (i % 20 == 19 and not self.anybody()):
                break
            time.sleep(0.01)
        return p.returncode, report

    def anybody(self):
        """Does a process of this round live?"""
        mark = ('STEMMA_HOME=%s/home' % self.top).encode()
        for d in os.listdir('/proc'):
            try:
                if d.isdigit() and mark in open('/proc/%s/environ' % d, 'rb').read():
                    return True
            except OSError:
                pass
        return False

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
        ends = len(re.findall(r'"k":"run_end"', p.stdout))
        return '' if (said and ends <= 1) or ends == 1 else 'it does not say what is missing: %d ends' % ends


def keep(path, campaign, bad):
    """What was reached, so far and in all."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    now = dict(campaign, cpu_seconds=round(campaign['cpu_seconds'] + used.ru_utime + used.ru_stime),
               changed=campaign['changed'] + len([b for b in bad if 'log:' not in b and 'does not say' not in b]))
    with open(path + '.new', 'w') as f:
        json.dump(now, f, indent=1, sort_keys=True)
        f.write('\n')
    os.rename(path + '.new', path)


def main():
    path, campaign = option.get('--campaign'), {'next': 0, 'rounds': {}, 'changed': 0, 'records_wrong': 0, 'cpu_seconds': 0}
    if path and os.path.exists(path):
        campaign.update(json.load(open(path)))
    first = int(option.get('--from', campaign['next']))
    count, seconds = int(option.get('--count', 10 ** 9)), float(option.get('--seconds', 10 ** 9))
    begin, r, truth, made, bad = time.monotonic(), Round(), {}, {}, []
    done = 0
    for i in range(first, first + count):
        if time.monotonic() - begin > seconds:
            break
        name, script = PROGRAMS[i % 50]
        victim, step = VICTIMS[i // 50 % 3], i // 150
        if name not in truth:
            truth[name] = r.plain(script)
        if (name, victim) not in made:
            report = r.recorded(script, victim, 0)[1]
            made[name, victim] = report['worker'] * (victim != 'keeper') + report['keeper'] * (victim != 'worker')
            if r.result() != truth[name]:
                bad.append('%s: without a kill: %r is not %r' % (name, r.result(), truth[name]))
        k = 1 + step * STEP % made[name, victim]
        status, report = r.recorded(script, victim, k)
        kind = victim
        if not report.get('killed'):
            kind = 'missed'  # this time it had made fewer calls
        elif victim == 'both' and not report['standby']:
            kind = 'both, before the standby'
        if r.read('begun') is None and victim != 'worker':
            kind += ', before the command'
        elif kind == 'both, before the standby':
            pass
        elif r.result() != truth[name]:
            bad.append('round %d: %s: %s killed behind call %d (%s): %r is not %r' % (i, name, victim, k, report, r.result(), truth[name]))
        elif victim == 'worker' and status != 0:
            bad.append('round %d: %s: %s killed behind call %d: status %d' % (i, name, victim, k, status))
        wrong = r.record()
        if wrong:
            campaign['records_wrong'] += 1
            bad.append('round %d: %s: %s killed behind call %d: %s' % (i, name, victim, k, wrong))
        campaign['rounds'][kind] = campaign['rounds'].get(kind, 0) + 1
        campaign['next'] = i + 1
        done += 1
        if path and done % 50 == 0:
            keep(path, campaign, bad)
    for _ in range(1000):  # what lives on would be in the way of the folder's removal
        if not r.anybody():
            break
        time.sleep(0.01)
    shutil.rmtree(r.top, ignore_errors=True)
    if path:
        keep(path, campaign, bad)
    print('%s 1 - the recorder is killed behind each of its calls: %d rounds' % ('not ok' if bad or not done else 'ok', done))
    for b in bad[:20]:
        print('# ' + b[:1000])
    print('# %s' % json.dumps(campaign['rounds'], sort_keys=True))
    print('1..1')
    return 1 if bad or not done else 0


sys.exit(main())
