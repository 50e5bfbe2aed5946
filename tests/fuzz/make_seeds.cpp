// Writes the seed corpora, those in tests/fuzz/corpus too: make_seeds <directory>. Valid segments of some
// shapes in the fuzzer's input form, ledgers, control blocks, hints, layouts, nodes notes and journals, and
// whole log directories. What is zero at the end of an input is left out: the fuzzers put it back.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "../unit/layout/lustre_bytes.h"
#include "input.h"
#include "layout/layout.h"
#include "log/ledger.h"
#include "log/nodes_note.h"
#include "log/segment.h"
#include "peer/frame.h"
#include "recover/journal.h"

namespace fs = std::filesystem;
using namespace pmio;

static std::vector<char> trimmed(std::vector<char> bytes) {
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  return bytes;
}

static void write_file(const fs::path& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

static std::vector<char> segment_input(Region& region, const SegmentWriter& writer, char mode) {
  const char* base = reinterpret_cast<const char*>(region.data());
  std::vector<char> input{mode, static_cast<char>(writer.records())};
  for (uint32_t i = 0; i < writer.records(); ++i) {
    const char* record = base + region.size_bytes() - sizeof(LogRecord) * (i + 1);
    input.insert(input.end(), record, record + sizeof(LogRecord));
  }
  // With checksums put right, data of zeros are as good.
  input.insert(input.end(), base, base + kHeaderBytes + ((mode & 1) != 0 ? 0 : writer.data_bytes()));
  return trimmed(std::move(input));
}

static void add_piece(std::vector<char>* directory, char kind, const std::vector<char>& bytes) {
  directory->insert(directory->end(),
                    {kind, static_cast<char>(bytes.size() & 255), static_cast<char>(bytes.size() >> 8)});
  directory->insert(directory->end(), bytes.begin(), bytes.end());
}

static bool make_segments(const fs::path& corpus, Medium& medium) {
  auto region = medium.create("segment", kMinSegmentBytes);
  if (!region.ok()) return false;
  const std::vector<std::byte> data(200, std::byte{0x5a});
  for (int shape = 0; shape < 6; ++shape) {
    auto writer = SegmentWriter::format(**region, {1, 0, 0, 2, {1, 2, 3}, "/data/out.nc"});
    if (!writer.ok()) return false;
    for (int i = 0; i < shape; ++i) {
      const bool vector = (shape + i) % 2;
      writer->append(vector ? Vector{i * 100, 8, 24, 5} : Vector{i * 100, 40, 0, 1}, data.data(), 1, 1, true);
      if (!writer->fence().ok()) return false;
    }
    if (shape == 5 && !writer->seal().ok()) return false;
    const std::string name = "shape" + std::to_string(shape);
    write_file(corpus / "segment" / name, segment_input(**region, *writer, 1));
    if (shape == 2)
      write_file(corpus / "segment" / (name + "-as-it-is"), segment_input(**region, *writer, 0));
    std::vector<char> directory;
    add_piece(&directory, static_cast<char>(shape % 3), segment_input(**region, *writer, 3));
    if (shape % 2 == 1) add_piece(&directory, 3, {'P', 'M', 'I', 'O', 'L', 'D', 'R', '1', 1});
    if (shape == 4) add_piece(&directory, 4, {'P', 'M', 'I', 'O', 'C', 'T', 'L', '4'});
    const std::string statistics = R"({"rank":0,"counters":{"append_ns":5}})";
    if (shape == 3) add_piece(&directory, 5, {statistics.begin(), statistics.end()});
    write_file(corpus / "directory" / name, directory);
  }
  return true;
}

static std::vector<char> file_behind(char mode, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> input{mode};
  input.insert(input.end(), std::istreambuf_iterator<char>(file), {});
  return input;
}

static bool make_nodes(const fs::path& corpus, Medium& medium) {
  const NodePlace place{0, 2, {0, 1}, {{"a", {0, 1}}, {"b", {2}}}};
  if (!write_nodes_note(medium, "nodes", {place, {1, 2, 3}, "/data/out.nc"}).ok()) return false;
  for (const char mode : {char{0}, char{2}})
    write_file(corpus / "nodes" / (mode == 0 ? "note" : "note-put-right"),
               file_behind(mode, medium.directory() + "/nodes"));
  const std::string path = medium.directory() + "/journal";
  auto journal = Journal::open(path, place, 7);
  const Journal::Claim claims[] = {{{0, 8, 0, 1}, 7, 0}, {{100, 8, 24, 5}, 8, 1}};
  if (!journal.ok() || !(**journal).add_claims(0, claims).ok()) return false;
  write_file(corpus / "nodes" / "journal", file_behind(1, path));
  if (!(**journal).finish(0).ok()) return false;
  write_file(corpus / "nodes" / "journal-one-done", file_behind(3, path));
  return true;
}

static bool make_ledgers(const fs::path& corpus, Medium& medium) {
  auto ledger = Ledger::create(medium, "ledger", 4);
  for (uint32_t round = 0; ledger.ok() && round < 3; ++round) {
    LedgerState state;
    state.entries.resize(round, {round, 1, 2, 3});
    if (!ledger->update(state).ok()) return false;
    std::vector<char> input = file_behind(static_cast<char>(round & 1), medium.directory() + "/ledger");
    // The second half is found by its place.
    if (round < 2) input = trimmed(std::move(input));
    write_file(corpus / "ledger" / ("round" + std::to_string(round)), input);
  }
  return ledger.ok();
}

static void make_texts(const fs::path& corpus) {
  const std::string hints[] = {"*.nc:pmio_log_size=64MiB:pmio_mode=log,out*:striping_unit=1048576",
                               "pmio_dir=/dev/shm/x", "*:pmio_durability=always:romio_cb_write=enable"};
  for (size_t i = 0; i < std::size(hints); i++)
    write_file(corpus / "hints" / std::to_string(i), {hints[i].begin(), hints[i].end()});
  write_file(corpus / "control" / "of-one-rank", {3, 1});
  write_file(corpus / "control" / "as-it-is", {2, 1});
}

// Kind, length of the first attribute, attributes: as in layout_fuzz.cpp.
static void make_layouts(const fs::path& corpus) {
  using namespace lustre_bytes;
  const auto words = pack({0, 2, {{4 << 20, 0, {1}}, {UINT64_MAX, 1 << 20, {0, 1}}}});
  const std::string orange = bytes("0d000000") + "simple_stripe" + bytes("00000000000000 0000010000000000");
  const std::pair<const char*, std::string> layouts[] = {
      {"lustre-plain-1", bytes("0000") + plain1()},
      {"lustre-plain-3", bytes("0000") + plain3()},
      {"lustre-progressive", bytes("0000") + progressive()},
      {"ceph", bytes("0100") + "stripe_unit=1048576 stripe_count=4 object_size=4194304 pool=data"},
      {"beegfs", bytes("0200 01000000 00000800 0400 0000")},
      {"orangefs", bytes("0320") + orange + std::string(24, 'h')},
      {"glusterfs",
       bytes("0400") + "(<STRIPE:v:[131072]> <POSIX(/a):h:/a/f> (<REPLICATE:r> <POSIX(/b):h:/b/f>))"},
      {"packed", bytes("0500") + std::string(reinterpret_cast<const char*>(words.data()),
                                             words.size() * sizeof words[0])}};
  for (const auto& [name, input] : layouts)
    write_file(corpus / "layout" / name, {input.begin(), input.end()});
}

static void make_frames(const fs::path& corpus) {
  std::vector<char> input{16, 6};
  for (uint32_t kind = 1; kind <= 3; kind++) {
    const FrameHeader header = make_header(FrameType::request, kind, 10 * (kind - 1));
    const auto* bytes = reinterpret_cast<const char*>(&header);
    input.insert(input.end(), bytes, bytes + sizeof header);
    input.resize(input.size() + header.length, 'x');
  }
  write_file(corpus / "frame" / "three", input);
  input.resize(input.size() - 1);
  write_file(corpus / "frame" / "cut", input);
  input[0] = 1;
  write_file(corpus / "frame" / "too-long", input);
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: make_seeds <directory>\n"), 2;
  const fs::path corpus = argv[1];
  for (const char* name : {"segment", "ledger", "control", "hints", "layout", "directory", "frame", "nodes"})
    fs::create_directories(corpus / name);
  make_texts(corpus);
  make_layouts(corpus);
  make_frames(corpus);
  std::string scratch = fs::temp_directory_path() / "pmio-seeds-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) return std::perror("mkdtemp"), 1;
  auto medium = open_medium(scratch, Durability::none);
  const bool made = medium.ok() && make_segments(corpus, **medium) && make_ledgers(corpus, **medium) &&
                    make_nodes(corpus, **medium);
  fs::remove_all(scratch);
  return made ? 0 : 1;
}
