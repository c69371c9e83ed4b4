! stemma_app - include/stemma/app.h for Fortran 2003 and later. Compile it with the program's own compiler, and link with
! -lstemma-app:
!
!     use stemma_app
!     call stemma_config('learning_rate', '0.01')
!     epoch = stemma_begin('epoch')
!     call stemma_metric('accuracy', 0.93d0, step=1_c_int64_t)
!     call stemma_end(epoch)
!
! Blanks at the end of a name are not part of it; those of a value are kept (trim it where they are not meant). Nothing is
! allocated, nothing is copied: strings are handed over where they are.
module stemma_app
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_double, c_size_t, c_ptr, c_loc, c_null_ptr, c_char, &
    c_f_pointer, c_associated
  implicit none
  private
  public :: stemma_present, stemma_run, stemma_type, stemma_config, stemma_metric, stemma_begin, stemma_end, stemma_used, &
    stemma_generated, stemma_tag

  integer(c_int), parameter :: kind_type = 1, kind_config = 2, kind_metric = 3, kind_begin = 4, kind_end = 5, &
    kind_used = 6, kind_generated = 7, kind_tag = 8
  integer(c_int64_t), parameter :: no_step = -huge(0_c_int64_t) - 1_c_int64_t

  interface
    function c_say(what, name, name_size, value, value_size, version, version_size, number, step, activity) &
        bind(c, name='stemma_app_say') result(id)
      import :: c_int, c_char, c_size_t, c_double, c_int64_t
      integer(c_int), value :: what
      character(kind=c_char), intent(in) :: name(*), value(*), version(*)
      integer(c_size_t), value :: name_size, value_size, version_size
      real(c_double), value :: number
      integer(c_int64_t), value :: step, activity
      integer(c_int64_t) :: id
    end function c_say
    function c_present() bind(c, name='stemma_app_present') result(is)
      import :: c_int
      integer(c_int) :: is
    end function c_present
    function c_run() bind(c, name='stemma_app_run') result(id)
      import :: c_ptr
      type(c_ptr) :: id
    end function c_run
  end interface

contains

  function say(what, name, value, version, number, step, activity) result(id)
    integer(c_int), intent(in) :: what
    character(len=*), intent(in) :: name, value, version
    real(c_double), intent(in) :: number
    integer(c_int64_t), intent(in) :: step, activity
    integer(c_int64_t) :: id
    id = c_say(what, name, len_trim(name, c_size_t), value, len(value, c_size_t), version, len_trim(version, c_size_t), &
      number, step, activity)
  end function say

  subroutine tell(what, name, value, version)
    integer(c_int), intent(in) :: what
    character(len=*), intent(in) :: name, value, version
    integer(c_int64_t) :: id
    id = say(what, name, value, version, 0.0_c_double, no_step, 0_c_int64_t)
  end subroutine tell

  ! Is somebody recording?
  logical function stemma_present()
    stemma_present = c_present() /= 0
  end function stemma_present

  ! The id of the run; blanks: nobody is recording.
  function stemma_run() result(id)
    character(len=26) :: id
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: at
    integer :: i
    id = ' '
    at = c_run()
    if (.not. c_associated(at)) return
    call c_f_pointer(at, text, [26])
    do i = 1, 26
      id(i:i) = text(i)
    end do
  end function stemma_run

  subroutine stemma_type(name)
    character(len=*), intent(in) :: name
    call tell(kind_type, name, '', '')
  end subroutine stemma_type

  subroutine stemma_config(name, value, version)
    character(len=*), intent(in) :: name, value
    character(len=*), intent(in), optional :: version
    if (present(version)) then
      call tell(kind_config, name, value, version)
    else
      call tell(kind_config, name, value, '')
    end if
  end subroutine stemma_config

  subroutine stemma_metric(name, value, step)
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: value
    integer(c_int64_t), intent(in), optional :: step
    integer(c_int64_t) :: at, id
    at = no_step
    if (present(step)) at = step
    id = say(kind_metric, name, '', '', value, at, 0_c_int64_t)
  end subroutine stemma_metric

  function stemma_begin(name) result(id)
    character(len=*), intent(in) :: name
    integer(c_int64_t) :: id
    id = say(kind_begin, name, '', '', 0.0_c_double, no_step, 0_c_int64_t)
  end function stemma_begin

  subroutine stemma_end(activity)
    integer(c_int64_t), intent(in) :: activity
    integer(c_int64_t) :: id
    id = say(kind_end, '', '', '', 0.0_c_double, no_step, activity)
  end subroutine stemma_end

  subroutine stemma_used(name)
    character(len=*), intent(in) :: name
    call tell(kind_used, name, '', '')
  end subroutine stemma_used

  subroutine stemma_generated(name)
    character(len=*), intent(in) :: name
    call tell(kind_generated, name, '', '')
  end subroutine stemma_generated

  subroutine stemma_tag(name, value)
    character(len=*), intent(in) :: name, value
    call tell(kind_tag, name, value, '')
  end subroutine stemma_tag

end module stemma_app
