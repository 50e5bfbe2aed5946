#include "mpi/handle.h"

#include <algorithm>
#include <shared_mutex>
#include <unordered_map>

namespace pmio {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<MPI_File, std::unique_ptr<Handle>> handles;
};

// Never destroyed: calls may come from other libraries' destructors.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

// Counts changes of the table: a thread sees by it whether what it found last still holds. kForked: the table
// is the parent process's.
constexpr uint64_t kForked = 0;
std::atomic<uint64_t> generation{1};

struct Last {
  uint64_t generation;
  MPI_File file;
  Handle* handle;
};
// The loader is not asked at each use: the library comes with the program, not by dlopen.
thread_local Last last_found __attribute__((tls_model("initial-exec"))){};

}  // namespace

Handle* find_handle(MPI_File file) {
  // Acquire: who sees the generation sees the handle that it was raised for.
  const uint64_t now = generation.load(std::memory_order_acquire);
  if (last_found.generation == now && last_found.file == file) return last_found.handle;
  if (now == kForked) return nullptr;
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  const auto found = all.handles.find(file);
  last_found = {now, file, found == all.handles.end() ? nullptr : found->second.get()};
  return last_found.handle;
}

void add_handle(std::unique_ptr<Handle> handle) {
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  all.handles[handle->real] = std::move(handle);
  generation.fetch_add(1, std::memory_order_release);
}

std::unique_ptr<Handle> take_handle(MPI_File file) {
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  const auto found = all.handles.find(file);
  if (found == all.handles.end()) return nullptr;
  std::unique_ptr<Handle> handle = std::move(found->second);
  all.handles.erase(found);
  generation.fetch_add(1, std::memory_order_release);
  return handle;
}

std::vector<Handle*> own_handles() {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  std::vector<Handle*> found;
  for (const auto& [file, handle] : all.handles) {
    if (!handle->in_library()) found.push_back(handle.get());
  }
  std::sort(found.begin(), found.end(),
            [](const Handle* a, const Handle* b) { return a->number < b->number; });
  return found;
}

bool others_handed_on(const Handle& but, const FileIdentity& identity) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  return std::any_of(all.handles.begin(), all.handles.end(), [&](const auto& entry) {
    const Handle& handle = *entry.second;
    if (&handle == &but || !(handle.in_library() || handle.straight) || handle.path.empty()) return false;
    const Result<FileIdentity> of_handle = identity_of(handle.path);
    return of_handle.ok() && same_file(of_handle.value(), identity);
  });
}

void forget_handles_in_child() {
  generation.store(kForked, std::memory_order_relaxed);
  last_found = {};
}

void drop_handles() {
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  all.handles.clear();
  generation.fetch_add(1, std::memory_order_release);
}

}  // namespace pmio
