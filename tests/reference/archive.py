"""archive.py - the statistics and the advice of the archive again, slow and plain, from the formulas.

Written from src/archive/stats.h and sizing.h, not from their code: sums over lists, every candidate tried. Tests compare
the commands' answers with these (t/t0730-archive.sh, t/t0740-advise.sh).
"""

import math


# ---- statistics ----

def quantile(values, q):
    v = sorted(values)
    at = (len(v) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(v) - 1)
    return v[low] * (1 - (at - low)) + v[high] * (at - low)


def statistics(values):
    n = len(values)
    mean = math.fsum(values) / n
    m2, m3, m4 = (math.fsum((x - mean) ** k for x in values) / n for k in (2, 3, 4))
    found = {'count': n, 'mean': mean, 'min': min(values), 'max': max(values)}
    found['std_dev'] = math.sqrt(m2 * n / (n - 1)) if n > 1 else None
    same = min(values) == max(values)
    found['skewness'] = None if same else m3 / m2 ** 1.5
    found['kurtosis'] = None if same else m4 / m2 ** 2 - 3
    for p in (5, 25, 50, 75, 95, 99):
        found['p%d' % p] = quantile(values, p / 100)
    return found


def histogram(values, bins):
    low, high = min(values), max(values)
    counts = [0] * bins
    for x in values:
        place = int((x - low) / (high - low) * bins) if high > low else 0
        counts[min(place, bins - 1)] += 1
    return counts


# ---- how much to ask for ----

class Task:
    def __init__(self, need, time=1.0, given=None, censored=False):
        self.need, self.time, self.given, self.censored = need, time, given, censored


def shares(tasks):
    """[(task, P of it)], and what P leaves beyond all of them: Kaplan and Meier's estimate, as a product."""
    ordered = sorted(tasks, key=lambda t: (t.need, t.censored))
    survival, found = 1.0, []
    for i, t in enumerate(ordered):
        at_risk = len(ordered) - i
        after = survival if t.censored else survival * (at_risk - 1) / at_risk
        found.append((t, survival - after))
        survival = after
    return found, survival


def by_maximum(tasks):
    return 1.2 * max(t.need for t in tasks)


def top_of(tasks):
    _, rest = shares(tasks)
    return max(t.need for t in tasks) * (2 if rest > 1e-12 else 1)


def by_quantile(tasks, q):
    found, _ = shares(tasks)
    for t, _ in found:
        if math.fsum(p for u, p in found if u.need <= t.need) >= q - 1e-9:
            return t.need
    return top_of(tasks)


def everything(tasks):
    """[(need, time, P)], with the rest of P at the top."""
    found, rest = shares(tasks)
    points = [(t.need, t.time, p) for t, p in found if p > 0]
    if rest > 1e-12:
        points.append((top_of(tasks), math.fsum(t.time for t in tasks) / len(tasks), rest))
    return points


def wasted(points, top, a):
    mean_time = math.fsum(p * t for _, t, p in points)
    return a * mean_time + top * math.fsum(p * t for r, t, p in points if r > a)


def rate(points, top, a):
    mean_time = math.fsum(p * t for _, t, p in points)
    enough = math.fsum(p for r, _, p in points if r <= a)
    again = math.fsum(p * t for r, t, p in points if r > a)
    return (top / a * enough + math.fsum(p for r, _, p in points if r > a)) / (mean_time + again)


def line(tasks, q):
    """offset, slope, margin; None: there is none."""
    whole = [t for t in tasks if t.given is not None and not t.censored]
    if len(whole) < 3:
        return None
    n = len(whole)
    mx, my = math.fsum(t.given for t in whole) / n, math.fsum(t.need for t in whole) / n
    sxx = math.fsum((t.given - mx) ** 2 for t in whole)
    sxy = math.fsum((t.given - mx) * (t.need - my) for t in whole)
    if sxx <= 0 or sxy <= 0:
        return None
    slope = sxy / sxx
    offset = my - slope * mx
    rest = [Task(t.need - offset - slope * t.given, censored=t.censored) for t in tasks if t.given is not None]
    found, _ = shares(rest)
    for t, _ in found:
        if math.fsum(p for u, p in found if u.need <= t.need) >= q - 1e-9:
            return offset, slope, t.need
    return offset, slope, max(t.need for t in rest)


METHODS = ('maximum', 'quantile', 'waste', 'throughput', 'regression', 'regression97', 'regression95')


class Advice:
    """What each method asks for; made once from the tasks so far."""

    def __init__(self, tasks, q):
        points = everything(tasks)
        top = top_of(tasks)
        candidates = sorted({r for r, _, _ in points if r > 0}, reverse=True)
        self.most = max(t.need for t in tasks)
        self.fixed = {'maximum': by_maximum(tasks), 'quantile': by_quantile(tasks, q),
                      'waste': min(candidates, key=lambda a: wasted(points, top, a)),
                      'throughput': max(candidates, key=lambda a: rate(points, top, a))}
        # by a line: the share of the tasks that is to lie below it and its margin
        self.lines = {'regression': line(tasks, q), 'regression97': line(tasks, .97), 'regression95': line(tasks, .95)}
        self.line = self.lines['regression']

    def ask(self, method, given):
        if method not in self.lines:
            return self.fixed[method]
        if self.lines[method] is None or given is None:
            return None
        offset, slope, margin = self.lines[method]
        answer = offset + slope * given + margin
        return answer if answer > 0 else None


def backtest(tasks, warm_up, q, growth=32):
    """For each method: tasks, failed, attempts, allocated, used."""
    found = {m: [0, 0, 0, 0.0, 0.0] for m in METHODS}
    advice, known = None, 0
    for i, t in enumerate(tasks):
        if i < warm_up:
            continue
        if advice is None or i - known >= 1 + known // growth:
            advice, known = Advice(tasks[:i], q), i
        if t.censored:
            continue
        for m in METHODS:
            a = advice.ask(m, t.given)
            if a is None:
                continue
            f = found[m]
            f[0] += 1
            f[1] += a < t.need
            while a < t.need:
                f[2] += 1
                f[3] += a * t.time
                a = advice.most if advice.most > a else 2 * a
            f[2] += 1
            f[3] += a * t.time
            f[4] += t.need * t.time
    return found
