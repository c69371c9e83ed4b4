"""events.py OUT [N] - N made-up collisions (20,000): three jets each, of which about half come from one top quark.

Each jet is (energy, px, py, pz) in GeV. A triple that comes from a top has an invariant mass near 173 GeV, smeared by the
detector; another has whatever mass three unrelated jets have. The numbers come from a fixed seed: every call makes the same.
"""
import sys

import numpy as np


def directions(rng, n):
    cos = rng.uniform(-1, 1, n)
    phi = rng.uniform(0, 2 * np.pi, n)
    sin = np.sqrt(1 - cos**2)
    return np.stack([sin * np.cos(phi), sin * np.sin(phi), cos], axis=1)


def main():
    out, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = np.random.default_rng(2022)
    energy = rng.gamma(4, 15, (n, 3)) + 20
    jets = np.concatenate([energy[..., None], energy[..., None] * directions(rng, 3 * n).reshape(n, 3, 3)], axis=2)
    total = jets.sum(axis=1)
    mass = np.sqrt(np.maximum(total[:, 0]**2 - (total[:, 1:]**2).sum(axis=1), 1))
    is_top = rng.random(n) < 0.5
    wanted = rng.normal(173, 12, n)
    jets *= np.where(is_top, wanted / mass, 1)[:, None, None]
    np.savez(out, jets=jets.astype(np.float32), is_top=is_top)


main()
