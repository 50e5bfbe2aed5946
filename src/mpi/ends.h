// What happens when a program ends without MPI_Finalize. This process brings into its files what it still
// can, or says where the bytes are (docs/decisions/0019-ends-of-programs.md).
//
// These ends are seen: exit and a return from main (by the library's destructor), quick_exit, _exit and
// _Exit, exec, abort, MPI_Abort. So are SIGTERM, SIGINT, SIGHUP, SIGXCPU and SIGABRT, if they would end the
// program by default. The preloaded library reports _exit, exec and abort (preload/end_calls.c): a runtime
// library that is preloaded itself does not see these three. A process that the program has forked ends
// without a word.
#pragma once

namespace pmio {

// Called once a job is joined: from now on ends are seen. background: the job has a thread that signal
// handlers may count on.
void watch_ends(bool background);
// Called before the job is left: signals end the program at once, as they did.
void unwatch_signals();

// The process ends now, or becomes another program. Job::end says what is done. Without a job, or in a
// process that has been forked, that is nothing.
void program_ends();
// The same of a process that may be in any state, as in a signal handler.
void program_breaks_off();
// It has not ended: an exec failed.
void program_goes_on();

}  // namespace pmio

extern "C" {
void pmio_program_ends();
void pmio_program_breaks_off();
void pmio_program_goes_on();
}
