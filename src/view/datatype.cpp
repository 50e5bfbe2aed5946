#include "view/datatype.h"

#include <array>
#include <atomic>
#include <functional>

#include "base/mutex.h"
#include "view/contents.h"
#include "view/flatten.h"
#include "view/mpi_calls.h"

namespace pmio {
namespace {

using Holder = std::shared_ptr<const FlatType>;  // holds nullptr for a type that can't be flattened

// Named types live for ever and are few: an append-only open-addressing table, read without a lock.
class NamedTypes {
 public:
  const Holder* find(MPI_Datatype type) const {
    for (size_t i = slot(type);; i = (i + 1) % entries_.size()) {
      // Acquire: pairs with the release in insert(), so that a visible entry is a complete one.
      const Entry* entry = entries_[i].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->type == type) return &entry->flat;
    }
  }

  // nullptr: the table is full.
  const Holder* insert(MPI_Datatype type, Holder flat) {
    const LockGuard lock(mutex_);
    if (const Holder* existing = find(type)) return existing;
    if (used_ >= entries_.size() / 2) return nullptr;
    size_t i = slot(type);
    while (entries_[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) % entries_.size();
    const auto* entry = new Entry{type, std::move(flat)};
    // Release: readers that see the pointer see what it points to.
    entries_[i].store(entry, std::memory_order_release);
    ++used_;
    return &entry->flat;
  }

 private:
  struct Entry {
    MPI_Datatype type;
    Holder flat;
  };
  size_t slot(MPI_Datatype type) const {
    // Handles are addresses or numbers with equal low bits: take the upper half of a product.
    return static_cast<size_t>((std::hash<MPI_Datatype>{}(type)*0x9e3779b97f4a7c15u) >> 32) % entries_.size();
  }

  Mutex mutex_;
  size_t used_ PMIO_GUARDED_BY(mutex_) = 0;
  std::array<std::atomic<const Entry*>, 512> entries_{};
};

// Never destroyed: a program may call MPI from its own destructors.
NamedTypes& named_types() {
  static auto* types = new NamedTypes;
  return *types;
}

int copy_attribute(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
  *static_cast<Holder**>(copy) = new Holder(*static_cast<const Holder*>(value));
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Datatype, int, void* value, void*) {
  delete static_cast<Holder*>(value);
  return MPI_SUCCESS;
}

int keyval = MPI_KEYVAL_INVALID;

int type_keyval() {
  [[maybe_unused]] static const int created =
      mpi_calls().Type_create_keyval(&copy_attribute, &delete_attribute, &keyval, nullptr);
  return keyval;
}

const Holder* cached_on(MPI_Datatype type) {
  Holder* cached = nullptr;
  int found = 0;
  mpi_calls().Type_get_attr(type, type_keyval(), &cached, &found);
  return found != 0 ? cached : nullptr;
}

// If several threads come with a new type at once, all get what the first has set: to set an attribute again
// would delete it.
const Holder* cache_on(MPI_Datatype type, Holder flat) {
  static const Holder none;
  static Mutex& mutex = *new Mutex;
  const LockGuard lock(mutex);
  if (const Holder* first = cached_on(type)) return first;
  auto* cached = new Holder(std::move(flat));
  if (mpi_calls().Type_set_attr(type, type_keyval(), cached) == MPI_SUCCESS) return cached;
  delete cached;
  return &none;
}

// The cached result of a type. It is computed if there is none yet.
const Holder* lookup(MPI_Datatype type) {
  static const Holder none;
  if (const Holder* named = named_types().find(type)) return named;
  if (type == MPI_DATATYPE_NULL) return &none;
  if (const Holder* cached = cached_on(type)) return cached;
  Holder flat = Flattener().flatten(type);
  if (get_combiner(type) == MPI_COMBINER_NAMED) {
    if (const Holder* named = named_types().insert(type, flat)) return named;
  }
  return cache_on(type, std::move(flat));
}

}  // namespace

const FlatType* flatten(MPI_Datatype type) { return lookup(type)->get(); }

std::shared_ptr<const FlatType> flatten_shared(MPI_Datatype type) { return *lookup(type); }

void release_type_cache() {
  if (keyval != MPI_KEYVAL_INVALID) mpi_calls().Type_free_keyval(&keyval);
}

}  // namespace pmio
