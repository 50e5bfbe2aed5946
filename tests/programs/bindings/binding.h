! The three Fortran bindings under one set of names: -DBINDING_MPIF_H, -DBINDING_USE_MPI or -DBINDING_F08.
#if defined(BINDING_F08)
#define USE_BINDING use mpi_f08
#define INCLUDE_BINDING
#define FILE_HANDLE type(MPI_File)
#define INFO_HANDLE type(MPI_Info)
#define TYPE_HANDLE type(MPI_Datatype)
#define REQUEST_HANDLE type(MPI_Request)
#define GROUP_HANDLE type(MPI_Group)
#define ERRHANDLER_HANDLE type(MPI_Errhandler)
#define STATUS_OBJECT type(MPI_Status)
#define STATUS_ARRAY(n) type(MPI_Status), dimension(n)
#define NUMBER_OF(handle) handle%MPI_VAL
#else
#if defined(BINDING_USE_MPI)
#define USE_BINDING use mpi
#define INCLUDE_BINDING
#else
#define USE_BINDING
#define INCLUDE_BINDING include 'mpif.h'
#endif
#define FILE_HANDLE integer
#define INFO_HANDLE integer
#define TYPE_HANDLE integer
#define REQUEST_HANDLE integer
#define GROUP_HANDLE integer
#define ERRHANDLER_HANDLE integer
#define STATUS_OBJECT integer, dimension(MPI_STATUS_SIZE)
#define STATUS_ARRAY(n) integer, dimension(MPI_STATUS_SIZE, n)
#define NUMBER_OF(handle) handle
#endif
