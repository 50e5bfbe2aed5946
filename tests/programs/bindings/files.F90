! What Fortran programs do with files besides reading and writing. Usage: files FILE RECORD
#include "binding.inc"
module files
  USE_BINDING
  use record
  implicit none
  INCLUDE_BINDING
  private
  public :: run_files
  integer, parameter :: offset_kind = MPI_OFFSET_KIND
  integer, save :: handler_calls = 0, handler_class = -1

contains

  integer(kind=MPI_OFFSET_KIND) function at(index)
    integer, intent(in) :: index
    at = int(index, offset_kind)
  end function

  ! The name comes with trailing blanks, and so do the hint and the data representation.
  subroutine open_file(name, file)
    character(len=*), intent(in) :: name
    FILE_HANDLE, intent(out) :: file
    INFO_HANDLE :: info
    integer :: ierror
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'cb_nodes  ', '1  ', ierror)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, info, file, ierror)
    call must(ierror == MPI_SUCCESS, 'open')
    call MPI_File_set_info(file, info, ierror)
    call say_error('set_info', ierror)
    call MPI_Info_free(info, ierror)
  end subroutine

  subroutine views(file)
    FILE_HANDLE, intent(in) :: file
    TYPE_HANDLE :: filetype, etype, seen
    integer(kind=MPI_OFFSET_KIND) :: disp, offset
    integer(kind=MPI_ADDRESS_KIND) :: lower, extent
    character(len=20) :: datarep
    integer :: ierror
    call MPI_Type_vector(2, 1, 3, MPI_INTEGER, filetype, ierror)
    call MPI_Type_commit(filetype, ierror)
    call MPI_File_set_view(file, at(8), MPI_INTEGER, filetype, 'native    ', MPI_INFO_NULL, ierror)
    call say_error('set_view', ierror)
    call MPI_Type_free(filetype, ierror)
    datarep = 'xxxxxxxxxxxxxxxxxxxx'
    call MPI_File_get_view(file, disp, etype, seen, datarep, ierror)
    call say('displacement', disp)
    call say_text('datarep', datarep)
    call must(etype == MPI_INTEGER, 'etype of get_view')
    call MPI_Type_get_extent(seen, lower, extent, ierror)
    call say('filetype extent', int(extent, offset_kind))
    call MPI_Type_free(seen, ierror)
    call MPI_File_get_byte_offset(file, at(3), offset, ierror)
    call say('byte offset', offset)
    call MPI_File_get_type_extent(file, MPI_DOUBLE_PRECISION, extent, ierror)
    call say('type extent', int(extent, offset_kind))
    call MPI_File_set_view(file, at(0), MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    call say_error('set_view back', ierror)
  end subroutine

  subroutine pointers(file)
    FILE_HANDLE, intent(in) :: file
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: ierror
    call MPI_File_seek(file, at(5 + rank), MPI_SEEK_SET, ierror)
    call MPI_File_seek(file, at(2), MPI_SEEK_CUR, ierror)
    call MPI_File_get_position(file, offset, ierror)
    call say('position', offset)
    call MPI_File_seek_shared(file, at(9), MPI_SEEK_SET, ierror)
    call MPI_File_get_position_shared(file, offset, ierror)
    call say('shared position', offset)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine

  subroutine facts(file)
    FILE_HANDLE, intent(in) :: file
    INFO_HANDLE :: info
    GROUP_HANDLE :: group
    integer :: amode, members, keys, ierror
    call MPI_File_get_amode(file, amode, ierror)
    call say_logical('amode', amode == MPI_MODE_CREATE + MPI_MODE_RDWR)
    call MPI_File_get_group(file, group, ierror)
    call MPI_Group_size(group, members, ierror)
    call say_int('ranks in the group', members)
    call MPI_Group_free(group, ierror)
    call MPI_File_get_info(file, info, ierror)
    call MPI_Info_get_nkeys(info, keys, ierror)
    call say_error('keys of get_info', ierror)
    call MPI_Info_free(info, ierror)
  end subroutine

  ! Status objects: one of each kind, none, an array, no array.
  subroutine statuses(file)
    FILE_HANDLE, intent(in) :: file
    STATUS_OBJECT :: status
    STATUS_ARRAY(2) :: several
    REQUEST_HANDLE :: requests(2)
    integer, asynchronous :: values(4)
    integer :: ierror, i
    logical :: done
    values = [(100*rank + i, i=1, 4)]
    call MPI_File_write_at(file, at(20 + 4*rank), values, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call say_error('write without status', ierror)
    do i = 1, 2
      call MPI_File_iwrite_at(file, at(40 + 4*rank + 2*i), values(2*i - 1), 2, MPI_INTEGER, requests(i), ierror)
    end do
    call MPI_Waitall(2, requests, several, ierror)
    call say_error('waitall', ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    values = 0
    do i = 1, 2
      call MPI_File_iread_at(file, at(40 + 4*rank + 2*i), values(2*i - 1), 2, MPI_INTEGER, requests(i), ierror)
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call must(all(values == [(100*rank + i, i=1, 4)]), 'values after waitall')
    call MPI_File_iread_at(file, at(20 + 4*rank), values, 3, MPI_INTEGER, requests(1), ierror)
    done = .false.
    do while (.not. done)
      call MPI_Test(requests(1), done, status, ierror)
    end do
    call say_count('iread_at and test', status)
    call must(requests(1) == MPI_REQUEST_NULL, 'a request after test')
  end subroutine

  ! Data where only an absolute address says, read back the usual way.
  subroutine bottom(file)
    FILE_HANDLE, intent(in) :: file
    TYPE_HANDLE :: absolute
    integer(kind=MPI_ADDRESS_KIND) :: address(1)
    integer, volatile :: values(3)
    integer :: ierror, i
    STATUS_OBJECT :: status
    values = [(7000 + 10*rank + i, i=1, 3)]
    call MPI_Get_address(values, address(1), ierror)
    call MPI_Type_create_hindexed(1, [3], address, MPI_INTEGER, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_File_write_at_all(file, at(60 + 3*rank), MPI_BOTTOM, 1, absolute, status, ierror)
    call say_error('write of MPI_BOTTOM', ierror)
    values = 0
    call MPI_File_read_at_all(file, at(60 + 3*rank), MPI_BOTTOM, 1, absolute, status, ierror)
    call must(all(values == [(7000 + 10*rank + i, i=1, 3)]), 'values of MPI_BOTTOM')
    call say_count('read to MPI_BOTTOM', status)
    call MPI_Type_free(absolute, ierror)
  end subroutine

  subroutine sizes(file)
    FILE_HANDLE, intent(in) :: file
    integer(kind=MPI_OFFSET_KIND), parameter :: far = 1500000000_MPI_OFFSET_KIND  ! integers: beyond 4 GiB
    integer(kind=MPI_OFFSET_KIND) :: size
    integer :: value, ierror
    value = 77 + rank
    call MPI_File_write_at(file, far + rank, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_get_size(file, size, ierror)
    call say('size', size)
    value = 0
    call MPI_File_read_at(file, far + ranks - 1 - rank, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call must(value == 77 + ranks - 1 - rank, 'the other rank''s integer far out')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_set_size(file, at(400), ierror)
    call MPI_File_preallocate(file, at(500), ierror)
    call say_error('preallocate', ierror)
    ! Open MPI 4.1's first rank makes the file longer for a moment, while the others go on.
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_get_size(file, size, ierror)
    call say('size after set_size and preallocate', size)
    call MPI_File_sync(file, ierror)
    call say_error('sync', ierror)
  end subroutine

  subroutine atomic_mode(file)
    FILE_HANDLE, intent(in) :: file
    logical :: flag
    integer :: ierror
    flag = .true.
    call MPI_File_get_atomicity(file, flag, ierror)
    call say_logical('atomicity', flag)
    call must(.not. flag, 'atomicity before it is set')
    call MPI_File_set_atomicity(file, .false., ierror)
    call say_error('set_atomicity', ierror)
  end subroutine

  subroutine count_error(file, code)
    FILE_HANDLE :: file
    integer :: code, ierror
    handler_calls = handler_calls + 1
    call MPI_Error_class(code, handler_class, ierror)
    call must(file /= MPI_FILE_NULL, 'the file of an error handler')
  end subroutine

  ! A write on a read-only file goes to the program's own handler.
  subroutine errors(name)
    character(len=*), intent(in) :: name
    FILE_HANDLE :: file
    ERRHANDLER_HANDLE :: handler, seen
    integer :: value, ierror
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
    call MPI_File_create_errhandler(count_error, handler, ierror)
    call MPI_File_set_errhandler(file, handler, ierror)
    call MPI_File_get_errhandler(file, seen, ierror)
    call say_logical('own error handler', seen == handler)
    value = 1
    call MPI_File_write_at(file, at(0), value, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call say_error('write to a read-only file', ierror)
    call say_int('error handler calls', handler_calls)
    call say_int('class in the handler', handler_class)
    call MPI_File_seek(file, at(-1), MPI_SEEK_SET, ierror)
    call say_logical('seek before the start', ierror == MPI_SUCCESS)
    call say_int('error handler calls', handler_calls)
    call MPI_File_call_errhandler(file, MPI_ERR_IO, ierror)
    call say_int('error handler calls', handler_calls)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Errhandler_free(seen, ierror)
    call MPI_File_close(file, ierror)
    call say_logical('null after close', file == MPI_FILE_NULL)
    call MPI_File_open(MPI_COMM_WORLD, trim(name)//'.absent', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
    call say_logical('open of what is not there', ierror == MPI_SUCCESS)
  end subroutine

  ! Handles and statuses of one language, used in the other.
  subroutine conversions(file)
    FILE_HANDLE, intent(in) :: file
    REQUEST_HANDLE :: request
    STATUS_OBJECT :: status
    integer :: plain_status(MPI_STATUS_SIZE), values(2), number, ierror
    integer, external :: c_count
    external :: c_write, c_start_write, c_wait
    values = [10 + rank, 20 + rank]
    call c_write(NUMBER_OF(file), at(80 + rank), values(1))
    call c_start_write(NUMBER_OF(file), at(84 + rank), values(2), number)
    NUMBER_OF(request) = number
    call MPI_Wait(request, status, ierror)
    call say_count('wait for a request of C', status)
    call MPI_File_iread_at(file, at(80 + rank), values, 1, MPI_INTEGER, request, ierror)
    number = NUMBER_OF(request)
    call c_wait(number, plain_status)
    call say_int('count of a status from C', c_count(plain_status))
    call MPI_File_read_at(file, at(84 + rank), values(2), 1, MPI_INTEGER, status, ierror)
    call must(all(values == [10 + rank, 20 + rank]), 'values that C wrote')
#if !defined(BINDING_F08)
    call say_int('count of a status in C', c_count(status))
    call MPI_File_iread_at(file, at(80 + rank), values, 1, MPI_INTEGER, request, ierror)
    call c_wait(request, MPI_STATUS_IGNORE)
#endif
  end subroutine

#if defined(BINDING_F08)
  subroutine without_ierror(file)
    FILE_HANDLE, intent(in) :: file
    integer(kind=MPI_OFFSET_KIND) :: size
    integer :: value
    value = 5000 + rank
    call MPI_File_write_at_all(file, at(90 + rank), value, 1, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_sync(file)
    call MPI_File_get_size(file, size)
    call say('size, asked for without ierror', size)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine
#endif

  subroutine run_files(name)
    character(len=*), intent(in) :: name
    FILE_HANDLE :: file
    integer :: ierror
    call open_file(name, file)
    call views(file)
    call pointers(file)
    call facts(file)
    call sizes(file)
    call statuses(file)
    call bottom(file)
    call atomic_mode(file)
    call conversions(file)
#if defined(BINDING_F08)
    call without_ierror(file)
#endif
    call MPI_File_close(file, ierror)
    call say_logical('null after close', file == MPI_FILE_NULL)
    call errors(name)
    call MPI_File_delete(trim(name)//'.absent', MPI_INFO_NULL, ierror)
    call say_logical('delete of what is not there', ierror == MPI_SUCCESS)
  end subroutine
end module

program main
  USE_BINDING
  use record
  use files
  implicit none
  INCLUDE_BINDING
  character(len=200) :: name
  integer :: ierror
  call MPI_Init(ierror)
  call start_record(name)
  call run_files(name)
  call MPI_Finalize(ierror)
end program
