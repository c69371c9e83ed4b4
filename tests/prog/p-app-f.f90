! The list of p-app.c in Fortran.
program p_app
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use stemma_app
  implicit none
  integer(c_int64_t) :: epoch, batch, worker
  character(len=:), allocatable :: large
  integer :: is
  call stemma_type('training')
  call stemma_config('learning_rate', '0.01', version='v2')
  call stemma_config('batch size', '32')
  call stemma_config('words', 'Gr' // char(195) // char(188) // char(195) // char(159) // 'e' // char(10) // &
    char(230) // char(151) // char(165) // char(230) // char(156) // char(172))
  large = repeat('x', 1048576)
  call stemma_config('large', large)
  call stemma_metric('accuracy', 0.5d0, step=1_c_int64_t)
  call stemma_metric('accuracy', 0.75d0, step=2_c_int64_t)
  call stemma_metric('accuracy', 0.625d0, step=3_c_int64_t)
  call stemma_metric('loss', 0.25d0)
  epoch = stemma_begin('epoch')
  batch = stemma_begin('batch')
  call stemma_used('input.csv')
  call stemma_end(batch)
  call stemma_end(epoch)
  call stemma_generated('model.bin')
  call stemma_tag('purpose', 'test')
  !$omp parallel num_threads(2) private(worker)
  !$omp sections
  !$omp section
  continue
  !$omp section
  worker = stemma_begin('worker')
  call stemma_metric('threaded', 1.0d0, step=0_c_int64_t)
  call stemma_end(worker)
  !$omp end sections
  !$omp end parallel
  is = 0
  if (stemma_present()) is = 1
  if (is == 1) then
    print '(i0, 1x, a)', is, stemma_run()
  else
    print '(i0, 1x, a)', is, '-'
  end if
end program p_app
