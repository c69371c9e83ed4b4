"""truth.py - from what programs said that they did, which file's content went into which file (doc/oracle.md).

Two sets go with each object (a file, one direction of a stream) and each program image: `sure`, names of files whose bytes were
received before, and `open`, names of those of which it cannot be said either way. A name is
the last one that the file got by renaming."""


class Thing:
    """A file, stream or program image, with what went into it."""

    def __init__(self, name=None):
        self.name = name  # of a file; as a source it stands for itself
        self.sure = set()
        self.open = set()
        self.direct = set()  # of `sure`, what came without another file between
        self.writers = set()  # of a file: the images since it was empty

    def take(self, other):
        self.sure |= other.sure
        self.open |= other.open
        self.direct |= {other.name} if other.name else other.direct
        if other.name:
            self.sure.add(other.name)

    def clear(self):
        for names in self.sure, self.open, self.direct, self.writers:
            names.clear()


class Truth:
    """What is true after the steps so far."""

    def __init__(self):
        self.names = {}  # name in the folder: file
        self.objects = {}  # object as programs name it: file or stream
        self.images = {}

    def file(self, name):
        """The file that has the name; a new one where there is none."""
        if name not in self.names:
            self.names[name] = Thing(name)
        return self.names[name]

    def image(self, name):
        if name not in self.images:
            self.images[name] = Thing()
        return self.images[name]

    def object(self, name):
        if name not in self.objects:
            if name.startswith('f:'):
                raise ValueError(f'{name} was read or written and never opened')
            self.objects[name] = Thing()
        return self.objects[name]

    def said(self, process, verb, words):
        """One line of a program."""
        getattr(self, 'on_' + verb)(process, *words)

    def on_at(self, _, thing, name):
        self.objects[thing] = self.file(name)
        if thing.startswith('m:'):
            self.objects[thing].name = None

    def on_new(self, _, thing):
        self.object(thing).clear()

    def on_got(self, process, thing):
        self.image(process).take(self.object(thing))

    def on_put(self, process, thing):
        target, image = self.object(thing), self.image(process)
        target.sure |= image.sure - {target.name}
        target.open |= image.open - {target.name}
        target.direct |= image.direct
        target.writers.add(process)

    def on_fork(self, process, child):
        self.image(child).take(self.image(process))

    def on_exec(self, process, given):
        pid, number = process.split('.')
        old, new = self.image(process), self.image(f'{pid}.{int(number) + 1}')
        new.open |= old.open | old.sure
        if given == '1':
            new.sure |= old.sure
            new.direct |= old.direct

    def on_rename(self, _, old, new):
        self.names[new] = self.names.pop(old)
        self.names[new].name = new

    def on_link(self, _, old, new):
        self.names[new] = self.names[old]

    def on_unlink(self, _, name):
        self.names.pop(name, None)

    def declared(self, output, sure=(), maybe=(), direct=None):
        """A step whose truth stands beside it: output was written from the files `sure`, and perhaps those of `maybe`. `direct`:
        those without another file between, if that is not all of `sure`."""
        sources = [self.file(name) for name in sure], [self.file(name) for name in maybe]
        target = self.file(output)
        new = Thing()
        for source in sources[0]:
            new.take(source)
        for source in sources[1]:
            new.open |= source.sure | source.open | {source.name}
        target.clear()
        target.direct |= {self.file(name).name for name in (sure if direct is None else direct)}
        target.sure |= new.sure - {target.name}
        target.open |= new.open - {target.name}
