! What MPI gave back, line by line, one file per rank: the same plain and under pmio.
#include "binding.inc"
module record
  USE_BINDING
  implicit none
  INCLUDE_BINDING
  private
  public :: rank, ranks, start_record, say, say_int, say_logical, say_text, say_error, say_count, must
  integer, parameter :: unit_of_record = 20
  integer :: rank = -1, ranks = 0

contains

  ! Takes the names of the data file and of the records from the command line.
  subroutine start_record(data_file)
    character(len=*), intent(out) :: data_file
    character(len=300) :: name, digits
    integer :: ierror
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call get_command_argument(1, data_file)
    call get_command_argument(2, name)
    write (digits, '(i0)') rank
    open (unit_of_record, file=trim(name)//'.'//trim(digits), action='write', status='replace')
  end subroutine

  subroutine say(what, number)
    character(len=*), intent(in) :: what
    integer(kind=MPI_OFFSET_KIND), intent(in) :: number
    write (unit_of_record, '(a,1x,i0)') what, number
    flush (unit_of_record)
  end subroutine

  subroutine say_int(what, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: number
    call say(what, int(number, MPI_OFFSET_KIND))
  end subroutine

  subroutine say_logical(what, flag)
    character(len=*), intent(in) :: what
    logical, intent(in) :: flag
    call say_int(what, merge(1, 0, flag))
  end subroutine

  subroutine say_text(what, text)
    character(len=*), intent(in) :: what, text
    write (unit_of_record, '(5a)') what, ' [', text, ']'
  end subroutine

  ! Error codes differ between plain and pmio; their classes must not. Not for errors that Open MPI has no class for: then the
  ! code is none of its own.
  subroutine say_error(what, code)
    character(len=*), intent(in) :: what
    integer, intent(in) :: code
    integer :: class, ierror
    call MPI_Error_class(code, class, ierror)
    call say_int(what//' error class', class)
  end subroutine

  subroutine say_count(what, status)
    character(len=*), intent(in) :: what
    STATUS_OBJECT, intent(in) :: status
    integer :: number, ierror
    call MPI_Get_count(status, MPI_INTEGER, number, ierror)
    call say_int(what//' count', number)
  end subroutine

  ! A value that is wrong ends the job, plain or not.
  subroutine must(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    integer :: ierror
    if (ok) return
    write (0, '(a,i0,2a)') 'rank ', rank, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end module
