// Contracts of locks that clang checks at compile time (-Wthread-safety); other compilers see nothing of
// them. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
//
// The analysis follows names within one function. It does not look through pointers that have been copied,
// nor into lambdas, which need annotations of their own. Locks that follow no scope are beyond it.
#pragma once

#ifdef __clang__
#define PMIO_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define PMIO_THREAD_ANNOTATION(attribute)
#endif

// A class whose objects are held and released, and one that holds such an object while it lives.
#define PMIO_CAPABILITY(name) PMIO_THREAD_ANNOTATION(capability(name))
#define PMIO_SCOPED_CAPABILITY PMIO_THREAD_ANNOTATION(scoped_lockable)

// A member, or what it points to, is read and written only while that mutex is held.
#define PMIO_GUARDED_BY(mutex) PMIO_THREAD_ANNOTATION(guarded_by(mutex))
#define PMIO_PT_GUARDED_BY(mutex) PMIO_THREAD_ANNOTATION(pt_guarded_by(mutex))

// The order of locks: this one is taken before those.
#define PMIO_ACQUIRED_BEFORE(...) PMIO_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

// What a function wants of its caller: the mutex held, or not held.
#define PMIO_REQUIRES(...) PMIO_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define PMIO_EXCLUDES(...) PMIO_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// What a function does to a mutex; without an argument to `this`.
#define PMIO_ACQUIRE(...) PMIO_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define PMIO_TRY_ACQUIRE(...) PMIO_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define PMIO_RELEASE(...) PMIO_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
// From here on it counts as held: its caller has seen to that, by a way that is not checked.
#define PMIO_ASSERT_CAPABILITY(...) PMIO_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define PMIO_RETURN_CAPABILITY(mutex) PMIO_THREAD_ANNOTATION(lock_returned(mutex))

// The function is not checked; a comment says why.
#define PMIO_NO_THREAD_SAFETY_ANALYSIS PMIO_THREAD_ANNOTATION(no_thread_safety_analysis)
