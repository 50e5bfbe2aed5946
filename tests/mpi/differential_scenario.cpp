#include "differential_scenario.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace differential {
namespace {

constexpr int kWorldPaths = 2;
constexpr int kPaths = 4;          // 0, 1: one file for all ranks; 2: one per half; 3: one per rank
constexpr size_t kMaxHandles = 4;  // open at a time
enum { kWorld, kHalves, kSelf };

int random_amode(Random& random, bool alone) {
  const int64_t choice = random.below(100);
  if (choice < 12) return MPI_MODE_RDONLY;
  if (choice < 24) return MPI_MODE_WRONLY | MPI_MODE_CREATE;
  if (choice < 34) return MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_APPEND;
  if (choice < 38) return MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_APPEND;
  if (choice < 46) return MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL;
  if (choice < 52 && alone) return MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  if (choice < 56) return MPI_MODE_RDWR;
  return MPI_MODE_RDWR | MPI_MODE_CREATE;
}

MPI_Info random_info(Random& random) {
  MPI_Info info;
  MPI_Info_create(&info);
  // Data sieving in writes loses neighbours' bytes when ranks write independently (read, modify, write
  // without a lock).
  MPI_Info_set(info, "romio_ds_write", "disable");
  // Two-phase writes put rubbish into holes behind the end of the file (what a short read left in the
  // buffer).
  MPI_Info_set(info, "romio_cb_write", "disable");
  const char* const choices[] = {"automatic", "enable", "disable"};
  MPI_Info_set(info, "romio_cb_read", choices[random.below(3)]);
  if (random.percent(50)) MPI_Info_set(info, "cb_buffer_size", "65536");
  if (random.percent(30)) {
    MPI_Info_set(info, "striping_unit", random.percent(50) ? "65536" : "4096");
    MPI_Info_set(info, "striping_factor", "3");
  }
  return info;
}

// pmio tells its mode among the hints in force; plain MPI-IO has no such hint.
bool is_logged(MPI_File file) {
  MPI_Info info;
  char mode[16] = "";
  int known = 0;
  if (MPI_File_get_info(file, &info) != MPI_SUCCESS) return false;
  MPI_Info_get(info, "pmio_mode", sizeof mode - 1, mode, &known);
  MPI_Info_free(&info);
  return known && strcmp(mode, "log") == 0;
}

uint64_t hash_file(const std::string& path, int64_t* size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  *size = -1;
  if (fd < 0) return 0;
  std::vector<unsigned char> chunk(1 << 20);
  uint64_t hash = 0;
  *size = 0;
  for (ssize_t got; (got = ::read(fd, chunk.data(), chunk.size())) > 0; *size += got)
    hash = hash_bytes(chunk.data(), static_cast<size_t>(got), hash);
  close(fd);
  return hash;
}

}  // namespace

Scenario::Scenario(const Settings& settings, uint64_t seed, FILE* record)
    : settings_(settings), seed_(seed), record_(record), shared_(seed) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  groups_[kWorld] = {MPI_COMM_WORLD, 1, 0};
  groups_[kHalves].count = ranks_ > 1 ? 2 : 1;
  const int halves = groups_[kHalves].count;
  groups_[kHalves].mine = settings_.consecutive ? rank_ * halves / ranks_ : rank_ % halves;
  MPI_Comm_split(MPI_COMM_WORLD, groups_[kHalves].mine, -rank_, &groups_[kHalves].comm);
  groups_[kSelf] = {MPI_COMM_SELF, ranks_, rank_};
}

Scenario::~Scenario() { MPI_Comm_free(&groups_[kHalves].comm); }

void Scenario::say(const char* format, ...) {
  fprintf(record_, "%llu:%d ", static_cast<unsigned long long>(seed_), step_);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(record_, format, arguments);
  va_end(arguments);
  fputc('\n', record_);
}

void Scenario::check(const char* call, int error) {
  if (error == MPI_SUCCESS) return;
  int error_class = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_class(error, &error_class);
  MPI_Error_string(error_class, text, &length);
  say("%s failed: %s", call,
      error_class == MPI_ERR_NO_SUCH_FILE  ? "no such file"
      : error_class == MPI_ERR_FILE_EXISTS ? "file exists"
                                           : text);
}

std::string Scenario::path_name(int path) const {
  std::string name = settings_.directory + "/seed" + std::to_string(seed_) + "-" + std::to_string(path);
  if (path == 2) name += "-half" + std::to_string(groups_[kHalves].mine);
  if (path == 3) name += "-rank" + std::to_string(rank_);
  return name;
}

int Scenario::random_path(Random& random) const {
  return static_cast<int>(random.below(settings_.by_all ? kWorldPaths : kPaths));
}

int Scenario::group_of_path(int path, Random& random) const {
  if (path == 2) return kHalves;
  if (path == 3) return kSelf;
  if (settings_.by_all) return kWorld;
  return random.percent(70) ? kWorld : static_cast<int>(random.between(kHalves, kSelf));
}

bool Scenario::takes_turns(const Handle& handle) const {
  return handle.path < 2 && groups_[handle.group].count > 1;
}

bool Scenario::is_open(int path) const {
  for (const Handle& handle : handles_)
    if (handle.path == path) return true;
  return false;
}

void Scenario::start_epoch(bool with_size, Handle* handle) {
  MPI_Barrier(MPI_COMM_WORLD);
  epoch_size_ = -1;
  if (!with_size) return;
  epoch_size_ = size_of(*handle);
  MPI_Barrier(MPI_COMM_WORLD);
}

void Scenario::open_one(uint64_t seed) {
  Random random(seed);
  Handle handle;
  handle.path = random_path(random);
  for (const Handle& other : handles_)
    if (other.path == handle.path && (other.amode & MPI_MODE_DELETE_ON_CLOSE)) return;
  handle.group = group_of_path(handle.path, random);
  handle.amode = random_amode(random, !takes_turns(handle) && !is_open(handle.path));
  handle.view = byte_view(ranks_);
  MPI_Info info = random_info(random);
  const Group& group = groups_[handle.group];
  // Where it opens at the end of the file, nobody is still moving that by the write that came before.
  if (handle.amode & MPI_MODE_APPEND) MPI_Barrier(MPI_COMM_WORLD);
  int error = MPI_SUCCESS;
  for (int turn = 0; turn < (takes_turns(handle) ? group.count : 1); turn++) {
    if (!takes_turns(handle) || turn == group.mine)
      error = MPI_File_open(group.comm, path_name(handle.path).c_str(), handle.amode, info, &handle.file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Info_free(&info);
  say("open path %d group %d amode %s%s%s%s%s%s", handle.path, handle.group,
      handle.amode & MPI_MODE_RDONLY   ? "rdonly"
      : handle.amode & MPI_MODE_WRONLY ? "wronly"
                                       : "rdwr",
      handle.amode & MPI_MODE_CREATE ? " create" : "", handle.amode & MPI_MODE_EXCL ? " excl" : "",
      handle.amode & MPI_MODE_APPEND ? " append" : "",
      handle.amode & MPI_MODE_DELETE_ON_CLOSE ? " delete" : "", error == MPI_SUCCESS ? "" : ": refused");
  // Which error class is not compared: on MPICH, ranks of one refused exclusive open get different ones.
  int failures = error != MPI_SUCCESS, all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (all_failures == 0) {
    handle.logged = is_logged(handle.file);
    for (Handle& other : handles_)
      if (other.path == handle.path) handle.was_alone = other.was_alone = false;
    handles_.push_back(handle);
    MPI_Offset position = -1;
    check("get_position", MPI_File_get_position(handle.file, &position));
    say("position %lld", static_cast<long long>(position));
  } else if (error == MPI_SUCCESS) {  // other groups could not: all or none
    check("close", MPI_File_close(&handle.file));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Scenario::close_one(size_t index) {
  MPI_Barrier(MPI_COMM_WORLD);
  Handle handle = handles_[index];
  handles_.erase(handles_.begin() + static_cast<long>(index));
  say("close path %d", handle.path);
  check("close", MPI_File_close(&handle.file));
  release(&handle.view);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!is_open(handle.path)) inspect_closed(handle.path);
}

static void complete(const std::string& path) {
  const char* close = std::getenv("PMIO_CLOSE");
  MPI_File file = MPI_FILE_NULL;
  if (close == nullptr || std::strcmp(close, "background") != 0) return;
  if (MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
    MPI_File_close(&file);
}

// After the last close the file must be complete for a reader that knows no MPI; by PMIO_CLOSE=background
// after an open of it.
void Scenario::inspect_closed(int path) {
  const int groups[] = {kWorld, kWorld, kHalves, kSelf};
  int place = 0;
  MPI_Comm_rank(groups_[groups[path]].comm, &place);
  if (place == 0) {
    complete(path_name(path));
    int64_t size = 0;
    const uint64_t hash = hash_file(path_name(path), &size);
    say("file %d size %lld hash %016llx", path, static_cast<long long>(size),
        static_cast<unsigned long long>(hash));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void Scenario::remove_one(uint64_t seed) {
  Random random(seed);
  const int path = random_path(random);
  if (is_open(path)) return;
  int place = 0;
  const int groups[] = {kWorld, kWorld, kHalves, kSelf};
  MPI_Comm_rank(groups_[groups[path]].comm, &place);
  if (place == 0) {
    say("delete path %d", path);
    check("delete", MPI_File_delete(path_name(path).c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A program that knows no MPI writes a file that nobody has open.
void Scenario::write_behind(uint64_t seed) {
  Random random(seed);
  const int path = random_path(random);
  // What another host's client of a file system has cached is old for a moment, in a plain run too.
  if (is_open(path) || settings_.by_all) return;
  int place = 0;
  const int groups[] = {kWorld, kWorld, kHalves, kSelf};
  MPI_Comm_rank(groups_[groups[path]].comm, &place);
  const int fd = place == 0 ? open(path_name(path).c_str(), O_WRONLY | O_CLOEXEC) : -1;
  struct stat facts {};
  if (fd >= 0 && fstat(fd, &facts) == 0) {
    const std::vector<char> data(static_cast<size_t>(random.between(1, 3000)), static_cast<char>(seed));
    const off_t at = facts.st_size > 0 ? random.below(facts.st_size) : 0;
    say("behind path %d at %lld", path, static_cast<long long>(at));
    if (::pwrite(fd, data.data(), data.size(), at) != static_cast<ssize_t>(data.size())) say("pwrite failed");
  }
  if (fd >= 0) close(fd);
  MPI_Barrier(MPI_COMM_WORLD);
}

Scenario::Operation Scenario::choose(Random& random) const {
  const int atomic = settings_.by_all ? 1 : 4;  // by_all: none of them is in atomic mode
  const struct {
    Operation operation;
    int weight;
  } table[] = {{kWrite, 33 - atomic}, {kBehind, 4}, {kRead, 20},  {kView, 14},
               {kReopen, 8},          {kQuery, 5},  {kResize, 5}, {kSync, 3},
               {kOrdered, 4},         {kTurns, 2},  {kDelete, 2}, {kAtomic, atomic}};
  int64_t choice = random.below(100);
  for (const auto& row : table)
    if ((choice -= row.weight) < 0) return row.operation;
  return kWrite;
}

void Scenario::dispatch(Operation operation, Handle& handle, uint64_t seed) {
  const Random shared(seed), own(seed ^ mix(static_cast<uint64_t>(rank_) + 1));
  switch (operation) {
    case kWrite:
      write(handle, shared, own);
      break;
    case kRead:
      read(handle, shared, own);
      break;
    case kView:
      set_view(handle, shared);
      break;
    case kResize:
      resize(handle, shared);
      break;
    case kSync:
      check("sync", MPI_File_sync(handle.file));
      break;
    case kOrdered:
      ordered(handle, shared, own);
      break;
    case kTurns:
      turns(handle, shared, own);
      break;
    case kAtomic:
      if (settings_.portable || settings_.by_all) return query(handle, own);
      handle.atomic = !handle.atomic;
      check("set_atomicity", MPI_File_set_atomicity(handle.file, handle.atomic));
      handle.logged = is_logged(handle.file);
      break;
    default:
      query(handle, own);
  }
}

void Scenario::step(int index) {
  step_ = index;
  const uint64_t seed = shared_.next();
  Operation operation = choose(shared_);
  if (operation == kDelete) return remove_one(seed);
  if (operation == kBehind) return write_behind(seed);
  if (handles_.empty() || operation == kReopen) {
    isolated_ = true;
    if (!handles_.empty() && (handles_.size() == kMaxHandles || shared_.percent(50)))
      close_one(static_cast<size_t>(shared_.below(static_cast<int64_t>(handles_.size()))));
    return open_one(seed);
  }
  const bool same = shared_.percent(60) && last_handle_ < handles_.size();
  if (!same) last_handle_ = static_cast<size_t>(shared_.below(static_cast<int64_t>(handles_.size())));
  Handle& handle = handles_[last_handle_];
  if ((handle.amode & MPI_MODE_RDONLY) && (operation == kWrite || operation == kResize || operation == kSync))
    operation = kRead;
  if ((handle.amode & MPI_MODE_WRONLY) && operation == kRead) operation = kWrite;
  const bool turns = takes_turns(handle);
  const bool continues =
      same && !turns && !isolated_ && operation == kWrite && last_ == kWrite && shared_.percent(60);
  const bool with_size = shared_.percent(30) && operation == kWrite && !turns;
  if (!continues) start_epoch(with_size, &handle);
  isolated_ = operation != kWrite || turns;
  last_ = operation;
  for (int turn = 0; turn < (turns ? groups_[handle.group].count : 1); turn++) {
    if (!turns || turn == groups_[handle.group].mine) dispatch(operation, handle, seed);
    if (turns) MPI_Barrier(MPI_COMM_WORLD);
  }
}

void Scenario::run() {
  for (int i = 0; i < settings_.operations; i++) step(i);
  step_ = settings_.operations;
  while (!handles_.empty()) close_one(handles_.size() - 1);
  for (int path = 0; path < kPaths && !settings_.keep_files; path++) unlink(path_name(path).c_str());
  fflush(record_);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace differential
