! Every read and write of MPI-IO, each write read back by its like. Usage: transfers FILE RECORD
! The calls are in transfer_calls.inc, which ../transfer_calls.py writes from the table of MPI functions.
#include "binding.inc"
module transfers
  USE_BINDING
  use record
  implicit none
  INCLUDE_BINDING
  private
  public :: run_all
  integer, parameter :: n = 50  ! integers per call and rank

contains

  integer(kind=MPI_OFFSET_KIND) function own_place(step)
    integer, intent(in) :: step
    own_place = int(step, MPI_OFFSET_KIND)*ranks*n + rank*n
  end function

  integer(kind=MPI_OFFSET_KIND) function shared_place(step)
    integer, intent(in) :: step
    shared_place = int(step, MPI_OFFSET_KIND)*ranks*n
  end function

  subroutine fill(values, step)
    integer, intent(out) :: values(n)
    integer, intent(in) :: step
    integer :: i
    values = [(1000000*step + 1000*rank + i, i=1, n)]
  end subroutine

  subroutine compare(values, step, what)
    integer, intent(in) :: values(n), step
    character(len=*), intent(in) :: what
    integer :: expected(n)
    call fill(expected, step)
    call must(all(values == expected), 'values of '//what)
  end subroutine

#include "transfer_calls.inc"

end module

program main
  USE_BINDING
  use record
  use transfers
  implicit none
  INCLUDE_BINDING
  FILE_HANDLE :: file
  integer :: ierror, provided
  character(len=200) :: name
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierror)
  call start_record(name)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
  call must(ierror == MPI_SUCCESS, 'open')
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
  call run_all(file)
  call MPI_File_close(file, ierror)
  call must(ierror == MPI_SUCCESS, 'close')
  call MPI_Finalize(ierror)
end program
