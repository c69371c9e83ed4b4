import h5py; f = h5py.File('names.h5', 'a'); f.move('grp/deep', 'top'); f.close()
