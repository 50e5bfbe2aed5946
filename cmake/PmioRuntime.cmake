# One runtime library per MPI: src/view and src/mpi compiled against that MPI's mpi.h, around pmio_core.
function(pmio_add_runtimes)
endfunction()
