"""days.py STORE FILE FROM TO - means of days FROM to TO (without TO) of a Zarr store, as datasets of an HDF5 file."""
import sys

import h5py
import zarr

store = zarr.open_group(sys.argv[1], mode='r')
first, last = int(sys.argv[3]), int(sys.argv[4])
with h5py.File(sys.argv[2], 'w') as f:
    for name in 'temperature', 'humidity':
        hours = store[name][24 * first:24 * last]
        f['mean_' + name] = hours.reshape(last - first, 24, 4).mean(axis=1)
