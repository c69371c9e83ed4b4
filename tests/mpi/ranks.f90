! The same through Fortran: each rank writes 10 reals at a place of its own, all together.
program ranks
  use mpi
  implicit none
  integer :: rank, size, f, err
  real(8) :: x(10)
  integer(kind=MPI_OFFSET_KIND) :: at
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, size, err)
  call MPI_File_open(MPI_COMM_WORLD, 'fortran.dat', ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, f, err)
  x = rank
  at = rank * 80
  call MPI_File_write_at_all(f, at, x, 10, MPI_REAL8, MPI_STATUS_IGNORE, err)
  call MPI_File_close(f, err)
  print '(i0, 1x, i0)', rank, size
  call MPI_Finalize(err)
end program ranks
