"""rank_lineage.py WAY PREFIX PRODUCT... - the lineage of products by what programs wrote down themselves (files PREFIX.PROGRAM.RANK of
`read OBJECT` and `write OBJECT`, in that order; see examples/dassa/das.h), one object a line. No record is asked.

WAY is `until`: an output came from what its process had read before it wrote that output last; or `program`: from all that its
process read (PROV-IO's queries, by the program). Until: whatever is asked for came from objects, and from those files that are no HDF5
files. By the program objects and files are two kinds of thing: a product that is an object came from these, one that is a file from files.
"""
import glob
import sys


def main():
    way, prefix, products = sys.argv[1], sys.argv[2], sys.argv[3:]
    processes = []
    for name in sorted(glob.glob(glob.escape(prefix) + '.*')):
        with open(name, encoding='utf-8') as f:
            processes.append([line.split(' ', 1) for line in f.read().splitlines()])

    def came_from(product):
        def counts(name):
            objects = '//' in product or way == 'until'
            return ('//' in name) == objects or ('//' not in name and not name.endswith('.h5'))
        found, todo = set(), [product]
        while todo:
            thing = todo.pop()
            for steps in processes:
                writes = [i for i, (what, name) in enumerate(steps) if what == 'write' and name == thing]
                if not writes:
                    continue
                until = writes[-1] if way == 'until' else len(steps)
                for what, name in steps[:until]:
                    if what == 'read' and counts(name) and name not in found:
                        found.add(name)
                        todo.append(name)
        return found

    for product in products:
        print('\n'.join(sorted(came_from(product) | {product})))


main()
