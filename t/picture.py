"""picture.py - the parts of a picture that stemma drew: of an SVG file, boxes and links.

    p = Picture(path)
    p.boxes     Box: kind (classes), x, y, w, h, names (its texts), rects (3 of a stack)
    p.links     (class, (x, y) where it begins, (x, y) where it ends)
"""

import collections
import re
import xml.dom.minidom

Box = collections.namedtuple('Box', 'kind x y w h names rects')


class Picture:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.text = f.read()
        self.doc = xml.dom.minidom.parseString(self.text.encode())
        self.boxes = [self.box(g) for g in self.of('g')]
        self.links = [self.link(p) for p in self.of('path') if p.getAttribute('class').startswith('link') and self.of('title', p)]
        root = self.of('svg')[0]
        self.width, self.height = float(root.getAttribute('width')), float(root.getAttribute('height'))

    def of(self, name, within=None):
        return (within or self.doc).getElementsByTagName(name)

    @staticmethod
    def said(e):
        return ''.join(c.data for c in e.childNodes if c.nodeType == c.TEXT_NODE)

    def box(self, g):
        rects = self.of('rect', g)
        at = [float(rects[-1].getAttribute(k)) for k in ('x', 'y', 'width', 'height')]
        return Box(rects[-1].getAttribute('class'), *at, [self.said(t) for t in self.of('text', g)], len(rects))

    @staticmethod
    def link(p):
        n = [float(v) for v in re.findall(r'-?[\d.]+', p.getAttribute('d'))]
        return p.getAttribute('class'), tuple(n[:2]), tuple(n[-2:])

    def named(self, word):
        return [b for b in self.boxes if any(word in t for t in b.names)]

    def inside(self, frame):
        return [b for b in self.boxes if b.kind != 'frame' and frame.x <= b.x and b.x + b.w <= frame.x + frame.w and frame.y <= b.y and b.y + b.h <= frame.y + frame.h]

    def words(self):
        return [self.said(t) for t in self.of('text')]
