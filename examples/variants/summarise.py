#!/usr/bin/env python3
"""summarise.py VCF... - one table of the variants in several VCF files: where each was seen, and how well."""

import os
import sys


def variants(path):
    """Yields (place, change, quality, depth) for each record of a VCF file."""
    with open(path, encoding='ascii') as lines:
        for line in lines:
            if line.startswith('#'):
                continue
            chromosome, position, _, ref, alt, quality, _, info = line.split('\t')[:8]
            depth = dict(item.partition('=')[::2] for item in info.split(';'))['DP']
            yield (chromosome, int(position)), f'{ref}>{alt}', float(quality), int(depth)


def main():
    samples = [os.path.basename(path).removesuffix('.vcf') for path in sys.argv[1:]]
    seen = {}
    for sample, path in zip(samples, sys.argv[1:]):
        for place, change, quality, depth in variants(path):
            seen.setdefault((place, change), {})[sample] = f'{quality:.0f}/{depth}'
    print('sequence', 'position', 'change', *samples, sep='\t')
    for (place, change), found in sorted(seen.items()):
        print(*place, change, *(found.get(sample, '-') for sample in samples), sep='\t')


if __name__ == '__main__':
    main()
