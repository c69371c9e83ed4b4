"""prepare.py CONFIG EVENTS TRAIN TEST - preselection, and one set of events to train with and one to test with."""
import configparser
import sys

import numpy as np

import stemma


def main():
    config = configparser.ConfigParser()
    config.read(sys.argv[1])
    stemma.type('preselection')
    stemma.configs({'preselection': config['preselection']}, version=config['workflow']['version'])
    events = np.load(sys.argv[2])
    jets, is_top = events['jets'], events['is_top']
    kept = jets[:, :, 0].min(axis=1) > config['preselection'].getfloat('least_energy')
    jets, is_top = jets[kept], is_top[kept]
    stemma.metric('events_kept', kept.sum())
    half = len(jets) // 2
    np.savez(sys.argv[3], jets=jets[:half], is_top=is_top[:half])
    np.savez(sys.argv[4], jets=jets[half:], is_top=is_top[half:])


main()
