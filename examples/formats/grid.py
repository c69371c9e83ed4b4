"""grid.py TABLE STORE - readings of stations by hour, as a Zarr store: temperature and humidity, a chunk for each day."""
import sys

import numpy
import zarr

table = numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1)
hours = len(table) // 4
store = zarr.open_group(sys.argv[2], mode='w')
for column, name in (2, 'temperature'), (3, 'humidity'):
    store.create_dataset(name, data=table[:, column].reshape(hours, 4), chunks=(24, 4))
