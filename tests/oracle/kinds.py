"""kinds.py - the kinds of steps that a workflow of the oracle is made of.

A step is a command of a shell and what is true of it. KINDS is the table: by the name of the kind the function that makes a step
of it. A step uses files that are there already, by Maker.source, and makes new ones, by Maker.output. What a step changes
besides, it has made itself, so each output is complete when its step is over.

Programs of the actor (actor.c) and of Python write down what they read and wrote. Of shells and the usual tools the truth stands
in the step: (output, sure sources, open sources)."""
import shlex

PYTHON = '/usr/bin/python3'
# What the Python steps share: got(f) behind a read, put(f) before a write.
PRELUDE = '''import os
def say(*words): os.write(9, (' '.join((STEP, '%d.%d' % (os.getpid(), IMAGE)) + words) + '\\n').encode())
def of(f): return 'f:%d' % os.fstat(f.fileno()).st_ino
def at(f):
    say('at', of(f), f.name)
    if not os.fstat(f.fileno()).st_size: say('new', of(f))
    return f
def got(f):
    bytes = f.read()
    if bytes: say('got', of(f))
    return bytes
def put(f, bytes):
    say('put', of(f)); f.write(bytes); f.flush()
'''


class Step:
    """One step: its kind, its command, the files that it names, and the truth that it does not write down itself."""

    def __init__(self, number, kind):
        self.number = number
        self.kind = kind
        self.command = None
        self.uses = []
        self.makes = []
        self.last = []  # of these, what no later step reads: empty files
        self.outside = []  # commands that nobody records, behind the step's run
        self.then = None  # a step of the next run
        self.declared = []


class Maker:
    """Gives a step its files."""

    def __init__(self, step, pool, random, actor):
        self.step = step
        self.pool = pool
        self.random = random
        self.program = actor
        self.private = 0

    def source(self):
        left = [name for name in self.pool if name not in self.step.uses]
        name = self.random.choice(left)
        self.step.uses.append(name)
        return name

    def output(self, ending=''):
        name = f'o{self.step.number}{"abcdefgh"[len(self.step.makes)]}{ending}'
        self.step.makes.append(name)
        return name

    def temporary(self):
        self.private += 1
        return f't{self.step.number}_{self.private}'

    def actor(self, *scripts):
        """The step is the actor, once for each script."""
        self.step.command = '; '.join(f'{self.program} {self.step.number} {shlex.quote(" ".join(s.split()))}' for s in scripts)

    def python(self, text):
        code = f'STEP = "{self.step.number}"; IMAGE = 1\n{PRELUDE}{text}'
        self.step.command = f'{PYTHON} -S -I -c {shlex.quote(code)}'

    def shell(self, text, *truths, shell=None, **options):
        """The step is a text of the shell; truths are (output, sure, open)."""
        self.step.command = f'{shell or self.random.choice(("dash", "bash"))} -c {shlex.quote(text)}'
        for output, sure, *maybe in truths:
            self.declare(output, sure, *maybe, **options)

    def then(self, text):
        """The step of the next run."""
        self.step.then = Step(self.step.number + 1, self.step.kind)
        self.step.then.command = f'dash -c {shlex.quote(text)}'

    def declare(self, output, sure, maybe=(), **options):
        self.step.declared.append((output, sure, maybe, options))


KINDS = {}
ALONE = set()  # those of several runs, which are no part of a longer workflow


def kind(function):
    KINDS[function.__name__.strip('_').replace('_', '-')] = function
    return function


def alone(function):
    ALONE.add(function.__name__.strip('_').replace('_', '-'))
    return kind(function)


# One process.


@kind
def read_write(m):
    how = m.random.choice(('all i', 'pread i', 'readv i', 'read i 100'))
    m.actor(f'open-r i {m.source()} {how} open-w o {m.output()} {m.random.choice(("write", "pwrite"))} o')


@kind
def open_both_first(m):
    m.actor(f'open-w o {m.output()} open-r i {m.source()} all i write o')


@kind
def opened_unread(m):
    m.actor(f'open-r d {m.source()} open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def opened_unread_closed(m):
    m.actor(f'open-r d {m.source()} close d open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def read_of_nothing(m):
    m.actor(f'open-r d {m.source()} read d 0 open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def read_after_close(m):
    m.actor(f'open-r i {m.source()} all i open-w o {m.output()} write o close o open-r d {m.source()} all d')


@kind
def read_after_last_write(m):
    m.actor(f'open-r i {m.source()} all i open-w o {m.output()} write o open-r d {m.source()} all d close o')


@kind
def one_after_the_other(m):
    m.actor(f'open-r i {m.source()} all i open-w o {m.output()} write o close o close i'
            f' open-r j {m.source()} all j open-w p {m.output()} write p')


@kind
def both_open_one_written_first(m):
    m.actor(f'open-w o {m.output()} open-w p {m.output()} open-r i {m.source()} all i write o'
            f' open-r j {m.source()} all j write p')


@kind
def reads_back_own_file(m):
    m.actor(f'open-r i {m.source()} all i open-w o {m.output()} write o close o open-r b {m.step.makes[0]} all b'
            f' open-w p {m.output()} write p')


@kind
def appended(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-r i {m.source()} all i open-a o {o} write o')


@kind
def written_in_part(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-r i {m.source()} all i open-u o {o} few o')


@kind
def truncated_then_from_another(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-r i {m.source()} all i open-w o {o} write o')


@kind
def emptied_by_descriptor(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o',
            f'open-r i {m.source()} all i open-u o {o} empty o write o')


@kind
def emptied_by_path(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o',
            f'truncate {o} open-r i {m.source()} all i open-a o {o} write o')


@kind
def truncated_then_from_another_by_one(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o close o open-w p {m.output()} few p')


@kind
def updated_in_place(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-u o {o} all o rewind o write o')


@kind
def renamed(m):
    t = m.temporary()
    m.actor(f'open-r i {m.source()} all i open-w o {t} write o close o rename {t} {m.output()}')


@kind
def renamed_over(m):
    t, o = m.temporary(), m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o',
            f'open-r i {m.source()} all i open-w o {t} write o close o rename {t} {o}')


@kind
def folder_renamed(m):
    t = m.temporary()
    o = m.output()
    m.step.makes[-1] = f'{o}/x'
    m.actor(f'mkdir {t} open-r i {m.source()} all i open-w o {t}/x write o close o rename {t} {o} rename {t}/x {o}/x'
            .replace(f'rename {t} {o} rename {t}/x {o}/x', f'rename-folder {t} {o} {t}/x {o}/x'))


@kind
def linked(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o close o link {o} {m.output()}')


@kind
def removed_and_made_again(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o',
            f'unlink {o} open-r i {m.source()} all i open-w o {o} write o')


@kind
def temporary_without_name(m):
    t = m.temporary()
    m.actor(f'open-r i {m.source()} all i open-u t {t} unlink {t} write t rewind t all t open-w o {m.output()} write o')


@kind
def named_later(m):
    m.actor(f'open-r i {m.source()} all i open-tmp t . write t name t {m.output()}')


@kind
def by_symbolic_link(m):
    t = m.temporary()
    i = m.source()
    m.actor(f'open-r h {i} symlink {i} {t} open-alias i {t} all i open-w o {m.output()} write o')


@kind
def through_a_duplicate(m):
    m.actor(f'open-r i {m.source()} dup i j all j open-w o {m.output()} dup o p write p')


@kind
def sendfile(m):
    m.actor(f'open-r i {m.source()} open-w o {m.output()} sendfile i o')


@kind
def splice(m):
    m.actor(f'open-r i {m.source()} open-w o {m.output()} pipe r w splice i w splice r o')


@kind
def copy_file_range(m):
    m.actor(f'open-r i {m.source()} open-w o {m.output()} copy-range i o')


@kind
def mapped_read(m):
    m.actor(f'open-r i {m.source()} map-r i close i touch i open-w o {m.output()} write o')


@kind
def mapped_untouched(m):
    m.actor(f'open-r d {m.source()} map-r d open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def mapped_written(m):
    m.actor(f'open-r i {m.source()} all i open-u o {m.output()} map-w o')


@kind
def threads(m):
    m.actor(f'open-r i {m.source()} thread {{ all i }} join thread {{ open-w o {m.output()} write o }} join')


@kind
def only_looked_at(m):
    m.actor(f'look {m.source()} open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def opens_that_fail(m):
    m.actor(f'try {m.source()} open-r i {m.source()} all i open-w o {m.output()} write o')


@kind
def connect_that_fails(m):
    m.actor(f'try-connect {m.source()} open-r i {m.source()} all i open-w o {m.output()} write o')


# A second program that only touches what the first one wrote.


def touched(m, what):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-r d {m.source()} all d {what.format(o=o)}')


@kind
def chmod_by_another(m):
    touched(m, 'chmod {o}')


@kind
def times_set_by_another(m):
    touched(m, 'utime {o}')


@kind
def times_set_to_now_by_another(m):
    touched(m, 'now {o}')


@kind
def xattr_by_another(m):
    touched(m, 'xattr {o}')


@kind
def opened_to_update_unwritten(m):
    touched(m, 'open-u o {o}')


@kind
def opened_to_append_unwritten(m):
    touched(m, 'open-a o {o}')


@kind
def renamed_by_another(m):
    t = m.temporary()
    m.actor(f'open-r i {m.source()} all i open-w o {t} write o', f'open-r d {m.source()} all d rename {t} {m.output()}')


@kind
def linked_by_another(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o', f'open-r d {m.source()} all d link {o} {m.output()}')


@kind
def times_set_by_itself_later(m):
    o = m.output()
    m.actor(f'open-r i {m.source()} all i open-w o {o} write o close o open-r d {m.source()} all d utime {o}')


# Several processes.


@kind
def pipe(m):
    m.actor(f'pipe r w fork {{ close r open-r i {m.source()} all i write w }} fork {{ close w all r open-w o {m.output()} write o }}'
            ' close r close w wait')


@kind
def pipe_unused(m):
    m.actor(f'pipe r w fork {{ close r open-r d {m.source()} all d }} fork {{ close w open-r i {m.source()} all i open-w o {m.output()}'
            ' write o } close r close w wait')


@kind
def pipe_not_read(m):
    m.actor(f'pipe r w fork {{ open-r d {m.source()} all d write w }} wait fork {{ close w open-r i {m.source()} all i open-w o {m.output()}'
            ' write o } wait')


@kind
def pipe_read_after(m):
    m.actor(f'pipe r w fork {{ close r open-r d {m.source()} all d write w }} fork {{ close w open-r i {m.source()} all i'
            f' open-w o {m.output()} write o close o all r }} close r close w wait')


@kind
def pipe_of_programs(m):
    m.actor(f'pipe r w fork {{ keep w 5 exec 0 {{ fd w 5 open-r i {m.source()} all i write w }} }}'
            f' fork {{ close w keep r 6 exec 0 {{ fd r 6 all r open-w o {m.output()} write o }} }} close r close w wait')


@kind
def pipe_of_programs_unused(m):
    m.actor(f'pipe r w fork {{ keep w 5 exec 0 {{ fd w 5 open-r d {m.source()} all d }} }}'
            f' fork {{ close w keep r 6 exec 0 {{ fd r 6 open-r i {m.source()} all i open-w o {m.output()} write o }} }} close r close w wait')


@kind
def sockets(m):
    m.actor(f'sockets r w fork {{ close r open-r i {m.source()} all i write w }} fork {{ close w all r open-w o {m.output()} write o }}'
            ' close r close w wait')


@kind
def sockets_of_programs(m):
    """One direction only: what the receiver read does not go to the sender's output."""
    t = m.temporary()
    m.actor(f'listen l {t} fork {{ exec 0 {{ connect c {t} open-r i {m.source()} all i write c fin c open-w o {m.output()} write o }} }}'
            f' accept l s all s open-r j {m.source()} all j open-w p {m.output()} write p wait')


@kind
def fifo(m):
    t = m.temporary()
    m.actor(f'fifo {t} fork {{ exec 0 {{ open-w w {t} open-r i {m.source()} all i write w }} }} open-r r {t} all r open-w o {m.output()} write o wait')


@kind
def inherited_unused(m):
    m.actor(f'open-r d {m.source()} keep d 7 fork {{ exec 0 {{ open-r i {m.source()} all i open-w o {m.output()} write o }} }} wait')


@kind
def inherited_read(m):
    m.actor(f'open-r i {m.source()} keep i 7 fork {{ exec 0 {{ fd i 7 all i open-w o {m.output()} write o }} }} wait')


@kind
def inherited_written(m):
    m.actor(f'open-w o {m.output()} keep o 7 fork {{ exec 0 {{ fd o 7 open-r i {m.source()} all i write o }} }} wait')


@kind
def inherited_unwritten(m):
    m.actor(f'open-w o {m.output()} keep o 7 fork {{ exec 0 {{ open-r d {m.source()} all d }} }} wait open-r i {m.source()} all i write o')


@kind
def opener_read_another(m):
    m.actor(f'open-r d {m.source()} all d close d open-w o {m.output()} keep o 7'
            f' fork {{ exec 0 {{ fd o 7 open-r i {m.source()} all i write o }} }} wait')


@kind
def passed_descriptor(m):
    m.actor(f'sockets a b fork {{ close a receive-fd b i all i open-w o {m.output()} write o }} open-r i {m.source()} send-fd a i wait')


@kind
def memory_at_fork(m):
    m.actor(f'open-r i {m.source()} all i close i fork {{ open-w o {m.output()} write o }} wait')


@kind
def read_after_fork(m):
    """The child has said that it is there before the parent reads on."""
    m.actor(f'pipe r w pipe a b fork {{ close w few b close b all r open-r i {m.source()} all i open-w o {m.output()} write o }}'
            f' close b all a close r open-r d {m.source()} all d close w wait')


@kind
def read_at_once_after_fork(m):
    m.actor(f'pipe r w fork {{ close w all r open-r i {m.source()} all i open-w o {m.output()} write o }} close r open-r d {m.source()}'
            ' all d close w wait')


@kind
def memory_shared(m):
    m.actor(f'shared fork {{ open-r i {m.source()} all i shared-put }} wait fork {{ shared-got open-w o {m.output()} write o }} wait')


@kind
def image_replaced(m):
    m.actor(f'open-r d {m.source()} all d close d exec 0 {{ open-r i {m.source()} all i open-w o {m.output()} write o }}')


@kind
def words_at_exec(m):
    m.actor(f'open-r i {m.source()} all i close i exec 1 {{ open-w o {m.output()} write o }}')


@kind
def two_programs_one_output(m):
    o = m.output()
    m.actor(f'open-w o {o} keep o 7 fork {{ exec 0 {{ fd o 7 open-r i {m.source()} all i write o }} }} wait'
            f' fork {{ exec 0 {{ fd o 7 open-r i {m.source()} all i write o }} }} wait')


@kind
def two_programs_beside(m):
    m.actor(f'fork {{ exec 0 {{ open-r i {m.source()} all i open-w o {m.output()} write o }} }}'
            f' fork {{ exec 0 {{ open-r i {m.source()} all i open-w o {m.output()} write o }} }} wait')


@kind
def handed_on_by_a_file(m):
    t = m.temporary()
    m.actor(f'open-r i {m.source()} all i open-w o {t} write o',
            f'open-r i {t} unlink {t} all i open-w o {m.output()} write o')


@kind
def two_outputs_one_after_the_other_read(m):
    """Both outputs are open, both are written, then one more file is read and only one of them is written again."""
    m.actor(f'open-w o {m.output()} open-w p {m.output()} open-r i {m.source()} all i write o write p close i close o'
            f' open-r j {m.source()} all j write p')


@kind
def daemon(m):
    """A process that outlives its parent writes the output."""
    t = m.temporary()
    m.actor(f'fifo {t} fork {{ fork {{ exec 0 {{ open-r i {m.source()} all i open-w o {m.output()} write o open-w w {t} few w }} }} }}'
            f' open-r r {t} all r wait')


@kind
def server(m):
    """One process serves two: each sends a file's content and gets back what is its own. The server has both then."""
    t = m.temporary()
    m.actor(f'listen l {t} fork {{ exec 0 {{ connect c {t} open-r i {m.source()} all i write c fin c all c open-w o {m.output()} write o }} }}'
            f' accept l s all s write s fin s close s wait'
            f' fork {{ exec 0 {{ connect c {t} open-r i {m.source()} all i write c fin c all c open-w o {m.output()} write o }} }}'
            f' accept l s all s write s fin s wait')


@kind
def read_by_the_parent_while_the_child_writes(m):
    """The output was opened before the fork; the parent reads another file, and only the child writes."""
    m.actor(f'open-w o {m.output()} pipe r w fork {{ close w all r open-r i {m.source()} all i write o }} close r'
            f' open-r d {m.source()} all d close w wait')


@kind
def many_descriptors_inherited(m):
    """All that a program had open goes to its child, which uses one."""
    m.actor(f'open-r d {m.source()} keep d 10 open-r e {m.source()} keep e 11 open-r i {m.source()} keep i 12'
            f' fork {{ exec 0 {{ fd i 12 all i open-w o {m.output()} write o }} }} wait')


@kind
def chain_of_images(m):
    m.actor(f'open-r i {m.source()} keep i 7 exec 0 {{ look {m.source()} exec 0 {{ fd i 7 all i open-w o {m.output()} write o }} }}')
