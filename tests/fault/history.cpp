#include "history.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace pmio::fault {
namespace {

Bytes numbered_bytes(uint64_t number, uint64_t length) {
  std::mt19937_64 random(number);
  Bytes bytes(length);
  for (uint64_t at = 0; at < length; at += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<uint64_t>(sizeof word, length - at));
  }
  return bytes;
}

// Two blocks, a hole, one block: two records or more.
Pattern pattern_of(uint64_t length) {
  const uint64_t block = std::max<uint64_t>(1, length / 3);
  Pattern pattern;
  pattern.add(Vector{0, block, static_cast<int64_t>(2 * block), 2});
  pattern.add(Vector{static_cast<int64_t>(3 * block + 5), block, 0, 1});
  pattern.finish(static_cast<int64_t>(4 * block + 5));
  return pattern;
}

const char* call_name(Call call) {
  switch (call) {
    case Call::write:
      return "write";
    case Call::pieces:
      return "pieces";
    case Call::fill:
      return "fill";
    case Call::drain:
      return "drain";
    case Call::sync:
      return "sync";
    case Call::truncate:
      return "truncate";
    case Call::reopen:
      return "reopen";
    case Call::discard:
      return "discard";
  }
  return "?";
}

}  // namespace

std::string describe(const History& history) {
  std::string text;
  for (const Operation& operation : history) {
    if (!text.empty()) text += ", ";
    text += call_name(operation.call);
    text += " by ";
    text += std::to_string(operation.rank);
    if (operation.call == Call::truncate) text += " to " + std::to_string(operation.offset);
    if (operation.length > 0)
      text += " at " + std::to_string(operation.offset) + "+" + std::to_string(operation.length);
  }
  return text;
}

std::string describe(const Setting& setting) {
  std::string text = medium_kind_name(setting.kind);
  if (setting.kind == MediumKind::disk) text += std::string(" ") + durability_name(setting.durability);
  return text + (setting.failure == Failure::power_loss ? ", power loss" : ", process death");
}

Run::Run(const Setting& setting, std::string directory, std::string target, MediumOpener open_log,
         uint64_t job)
    : setting_(setting), target_(std::move(target)), files_(kRanks), model_(read_bytes(target_)) {
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    JobOptions options;
    options.directory = directory;
    // The process's own: another test's job of that number would share the directory of its index.
    options.id = static_cast<uint64_t>(getpid()) << 32 | job;
    options.rank = rank;
    options.ranks = kRanks;
    options.capacity_bytes = 1;  // as few segments as there may be
    options.durability = setting.durability;
    options.background = false;
    options.open_log = open_log;
    auto joined = Job::join(options);
    if (!joined.ok()) throw std::runtime_error(joined.status().message());
    jobs_.push_back(std::move(joined).value());
    job_directory_ = jobs_.back()->directory();
    if (Status status = open(rank); !status.ok()) throw std::runtime_error(status.message());
  }
}

Run::~Run() {
  for (auto& file : files_) {
    if (file != nullptr) static_cast<void>(file->closing().release());
  }
  files_.clear();
  jobs_.clear();
}

Status Run::open(uint32_t rank) {
  auto file = jobs_[rank]->open({target_, false, {}});
  if (!file.ok()) return file.status();
  files_[rank] = std::move(file).value();
  return {};
}

Status Run::execute(const Operation& operation) {
  number_++;
  switch (operation.call) {
    case Call::write:
    case Call::pieces:
    case Call::fill:
      return append(operation);
    case Call::drain:
      return files_[operation.rank]->drain();
    case Call::sync:
      return sync(operation.rank);
    case Call::truncate:
      return truncate_file(operation.offset);
    case Call::reopen:
      return reopen(operation.rank);
    case Call::discard:
      return discard(operation.rank);
  }
  return {};
}

Status Run::append(const Operation& operation) {
  File& file = *files_[operation.rank];
  const Bytes bytes = numbered_bytes(number_, operation.length);
  std::vector<Piece> pieces;
  Status status;
  if (operation.call == Call::pieces) {
    const Pattern where = pattern_of(operation.length);
    const Pattern flat = Pattern::bytes(operation.length);
    PatternCursor to(where, static_cast<int64_t>(operation.offset), 0);
    for (uint64_t done = 0; done < operation.length;) {
      const auto piece = to.next_piece(operation.length - done);
      const auto from = bytes.begin() + static_cast<ptrdiff_t>(done);
      pieces.push_back(
          {static_cast<uint64_t>(piece.offset), {from, from + static_cast<ptrdiff_t>(piece.length)}});
      done += piece.length;
    }
    model_.may_write(pieces);
    PatternCursor cursor(where, static_cast<int64_t>(operation.offset), 0);
    PatternCursor memory(flat, 0, 0);
    status = file.append(cursor, memory, bytes.data(), bytes.size(), static_cast<uint32_t>(number_));
  } else {
    pieces.push_back({operation.offset, bytes});
    model_.may_write(pieces);
    status = file.append(operation.offset, bytes.data(), bytes.size(), 0);
  }
  if (!status.ok()) return status;
  if (setting_.acknowledged_is_durable()) {
    model_.must_write(pieces);
  } else {
    not_durable_.insert(not_durable_.end(), pieces.begin(), pieces.end());
  }
  return {};
}

Status Run::sync(uint32_t rank) {
  // What other ranks have logged becomes durable too, by way of the file.
  PMIO_TRY(files_[rank]->sync());
  model_.must_write(not_durable_);
  not_durable_.clear();
  return {};
}

// As MPI_File_set_size does it: all ranks are in the call and have drained.
Status Run::truncate_file(uint64_t size) {
  for (auto& file : files_) PMIO_TRY(file->drain());
  // They are in the file now, and in no log.
  model_.must_write(not_durable_);
  not_durable_.clear();
  model_.may_truncate(size);
  for (auto& file : files_) file->changes().invalidate_cache();
  if (ftruncate(files_[0]->target().fd(), static_cast<off_t>(size)) != 0)
    return Status::from_errno(errno, "truncating");
  for (auto& file : files_) {
    file->changes().truncated();
    file->changes().invalidate_cache();
  }
  model_.must_truncate(size, setting_.failure == Failure::power_loss);
  return {};
}

Status Run::reopen(uint32_t rank) {
  PMIO_TRY(files_[rank]->closing().release());
  files_[rank].reset();
  return open(rank);
}

Status Run::discard(uint32_t rank) {
  model_.may_be(read_bytes(target_));
  PMIO_TRY(files_[rank]->changes().discard());
  not_durable_.clear();
  model_.is(read_bytes(target_));
  return {};
}

}  // namespace pmio::fault
