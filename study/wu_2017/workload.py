"""What is measured: the emulated devices, the ways to write, and the cells of the study."""

import itertools

from pmiolab.places import KIB, MIB

MPI = "mpich-5.0.2"
DEVICES = {"Optane": "NVM", "HDD": "HDD"}  # the paper's names, and those of devices.PROFILES
DEVICE_MIB = 256
RANKS = 2
TASKS = (1, 2, 4, 8)  # of a node; the paper has up to 16 on each of three
VARIABLE, VARIABLES = 2 * MIB, 9  # HACC-IO: 524,288 particles of each task
TRANSFER, IOR_BYTES = 256 * KIB, 64 * MIB  # IOR's default; of all tasks
BLOCKS = (8 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2 * MIB, 8 * MIB)
BLOCK_BYTES, BLOCK_CALLS = 32 * MIB, {"through": 128, "back": 4096}  # of a rank: whichever is less
CLIENT_BLOCK, CLIENT_CALLS = 256 * KIB, 64
STRIPE, STRIPE_CALLS = 64 * KIB, 256  # PVFS2's default stripe
SERVERS = (1, 2, 3)  # I/O nodes, of a test-bed with MooseFS
SERVER_TASKS, SERVER_CALLS = 3, 256  # a rank's bytes fill a chunk of MooseFS, which is on one I/O node
STRIPED_CALLS = 128
POSIX = "POSIX"
WAYS = {
    "individual": ["--independent"],
    "collective": [],
    "two-phase": ["--hint", "romio_cb_write=enable"],  # ROMIO's default does it only where ranges overlap
}


def cells():
    """Each is measured once in a repetition."""

    def some(question, of=DEVICES, cache=("through",), tasks=(RANKS,), way=("individual",), block=(None,),
             pmio=(False, True)):  # fmt: skip
        return [{"question": question, "device": d, "cache": c, "tasks": t, "way": w, "block": b, "pmio": p}
                for d, c, t, w, b, p in itertools.product(of, cache, tasks, way, block, pmio)]  # fmt: skip

    return [
        *({"question": "device", "device": device} for device in DEVICES),
        *some("checkpoint", tasks=TASKS, block=(VARIABLE,)),
        *some("checkpoint", cache=("back",), block=(VARIABLE,)),
        *some("methods", tasks=TASKS, way=(POSIX,), block=(TRANSFER,), pmio=(False,)),
        *some("methods", tasks=TASKS, way=("individual", "collective"), block=(TRANSFER,)),
        # Not by more: ranks that share a processor mostly wait for each other, by polling.
        *some("methods", way=("two-phase",), block=(TRANSFER,)),
        *some("blocks", block=BLOCKS),
        *some("blocks", of=("Optane",), cache=("back",), block=BLOCKS),
        *some("clients", tasks=TASKS, block=(CLIENT_BLOCK,)),
        *some("stripes", way=WAYS, block=(STRIPE,)),
        *(cell | {"servers": servers} for servers in SERVERS
          for cell in some("servers", tasks=(SERVER_TASKS,), block=(CLIENT_BLOCK,),
                           pmio=(False, True) if servers == SERVERS[-1] else (False,))),
        *(cell | {"servers": SERVERS[-1]}
          for cell in some("striped", tasks=(SERVER_TASKS,), way=("individual", "collective"), block=(STRIPE,))),
    ]  # fmt: skip
