! h5steps STEP FILE...: one step of a small workflow on HDF5 files in Fortran. Each step prints what it did to which object, as
! tests/hdf5/h5steps.c does.
!
!   make OUT      group /raw, /raw/trace (10 x 5 double), its attribute rate
!   mean IN OUT   OUT//mean from rows of IN//raw/trace, attribute rate copied
program h5steps
  use hdf5
  implicit none
  character(len=256) :: step, a, b
  real(8) :: trace(5, 10), part(5, 4), mean(5), rate(1)
  integer(hid_t) :: f, g, d, s, m, at, other
  integer(hsize_t) :: dims(2) = (/5, 10/), from(2) = (/0, 2/), n(2) = (/5, 4/), one(1) = (/1/), five(1) = (/5/)
  integer :: err, i
  call get_command_argument(1, step)
  call get_command_argument(2, a)
  call get_command_argument(3, b)
  call h5open_f(err)
  select case (step)
  case ('make')
    trace = reshape((/(real(i, 8), i = 1, 50)/), (/5, 10/))
    rate = 500
    call h5fcreate_f(trim(a), h5f_acc_trunc_f, f, err)
    call h5gcreate_f(f, 'raw', g, err)
    call h5screate_simple_f(2, dims, s, err)
    call h5dcreate_f(g, 'trace', h5t_native_double, s, d, err)
    call h5dwrite_f(d, h5t_native_double, trace, dims, err)
    call h5screate_simple_f(1, one, m, err)
    call h5acreate_f(d, 'rate', h5t_native_double, m, at, err)
    call h5awrite_f(at, h5t_native_double, rate, one, err)
    call h5aclose_f(at, err)
    call h5dclose_f(d, err)
    call h5gclose_f(g, err)
    call h5fclose_f(f, err)
    print '(a)', 'write '//trim(a)//'//', 'write '//trim(a)//'//raw', 'write '//trim(a)//'//raw/trace', &
      'write '//trim(a)//'//raw/trace@rate'
  case ('mean')
    call h5fopen_f(trim(a), h5f_acc_rdonly_f, f, err)
    call h5dopen_f(f, '/raw/trace', d, err)
    call h5dget_space_f(d, s, err)
    call h5sselect_hyperslab_f(s, h5s_select_set_f, from, n, err)
    call h5screate_simple_f(2, n, m, err)
    call h5dread_f(d, h5t_native_double, part, n, err, m, s)
    call h5aopen_f(d, 'rate', at, err)
    call h5aread_f(at, h5t_native_double, rate, one, err)
    call h5aclose_f(at, err)
    call h5dclose_f(d, err)
    call h5fclose_f(f, err)
    mean = sum(part, 2) / 4
    call h5fcreate_f(trim(b), h5f_acc_trunc_f, other, err)
    call h5screate_simple_f(1, five, s, err)
    call h5dcreate_f(other, 'mean', h5t_native_double, s, d, err)
    call h5dwrite_f(d, h5t_native_double, mean, five, err)
    call h5screate_simple_f(1, one, m, err)
    call h5acreate_f(d, 'rate', h5t_native_double, m, at, err)
    call h5awrite_f(at, h5t_native_double, rate, one, err)
    call h5aclose_f(at, err)
    call h5dclose_f(d, err)
    call h5fclose_f(other, err)
    print '(a)', 'read '//trim(a)//'//raw/trace', 'read '//trim(a)//'//raw/trace@rate', 'write '//trim(b)//'//', &
      'write '//trim(b)//'//mean', 'write '//trim(b)//'//mean@rate'
  end select
  call h5close_f(err)
end program
