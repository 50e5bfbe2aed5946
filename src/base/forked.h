// Descriptors of pmio's that a process which the program forks must not keep open. By some of them others
// tell that the job lives, and by some a peer on another node tells that this process does.
//
// They close at exec by themselves. A child that goes on without an exec closes them in a handler of fork, if
// watch_forks was called. vfork and posix_spawn run no handlers, and end in exec. _Fork and clone(2) run none
// either: such a child keeps the descriptors. Threads: any. All but watch_forks may be called in a signal
// handler.
#pragma once

namespace pmio {

// The first is called when a descriptor has just been made, the second before it is closed: the number may be
// the program's next.
void keep_from_children(int fd);
void forget_descriptor(int fd);

// Called once per process. A process that it forks closes those descriptors, and then calls in_child, which
// may do no more than a signal handler.
void watch_forks(void (*in_child)());

}  // namespace pmio
