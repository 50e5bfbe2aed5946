#include <algorithm>

#include "differential_scenario.h"

namespace differential {
namespace {

constexpr int64_t kMaxPieces =
    1500;  // contiguous file pieces per transfer: plain MPI-IO makes a system call for each

bool writable(const Handle& handle) { return !(handle.amode & MPI_MODE_RDONLY); }
bool readable(const Handle& handle) { return !(handle.amode & MPI_MODE_WRONLY); }

Method random_method(Random& random, bool collective) {
  const Method alone[] = {Method::at, Method::pointer, Method::i_at, Method::i_pointer};
  const Method together[] = {Method::at_all, Method::at_all,   Method::all,          Method::all,
                             Method::i_all,  Method::i_at_all, Method::split_at_all, Method::split_all};
  return collective ? together[random.below(8)] : alone[random.below(4)];
}

int64_t random_etypes(Random& random, const View& view, int64_t most) {
  const int64_t bytes = random.magnitude(random.percent(3) ? 3 << 20 : 256 << 10);
  const int64_t few_pieces = kMaxPieces * view.filetype.size / view.filetype.pieces / view.etype.size;
  return std::min({bytes / view.etype.size, std::max<int64_t>(1, few_pieces), most});
}

// Fills in memory type and count for about `etypes` etypes (never more); returns how many it became.
int64_t random_memory(Random& random, const View& view, int64_t etypes, Transfer* transfer) {
  const DataType& etype = view.etype;
  if (etypes > 0 && random.percent(60))
    transfer->memory =
        random_memory_type(random, etype, std::min<int64_t>(16384, 3 * etypes * etype.size + 64));
  if (transfer->memory.owned && transfer->memory.size <= etypes * etype.size) {
    transfer->count = static_cast<int>(etypes * etype.size / transfer->memory.size);
  } else {
    release(&transfer->memory);
    transfer->memory = describe(etype.handle, false);
    transfer->count = static_cast<int>(etypes);
  }
  return transfer->count * transfer->memory.size / etype.size;
}

}  // namespace

int64_t Scenario::size_of(const Handle& handle) {
  MPI_Offset size = -1;
  check("get_size", MPI_File_get_size(handle.file, &size));
  say("size %lld", static_cast<long long>(size));
  return size;
}

// Transfers to ranges that follow each other, so that nonblocking ones in flight do not overlap. Writes stay
// where this rank may write.
std::vector<Transfer> Scenario::plan(Handle& handle, bool write, Method method, Random& own, int transfers) {
  const View& view = handle.view;
  const bool slots = write && view.family == Family::same;
  const int64_t low = slots ? rank_ * view.slot_etypes : 0;
  const int64_t high = slots ? low + view.slot_etypes : view.limit_etypes;
  std::vector<Transfer> planned(static_cast<size_t>(transfers));
  int64_t next = low + own.magnitude((high - low) * 3 / 4);
  if (!has_offset(method)) {
    MPI_Offset position = -1;
    check("get_position", MPI_File_get_position(handle.file, &position));
    say("position %lld", static_cast<long long>(position));
    if (position >= low && position < high && own.percent(60)) {
      next = position;
    } else if (own.percent(50)) {
      check("seek", MPI_File_seek(handle.file, next, MPI_SEEK_SET));
    } else {
      check("seek", MPI_File_seek(handle.file, next - position, MPI_SEEK_CUR));
    }
  }
  for (Transfer& transfer : planned) {
    transfer.write = write;
    transfer.method = method;
    transfer.large_count = own.percent(30);
    const int64_t etypes = own.percent(15) ? 0 : random_etypes(own, view, (high - next) / 2);
    transfer.offset = next;
    transfer.stream_start = next * view.etype.size;
    next += random_memory(own, view, etypes, &transfer);
    if (has_offset(method)) next += std::min(own.magnitude(1000), (high - next) / 2);
  }
  return planned;
}

// Not by ROMIO, plain or behind pmio, which at the end of a file may claim the full count and write rubbish
// behind the end, and now and then never sets the fields of a nonblocking request's status.
bool Scenario::answered_by_pmio(const Handle& handle) const { return !settings_.reference && handle.logged; }

void Scenario::judge(const Handle& handle, Transfer& t, int64_t file_size, uint64_t seed) {
  if (answered_by_pmio(handle) || !is_nonblocking(t.method)) check(name(t.method), t.error);
  int count = -2, elements = -2;
  MPI_Get_count(&t.status, t.memory.handle, &count);
  MPI_Get_elements(&t.status, t.memory.handle, &elements);
  if (count == MPI_UNDEFINED) count = -1;
  const int64_t available =
      t.write ? t.bytes
              : std::clamp<int64_t>(handle.view.stream_bytes_below(file_size) - t.stream_start, 0, t.bytes);
  if (t.write && hash_bytes(t.buffer.data(), t.buffer.size()) != t.filled) say("write changed its buffer");
  say("%s at %lld+%lld of %lld hash %016llx", name(t.method), static_cast<long long>(t.stream_start),
      static_cast<long long>(t.bytes), static_cast<long long>(available),
      static_cast<unsigned long long>(t.write ? 0 : t.hash_stream(available)));
  if (available == t.bytes && !is_nonblocking(t.method)) {
    say("count %d elements %d", count, elements);
  } else if (answered_by_pmio(handle)) {
    int bytes = -2;
    MPI_Get_count(&t.status, MPI_BYTE, &bytes);
    if (bytes != available)
      say("status of %d bytes instead of %lld", bytes, static_cast<long long>(available));
  }
  if (t.write) return;
  const bool judged = available == t.bytes || answered_by_pmio(handle);
  if (judged && !t.untouched_behind(available, seed)) say("read touched bytes that are not its own");
}

// The individual pointer moves by what was asked for (MPI-4.1, 14.4.1). ROMIO, when it meets the end of the
// file, moves some of its reads by what was there; all go on from where the standard says.
void Scenario::settle_pointer(Handle& handle, const Transfer& last, int64_t file_size) {
  const bool individual = last.method == Method::pointer || last.method == Method::i_pointer ||
                          last.method == Method::all || last.method == Method::i_all ||
                          last.method == Method::split_all;
  const int64_t end = last.stream_start + last.bytes;
  if (last.write || !individual || end <= handle.view.stream_bytes_below(file_size)) return;
  MPI_Offset position = -1;
  check("get_position", MPI_File_get_position(handle.file, &position));
  const MPI_Offset expected = end / handle.view.etype.size;
  if (position != expected && answered_by_pmio(handle))
    say("position %lld instead of %lld after a short read", static_cast<long long>(position),
        static_cast<long long>(expected));
  check("seek", MPI_File_seek(handle.file, expected, MPI_SEEK_SET));
}

void Scenario::transfer_all(Handle& handle, std::vector<Transfer>& transfers, int64_t file_size,
                            Random& own) {
  const uint64_t seed = own.next();
  // A nonblocking read that meets the end of the file never ends in Open MPI 5, wherever the file is.
  const bool at_once = settings_.portable && !handle.logged && !transfers.empty() && !transfers[0].write;
  for (Transfer& transfer : transfers) {
    transfer.prepare(seed + transfer.stream_start);
    say("%s %s%s", transfer.write ? "write" : "read", name(transfer.method),
        transfer.large_count ? " large" : "");
    const Method method = transfer.method;
    if (at_once) transfer.method = blocking(method);
    perform(handle.file, &transfer);
    transfer.method = method;
  }
  if (!transfers.empty() && is_nonblocking(transfers[0].method) && !at_once) complete(transfers, own);
  if (file_size < 0 && !transfers.empty() && !transfers[0].write) file_size = size_of(handle);
  if (!transfers.empty()) settle_pointer(handle, transfers.back(), file_size);
  for (Transfer& transfer : transfers) {
    judge(handle, transfer, file_size, seed + transfer.stream_start);
    release(&transfer.memory);
  }
}

void Scenario::write(Handle& handle, Random shared, Random own) {
  if (!writable(handle)) return query(handle, own);
  const bool collective = shared.percent(55);
  const Method method = random_method(collective ? shared : own, collective);
  auto transfers = plan(handle, true, method, own, collective ? 1 : static_cast<int>(own.below(5)));
  transfer_all(handle, transfers, -1, own);
  // A nonblocking or split call may return on one rank while another still merges holes into the file.
  if (collective && method != Method::at_all && method != Method::all) isolated_ = true;
  if (transfers.empty() || epoch_size_ < 0 || !readable(handle)) return;
  // A rank sees its own writes at once; not beyond the size at the epoch's start, as others may be extending
  // the file.
  const Transfer& last = transfers.back();
  if (last.stream_start + last.bytes > handle.view.stream_bytes_below(epoch_size_)) return;
  Transfer again;
  again.write = false;
  again.offset = last.offset;
  again.stream_start = last.stream_start;
  random_memory(own, handle.view, last.bytes / handle.view.etype.size, &again);
  std::vector<Transfer> back{again};
  transfer_all(handle, back, epoch_size_, own);
}

void Scenario::read(Handle& handle, Random shared, Random own) {
  if (!readable(handle)) return query(handle, own);
  const int64_t size = shared.percent(50) ? size_of(handle) : -1;
  const bool collective = shared.percent(50);
  const Method method = random_method(collective ? shared : own, collective);
  // One collective at a time: plain ROMIO aborts with several nonblocking ones in flight.
  auto transfers = plan(handle, false, method, own, collective ? 1 : static_cast<int>(own.between(1, 4)));
  transfer_all(handle, transfers, size, own);
}

void Scenario::set_view(Handle& handle, Random shared) {
  release(&handle.view);
  handle.view =
      shared.percent(10) ? byte_view(ranks_) : random_view(shared, rank_, ranks_, settings_.with_darray);
  const View& view = handle.view;
  check("set_view", MPI_File_set_view(handle.file, view.displacement, view.etype.handle, view.filetype.handle,
                                      "native", MPI_INFO_NULL));
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char representation[MPI_MAX_DATAREP_STRING];
  check("get_view", MPI_File_get_view(handle.file, &displacement, &etype, &filetype, representation));
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  MPI_Type_get_extent(filetype, &lower, &extent);
  MPI_Type_size(etype, &size);
  say("view %d displacement %lld etype %d extent %lld %s", static_cast<int>(view.family),
      static_cast<long long>(displacement), size, static_cast<long long>(extent), representation);
  if (view.filetype.owned) MPI_Type_free(&filetype);
  if (view.etype.owned) MPI_Type_free(&etype);
}

void Scenario::query(Handle& handle, Random own) {
  int amode = -1, atomicity = -1;
  MPI_Offset position = -1, byte = -1;
  MPI_Aint extent = -1;
  check("get_amode", MPI_File_get_amode(handle.file, &amode));
  check("get_atomicity", MPI_File_get_atomicity(handle.file, &atomicity));
  // ROMIO has no end of a view that begins behind the end of the file.
  if (size_of(handle) >= handle.view.displacement && own.percent(50))
    check("seek", MPI_File_seek(handle.file, own.magnitude(1000), MPI_SEEK_END));
  check("get_position", MPI_File_get_position(handle.file, &position));
  check("get_byte_offset", MPI_File_get_byte_offset(handle.file, own.below(handle.view.limit_etypes), &byte));
  check("get_type_extent", MPI_File_get_type_extent(handle.file, handle.view.etype.handle, &extent));
  say("amode %d atomicity %d position %lld byte %lld extent %lld", amode == handle.amode, atomicity,
      static_cast<long long>(position), static_cast<long long>(byte), static_cast<long long>(extent));
  size_of(handle);
}

void Scenario::resize(Handle& handle, Random shared) {
  const int64_t size = size_of(handle);
  MPI_Barrier(groups_[handle.group].comm);
  const int64_t grown = std::min(size + shared.magnitude(1 << 20), kFileLimit);
  switch (shared.below(4)) {
    case 0:
      if (settings_.portable)
        check("set_size", MPI_File_set_size(handle.file, grown));
      else
        check("preallocate", MPI_File_preallocate(handle.file, grown));
      break;
    case 1:
      check("set_size", MPI_File_set_size(handle.file, grown));
      break;
    case 2:
      check("set_size", MPI_File_set_size(handle.file, shared.below(size + 1)));
      break;
    default:
      check("set_size", MPI_File_set_size(handle.file, std::max<int64_t>(0, size - shared.magnitude(size))));
  }
  MPI_Barrier(groups_[handle.group].comm);
  size_of(handle);
}

// Two handles on one file may get one shared pointer in ROMIO, which names the file that holds it by the
// second; closing one takes the other's away.
bool Scenario::may_share_pointer(const Handle& handle) const {
  return settings_.shared_pointers && handle.view.family == Family::same && !handle.atomic &&
         handle.was_alone && !takes_turns(handle);
}

// Shared pointer, in rank order. All ranks must have the same view.
void Scenario::ordered(Handle& handle, Random shared, Random own) {
  if (!may_share_pointer(handle)) return query(handle, own);
  const bool write = writable(handle) && (!readable(handle) || shared.percent(60));
  MPI_Comm comm = groups_[handle.group].comm;
  MPI_Offset position = -1;
  check("get_position_shared", MPI_File_get_position_shared(handle.file, &position));
  say("shared position %lld", static_cast<long long>(position));
  MPI_Barrier(comm);
  if (position > handle.view.limit_etypes / 2 || shared.percent(20)) {
    position = shared.magnitude(handle.view.limit_etypes / 2);
    check("seek_shared", MPI_File_seek_shared(handle.file, position, MPI_SEEK_SET));
  }
  std::vector<Transfer> transfers(1);
  transfers[0].write = write;
  transfers[0].method = shared.percent(50) ? Method::ordered : Method::split_ordered;
  transfers[0].large_count = own.percent(30);
  const int64_t etypes = own.percent(15) ? 0 : random_etypes(own, handle.view, handle.view.slot_etypes / 2);
  int64_t mine = random_memory(own, handle.view, etypes, &transfers[0]), before = 0;
  MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, comm);
  int place = 0;
  MPI_Comm_rank(comm, &place);
  transfers[0].stream_start = (position + (place == 0 ? 0 : before)) * handle.view.etype.size;
  transfer_all(handle, transfers, -1, own);
  MPI_Barrier(comm);
  check("get_position_shared", MPI_File_get_position_shared(handle.file, &position));
  say("shared position %lld", static_cast<long long>(position));
}

// Shared pointer, one rank after the other.
void Scenario::turns(Handle& handle, Random shared, Random own) {
  if (!may_share_pointer(handle)) return query(handle, own);
  const bool write = writable(handle) && (!readable(handle) || shared.percent(60));
  MPI_Comm comm = groups_[handle.group].comm;
  int place = 0, members = 1;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &members);
  for (int turn = 0; turn < members; turn++) {
    MPI_Barrier(comm);
    if (turn != place) continue;
    MPI_Offset position = -1;
    check("get_position_shared", MPI_File_get_position_shared(handle.file, &position));
    say("shared position %lld", static_cast<long long>(position));
    std::vector<Transfer> transfers(1);
    transfers[0].write = write;
    transfers[0].method = own.percent(50) ? Method::shared : Method::i_shared;
    const int64_t room = std::max<int64_t>(0, (handle.view.limit_etypes - position) / 2);
    random_memory(own, handle.view, random_etypes(own, handle.view, room), &transfers[0]);
    transfers[0].stream_start = position * handle.view.etype.size;
    transfer_all(handle, transfers, -1, own);
  }
}

}  // namespace differential
