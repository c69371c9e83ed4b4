"""report_data.py - reads the data of a page of `stemma report`, as doc/report.md has it.

    r = Report(path)
    r.ids[node], r.files('size', i), r.edges()
"""

import base64
import json
import re

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


class Report:
    def __init__(self, path):
        with open(path, encoding='utf-8', newline='') as f:
            self.page = f.read()
        [text] = DATA.findall(self.page)
        self.text = text
        self.raw = json.loads(text)
        self.n_files = self.raw['files']['rows']
        self.n = self.n_files + self.raw['executions']['rows']
        ids = base64.b64decode(self.raw['ids'])
        assert len(ids) == 12 * self.n
        self.ids = [('v' if i < self.n_files else 'x') + ids[12 * i:12 * i + 12].hex() for i in range(self.n)]

    def column(self, table, name):
        rows, column = self.raw[table]['rows'], self.raw[table][name]
        if isinstance(column, list):
            assert len(column) == rows
            return column
        all_, row = [column['else']] * rows, 0
        for distance, value in zip(column['at'], column['values'], strict=True):
            row += distance
            all_[row] = value
        return all_

    def string(self, i):
        """As bytes."""
        if i is None:
            return b''
        exact = self.raw['exact'].get(str(i))
        return base64.b64decode(exact) if exact else self.raw['strings'][i].encode('utf-8', 'surrogatepass')

    def list(self, i):
        return [self.string(s) for s in self.raw['lists'][i]] if i is not None else []

    def paths(self):
        """Of each file."""
        return [self.string(b) if d is None else self.string(d) + b'/' + self.string(b)
                for d, b in zip(self.column('files', 'dir'), self.column('files', 'base'))]

    def edges(self):
        """(type, from, to, how, row), from and to as ids."""
        at, all_ = 0, []
        for k, (d, to, how) in enumerate(zip(*(self.column('edges', c) for c in ('from', 'to', 'how')))):
            at += d
            all_.append((self.raw['hows'][how]['type'], self.ids[at], self.ids[to], self.raw['hows'][how], k))
        return all_

    def sources(self):
        """Files of the lineage that nobody in it made, nor are derived from another."""
        made = {e[1] for e in self.edges() if e[0] in ('wasGeneratedBy', 'wasDerivedFrom')}
        outside = set(self.raw['outside'])
        return {self.ids[i] for i in range(self.n_files) if i not in outside and self.ids[i] not in made}
