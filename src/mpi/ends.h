// How a program ends that does not call MPI_Finalize: what this process can still bring into its files it
// does, or says where the bytes are (docs/decisions/0019-ends-of-programs.md).
//
// Of _exit, exec and abort the preloaded library tells (preload/end_calls.c): a runtime library that is
// preloaded itself does not see them. Seen are exit and a return from main (by the library's destructor),
// quick_exit, _exit and _Exit, exec, abort, MPI_Abort, and those of SIGTERM, SIGINT, SIGHUP, SIGXCPU and
// SIGABRT that would end the program by default. A process that the program has forked ends without a word.
#pragma once

namespace pmio {

// Once a job is joined: from now on ends are seen. background: the job has a thread that signal handlers may
// count on.
void watch_ends(bool background);
// Before the job is left: signals end the program at once, as they did.
void unwatch_signals();

// The process ends now, or becomes another program. Nothing where there is no job, or in a process that has
// been forked. Job::end says what it does.
void program_ends();
// The same where it may be in any state, as in a signal handler.
void program_breaks_off();
// It has not: an exec failed.
void program_goes_on();

}  // namespace pmio

extern "C" {
void pmio_program_ends();
void pmio_program_breaks_off();
void pmio_program_goes_on();
}
