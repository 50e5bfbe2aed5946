#!/usr/bin/env python3
"""Profilers beside pmio: what two kinds of them count of a program.

They are preloaded before and after pmio, on both sides of it at once, and as `pmio run` puts them: before
pmio by default, after it with --outermost. Before pmio (nearer to the program) a tool must count what it
counts without pmio. After it (nearer to the library) it counts what pmio hands on: all of opening and
closing, and nothing that was logged; everything with PMIO_MODE=off. A tool that looks at pwrite sees in both
places what pmio writes to the file.
"""

from pmiolab import call_counter, checks, command_line, mpi_jobs, mpi_libraries, places

# Each of these calls of the program reaches the library.
ALWAYS_HANDED_ON = ("Init", "Finalize", "File_open", "File_close", "File_delete")
LOGGED = ("File_write_all", "File_read_at_all", "File_iwrite_at", "File_iread_at", "File_write_ordered",
          "File_set_view")  # fmt: skip


def count(mpi, options, tool, preload, directory, settings=None, launch=()):
    """What the tool counted of the smoke test with these libraries preloaded; launch: words before the program."""
    counts = directory / "counts"
    counts.mkdir(parents=True)
    settings = {"CALL_COUNTS": counts, "PMIO_DIR": directory / "log", **(settings or {})}
    words = [*launch, places.test_program(options.build, "smoke", mpi), directory / "data"]
    ended = mpi_jobs.run(mpi, 2, words, settings=settings, preload=preload, timeout=100)
    if ended.code != 0:
        raise SystemExit(f"{mpi.tag}, {tool}, {directory.name}: {ended.how}\n{ended.output}")
    return call_counter.read(counts, tool)


def without_pwrite(counts):
    return {name: number for name, number in counts.items() if name != "pwrite"}


def sees_all(where, alone, counts):
    if without_pwrite(counts) != without_pwrite(alone):
        yield f"{where} counts {counts}, without pmio {alone}"


def sees_what_is_handed_on(where, alone, counts):
    for name in ALWAYS_HANDED_ON:
        if counts[name] != alone[name]:
            yield f"{where} counts {counts[name]} {name}, without pmio {alone[name]}"
    for name in LOGGED:
        if alone[name] == 0 or counts[name] != 0:
            yield f"{where} counts {counts[name]} {name}, which was logged; without pmio {alone[name]}"


def sees_the_file_written(where, counts):
    if counts["pwrite"] < 2 * 100 * 50 * 4:
        yield f"{where} sees too little written to the file: {counts['pwrite']} bytes"


class Stack:
    """The two tools and pmio, in all orders that matter."""

    def __init__(self, mpi, options, scratch):
        self.mpi, self.options, self.scratch = mpi, options, scratch
        self.pmio = [places.pmio(options.build), "run", "--mpi", mpi.tag]
        self.libraries = {tool: call_counter.build(mpi, tool, scratch) for tool in ("pmpi", "wrapper")}

    def count(self, tool, name, order, **more):
        """What the tool counts; order: names of tools, and pmio, as they are preloaded."""
        preload = [self.libraries.get(word, self.mpi.runtime) for word in order]
        return count(self.mpi, self.options, tool, preload, self.scratch / f"{tool}-{name}", **more)

    def complaints_of(self, tool):
        alone = self.count(tool, "alone", [tool])
        above = {
            "before pmio": self.count(tool, "before", [tool, "pmio"]),
            "under pmio run": self.count(tool, "run", [tool], launch=[*self.pmio, "--"]),
        }
        below = {
            "after pmio": self.count(tool, "after", ["pmio", tool]),
            "under pmio run --outermost": self.count(
                tool, "outermost", [tool], launch=[*self.pmio, "--outermost", "--"]
            ),
        }
        # Not the other way round: pmpi calls PMPI_X, which would again be the wrapper's if the wrapper came first.
        both = self.count(tool, "both", ["pmpi", "pmio", "wrapper"])
        (above if tool == "pmpi" else below)["of two, with pmio between them,"] = both
        off = self.count(tool, "off", ["pmio", tool], settings={"PMIO_MODE": "off"})
        yield from sees_all(f"{tool} after pmio that is off", alone, off)
        for where, counts in above.items():
            yield from sees_all(f"{tool} {where}", alone, counts)
        for where, counts in below.items():
            yield from sees_what_is_handed_on(f"{tool} {where}", alone, counts)
        if tool == "wrapper":
            for where, counts in {**above, **below}.items():
                yield from sees_the_file_written(f"{tool} {where}", counts)
        numbers = [sum(counts.values()) for counts in (alone, *above.values(), *below.values())]
        print(f"{self.mpi.tag}, {tool}: alone, before pmio and after: {numbers}")


def main():
    options = command_line.parser(__doc__).parse_args()
    mpi = mpi_libraries.choose(options.build, options.mpi)
    complaints = []
    with places.temporary("stacking", places.memory()) as scratch:
        stack = Stack(mpi, options, scratch)
        for tool in stack.libraries:
            complaints += stack.complaints_of(tool)
    return checks.conclude(complaints)


if __name__ == "__main__":
    raise SystemExit(main())
