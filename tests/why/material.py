#!/usr/bin/env python3
"""material.py WHAT ARG... - small files for the cases, the same each time.

  genome FILE [LENGTH]        one chromosome, chr1, as FASTA
  reads GENOME FILE SEED      200 reads of it with a few changes, as FASTQ
  table FILE ROWS COLUMN...   numbers with a head line, as CSV
  wav FILE HERTZ              half a second of a tone
  ppm FILE COLOUR             a picture of 32 x 32"""
import math
import random
import struct
import sys
import wave


def genome(path, length='3000'):
    chance = random.Random(1)
    bases = ''.join(chance.choice('ACGT') for _ in range(int(length)))
    with open(path, 'w', encoding='ascii') as out:
        out.write('>chr1\n' + '\n'.join(bases[i:i + 60] for i in range(0, len(bases), 60)) + '\n')


def reads(source, path, seed):
    chance = random.Random(int(seed))
    with open(source, encoding='ascii') as text:
        bases = list(''.join(text.read().split('\n')[1:]))
    for place in random.Random(99).sample(range(len(bases)), 8):  # each sample has these variants
        bases[place] = {'A': 'C', 'C': 'A', 'G': 'T', 'T': 'G'}[bases[place]]
    with open(path, 'w', encoding='ascii') as out:
        for n in range(200):
            begin = chance.randrange(len(bases) - 100)
            out.write(f'@r{seed}.{n}\n{"".join(bases[begin:begin + 100])}\n+\n{"I" * 100}\n')


def table(path, rows, *columns):
    chance = random.Random(len(path) + int(rows))
    with open(path, 'w', encoding='ascii') as out:
        out.write(','.join(columns) + '\n')
        for n in range(int(rows)):
            out.write(','.join([str(n)] + [f'{chance.uniform(0, 9):.3f}' for _ in columns[1:]]) + '\n')


def wav(path, hertz):
    with wave.open(path, 'wb') as out:
        out.setparams((1, 2, 8000, 0, 'NONE', ''))
        out.writeframes(b''.join(struct.pack('<h', int(9000 * math.sin(i * int(hertz) * 2 * math.pi / 8000))) for i in range(4000)))


def ppm(path, colour):
    with open(path, 'w', encoding='ascii') as out:
        out.write('P3 32 32 255\n' + '\n'.join(f'{x * 8} {int(colour) % 256} {y * 8}' for y in range(32) for x in range(32)) + '\n')


if __name__ == '__main__':
    {'genome': genome, 'reads': reads, 'table': table, 'wav': wav, 'ppm': ppm}[sys.argv[1]](*sys.argv[2:])
