"""The functions of MPI that pmio stands in front of: chapter 14 of the MPI standard (I/O), and the three around it.

One table for every generated thing: the C entry points, which serve Fortran too (docs/decisions/0009-fortran.md), and tests
that call or count every function. A function's class says what its entry point does:

  whole      pmio's function does it all, and calls the library itself
  native     pmio's function, for a handle that it knows; if that returns no outcome, the library's
  own        native, if pmio keeps the handle's view and pointers; else the library's
  engine     native, by the handle's engine
  transfer   native, with one implementation for all reads and writes; the call is described by a Transfer
  split_end  native, the second half of a split collective
  hand_on    the library's

Not here, because the library's own functions do exactly what is wanted: conversions (c2f, f2c, fromint, toint) and
error handlers, whose user-written functions may call MPI_File functions that have to arrive as if from the program: for their
sake error_handlers.cpp stands in front of MPI_File_create_errhandler.
"""

from dataclasses import dataclass, field
from itertools import product


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str


@dataclass(frozen=True)
class Function:
    name: str  # without MPI_
    parameters: tuple
    kind: str
    large_count: bool = False  # a _c form: MPI 4 and later
    traits: dict = field(default_factory=dict)

    def signature(self):
        if not self.parameters:
            return "void"
        return ", ".join(f"{p.type} {p.name}" for p in self.parameters)

    def arguments(self):
        return ", ".join(p.name for p in self.parameters)


def function(name, parameters, kind, **more):
    split = (part.strip().rpartition(" ") for part in parameters.split(",") if part.strip())
    return Function(name, tuple(Parameter(type_, word) for type_, _, word in split), kind, **more)


FIXED = [
    function("Init", "int* argc, char*** argv", "whole"),
    function("Init_thread", "int* argc, char*** argv, int required, int* provided", "whole"),
    function("Finalize", "", "whole"),
    # 14.2 File manipulation
    function("File_open", "MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh", "whole"),
    function("File_close", "MPI_File* fh", "whole"),
    function("File_delete", "const char* filename, MPI_Info info", "whole"),
    function("File_set_size", "MPI_File fh, MPI_Offset size", "engine"),
    function("File_preallocate", "MPI_File fh, MPI_Offset size", "engine"),
    function("File_get_size", "MPI_File fh, MPI_Offset* size", "engine"),
    function("File_get_group", "MPI_File fh, MPI_Group* group", "hand_on"),
    function("File_get_amode", "MPI_File fh, int* amode", "hand_on"),
    function("File_set_info", "MPI_File fh, MPI_Info info", "native"),
    function("File_get_info", "MPI_File fh, MPI_Info* info_used", "native"),
    # 14.3 File views
    function(
        "File_set_view",
        "MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep, MPI_Info info",
        "native",
    ),
    function(
        "File_get_view",
        "MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep",
        "own",
    ),
    # 14.4 Data access: the pointers; the transfers are below
    function("File_seek", "MPI_File fh, MPI_Offset offset, int whence", "native"),
    function("File_get_position", "MPI_File fh, MPI_Offset* offset", "own"),
    function("File_get_byte_offset", "MPI_File fh, MPI_Offset offset, MPI_Offset* disp", "own"),
    function("File_seek_shared", "MPI_File fh, MPI_Offset offset, int whence", "native"),
    function("File_get_position_shared", "MPI_File fh, MPI_Offset* offset", "own"),
    # 14.5 File interoperability
    function("File_get_type_extent", "MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent", "hand_on"),
    function(
        "File_get_type_extent_c",
        "MPI_File fh, MPI_Datatype datatype, MPI_Count* extent",
        "hand_on",
        large_count=True,
    ),
    # 14.6 Consistency and semantics
    function("File_set_atomicity", "MPI_File fh, int flag", "native"),
    function("File_get_atomicity", "MPI_File fh, int* flag", "hand_on"),
    function("File_sync", "MPI_File fh", "engine"),
]

# Name's ending: which file pointer, and whether all ranks of the handle call together.
PLACES = {
    "_at": ("explicit_offset", False),
    "_at_all": ("explicit_offset", True),
    "": ("individual", False),
    "_all": ("individual", True),
    "_shared": ("shared", False),
    "_ordered": ("shared", True),
}

# How the call ends: its prefix, its suffix, its last parameter, and the places that have it.
COMPLETIONS = {
    "blocking": ("", "", "MPI_Status* status", tuple(PLACES)),
    "nonblocking": ("i", "", "MPI_Request* request", ("_at", "_at_all", "", "_all", "_shared")),
    "split_begin": ("", "_begin", None, ("_at_all", "_all", "_ordered")),
}


def transfers():
    """All reads and writes, each with an int and an MPI_Count form."""
    for direction, completion, large in product(("read", "write"), COMPLETIONS, (False, True)):
        prefix, suffix, last, places = COMPLETIONS[completion]
        for place in places:
            pointer, collective = PLACES[place]
            parameters = ["MPI_File fh"]
            if pointer == "explicit_offset":
                parameters.append("MPI_Offset offset")
            parameters.append("void* buf" if direction == "read" else "const void* buf")
            parameters += ["MPI_Count count" if large else "int count", "MPI_Datatype datatype"]
            if last:
                parameters.append(last)
            yield function(
                f"File_{prefix}{direction}{place}{suffix}{'_c' if large else ''}",
                ", ".join(parameters),
                "transfer",
                large_count=large,
                traits={
                    "direction": direction,
                    "pointer": pointer,
                    "collective": collective,
                    "completion": completion,
                },
            )


def split_ends():
    for direction, place in product(("read", "write"), ("_at_all", "_all", "_ordered")):
        buffer = "void* buf" if direction == "read" else "const void* buf"
        yield function(
            f"File_{direction}{place}_end",
            f"MPI_File fh, {buffer}, MPI_Status* status",
            "split_end",
            traits={"direction": direction, "pointer": PLACES[place][0]},
        )


FUNCTIONS = FIXED + list(transfers()) + list(split_ends())

# Entry points of runtime libraries that are not generated.
BY_HAND = ["File_create_errhandler", "Abort"]
