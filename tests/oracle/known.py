"""known.py - the errors that are known of, and the counts of a campaign (doc/oracle.md).

The list has a line for each class and kind: CLASS KIND COUNT, the most pairs that are wrong in one workflow of that step alone.
Behind # stands that the error depends on the moment: it is not always found, and stays listed until somebody takes it out."""
import collections

# What no answer may be; the list of these is the same for steps alone and for workflows.
HARD = ('missed', 'read-false', 'only-fork', 'sure-false', 'sure-open', 'why-sure-false', 'down-missed', 'down-only')
# What an answer should not be; held for steps alone.
SOFT = ('only-possible', 'why-missed')


def read(path):
    """The list: by (class, kind) the count."""
    result = {}
    with open(path) as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if words:
                result[words[0], words[1]] = int(words[2])
    return result


def unlisted(path, most, classes):
    """Of most, the counts by (class, kind), those of these classes that are above the list."""
    listed = read(path)
    return [(*pair, count, listed.get(pair, 0)) for pair, count in sorted(most.items())
            if pair[0] in classes and count > listed.get(pair, 0)]


def unfound(path, most):
    """What the list has above most, but for what is not always found."""
    listed = []
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if words and '#' not in line and most.get((words[0], words[1]), 0) < int(words[2]):
                listed.append((words[0], words[1], int(words[2])))
    return listed


def shorten(path, most):
    """Lowers the counts of the list to what was found, and takes out those that were not found."""
    kept = []
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if words and '#' not in line:
                count = min(int(words[2]), most.get((words[0], words[1]), 0))
                line = line.replace(f' {words[2]}', f' {count}', 1) if count else ''
            kept.append(line)
    with open(path, 'w') as out:
        out.writelines(kept)


def add_campaign(path, report, first, count, seconds):
    """Adds these seeds, which took so many seconds of processor time, to the counts in path."""
    counts, next_seed = collections.Counter(), 0
    notes = []
    try:
        with open(path) as lines:
            for line in lines:
                words = line.split()
                if line.startswith('#'):
                    notes.append(line)
                elif words[0] == 'next':
                    next_seed = int(words[1])
                else:
                    counts[tuple(words[:-1])] += int(words[-1])
    except FileNotFoundError:
        notes.append('# oracle.py seeds --campaign: workflows by seed, and the wrong pairs in them, by class and kind of step\n')
    counts['workflows',] += report.workflows
    counts['steps',] += report.steps
    counts['true-pairs',] += report.true
    counts['void',] += len(report.void)
    counts['cpu-seconds',] += round(seconds)
    for (what, kind), number in report.counts.items():
        counts[what, kind] += number
    for what, number in report.followed.items():
        counts[what, 'following'] += number
    with open(path, 'w') as out:
        out.writelines(notes)
        out.write(f'next {max(next_seed, first + count)}\n')
        for key, number in sorted(counts.items(), key=lambda c: (len(c[0]), c[0])):
            if number:
                out.write(f'{" ".join(key)} {number}\n')


def next_of_campaign(path):
    try:
        with open(path) as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith('next '))
    except FileNotFoundError:
        return 0
