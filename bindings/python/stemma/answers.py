"""stemma.answers - what a Record answers: the dicts and lists of the commands' JSON, with ways to look at them.

    record.runs().to_frame()                     a pandas.DataFrame, a row for each run
    record.lineage('out.vcf').to_frame()         a row for each edge
    record.lineage('out.vcf').to_networkx()      a networkx.DiGraph; edges go as the data went

In a notebook an answer shows itself as a table or as a tree. Names in a record can be anything: they are always quoted.
"""

import html

__all__ = ['Rows', 'Why', 'Lineage']

_MOST_SHOWN = 200  # lines of a tree, rows of a table
_REPLACED = {code: f'\\x{code:02x}' for code in [*range(32), 127, *range(128, 160)]}
_REPLACED.update({code: f'\\u{code:04x}' for code in [0x200e, 0x200f, *range(0x202a, 0x202f), *range(0x2066, 0x206a)]})


def _clean(text):
    """For HTML: quoted, and no control character or one that turns the order of text around."""
    return html.escape(str(text).translate(_REPLACED))


def _command(words):
    return ' '.join(str(word) for word in words)


def _frame(rows):
    import pandas  # pylint: disable=import-outside-toplevel
    return pandas.DataFrame(rows)


def _table(rows, columns):
    head = ''.join(f'<th scope="col">{_clean(name)}</th>' for name in columns)
    body = ''.join('<tr>' + ''.join(f'<td>{_clean(row.get(name, ""))}</td>' for name in columns) + '</tr>'
                   for row in rows[:_MOST_SHOWN])
    more = f'<p>{len(rows) - _MOST_SHOWN} more rows</p>' if len(rows) > _MOST_SHOWN else ''
    return f'<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


class Rows(list):
    """A list of dicts: runs, files, or the rows of a SPARQL query."""

    def to_frame(self):
        """A pandas.DataFrame, a row for each; a command is one text, an exit status a number, times are times."""
        rows = []
        for one in self:
            row = dict(one)
            for name in ('command', 'argv'):
                if isinstance(row.get(name), list):
                    row[name] = _command(row[name])
            if isinstance(row.get('exit'), dict):
                row['exit'] = row['exit'].get('status', row['exit'].get('signal'))
            rows.append(row)
        frame = _frame(rows)
        for name in ('start', 'end', 'time', 'mtime'):
            if name in frame and all(isinstance(value, str) for value in frame[name].dropna()):
                import pandas  # pylint: disable=import-outside-toplevel
                frame[name] = pandas.to_datetime(frame[name], errors='coerce', utc=True, format='ISO8601')
        return frame

    def _repr_html_(self):
        columns = []
        for row in self[:_MOST_SHOWN]:
            columns += [name for name in row if name not in columns]
        shown = [{name: _command(value) if name in ('command', 'argv') and isinstance(value, list) else value
                  for name, value in row.items()} for row in self]
        return _table(shown, columns)


class Why(dict):
    """What made a file, and from what: stemma why."""

    def _repr_html_(self):
        makers = [_command(maker['argv']) for maker in self.get('makers', [])]
        sources = [one.get('path', '') + ('' if one.get('certainty') == 'must' else ' ?') for one in self.get('inputs', [])]
        return _table([{'file': self['entity'].get('path', ''), 'made by': ' | '.join(reversed(makers)) or 'nobody that was recorded',
                        'from': ', '.join(sources)}], ['file', 'made by', 'from'])


class Lineage(dict):
    """All that a file came from, or all that came from it: stemma lineage."""

    _FLOWS = ('used', 'wasGeneratedBy', 'wasDerivedFrom', 'wasInformedBy')

    def names(self):
        """What each node is called: the path of a file with its version, or the command of a program."""
        found = {one['id']: f'{one.get("path") or one.get("kind", "")}@{{{one.get("version", "")}}}'
                 for one in self.get('entities', [])}
        for one in self.get('executions', []):
            found[one['id']] = _command(one.get('argv') or [one.get('exe') or f'process {one.get("pid")}'])
        for one in [*self.get('stages', []), *self.get('workflows', []), *self.get('activities', [])]:
            kind, name = one.get('kind', ''), one.get('name') or _command(one.get('argv', [])) or one['id']
            found.setdefault(one['id'], name if kind in ('', 'program') else f'{kind} {name}')
        return found

    def _edges(self):
        return [one for one in self.get('edges', []) if one['type'] in self._FLOWS]

    def to_frame(self):
        """A pandas.DataFrame, a row for each edge: source, product, relation, certainty, as the data went."""
        names = self.names()
        return _frame([{'source': names.get(one['to'], one['to']), 'product': names.get(one['from'], one['from']),
                        'relation': one['type'], 'certainty': one.get('certainty')} for one in self._edges()])

    def to_networkx(self):
        """A networkx.DiGraph. Nodes are ids, with name, node (file, program or stage) and all that the answer has of them; edges go
        from source to product, with relation and certainty."""
        import networkx  # pylint: disable=import-outside-toplevel
        graph, names = networkx.DiGraph(root=self.get('root')), self.names()
        for kind, key in (('file', 'entities'), ('program', 'executions'), ('stage', 'stages')):
            for one in self.get(key, []):
                graph.add_node(one['id'], **{**one, 'name': names[one['id']], 'node': kind})
        for one in self._edges():
            if graph.has_edge(one['to'], one['from']) and one.get('certainty') != 'must':
                continue
            graph.add_edge(one['to'], one['from'], relation=one['type'], certainty=one.get('certainty'))
        return graph

    def _repr_html_(self):
        names, below = self.names(), {}
        for one in self._edges():
            below.setdefault(one['from'], {}).setdefault(one['to'], one.get('certainty') == 'must')
            if one.get('certainty') == 'must':
                below[one['from']][one['to']] = True
        root = self.get('root')
        if root not in below:  # asked downwards: the other way round
            turned = {}
            for product, sources in below.items():
                for source, sure in sources.items():
                    turned.setdefault(source, {})[product] = sure
            below = turned
        lines, seen, left = [], set(), 0
        stack = [(root, True, 0)]
        depth = -1
        while stack:
            node, sure, level = stack.pop()
            if len(seen) >= _MOST_SHOWN:
                left += 1
                continue
            lines.append('<ul>' * (level - depth) if level > depth else '</ul>' * (depth - level))
            depth = level
            again = node in seen
            seen.add(node)
            lines.append(f'<li>{_clean(names.get(node, node))}{"" if sure else " ?"}{" (above)" if again and below.get(node) else ""}</li>')
            if not again:
                stack += [(other, certain, level + 1) for other, certain in sorted(below.get(node, {}).items(), reverse=True)]
        lines.append('</ul>' * (depth + 1))
        more = f'<p>{left} more: to_frame() has all</p>' if left else ''
        return ''.join(lines) + more
