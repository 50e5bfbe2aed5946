// Writes the seed corpora: make_seeds <directory>. Valid segments of some shapes in the fuzzer's input form,
// and ledgers.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "input.h"
#include "log/ledger.h"
#include "log/segment.h"

namespace fs = std::filesystem;
using namespace pmio;

static void write_file(const fs::path& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

static void write_segment(const fs::path& path, Region& region, const SegmentWriter& writer, char mode) {
  const char* base = reinterpret_cast<const char*>(region.data());
  std::vector<char> input{mode, static_cast<char>(writer.records())};
  for (uint32_t i = 0; i < writer.records(); ++i) {
    const char* record = base + region.size_bytes() - sizeof(LogRecord) * (i + 1);
    input.insert(input.end(), record, record + sizeof(LogRecord));
  }
  input.insert(input.end(), base, base + kHeaderBytes + writer.data_bytes());
  write_file(path, input);
}

static bool make_segments(const fs::path& corpus, Medium& medium) {
  auto region = medium.create("segment", kMinSegmentBytes);
  if (!region.ok()) return false;
  const std::vector<std::byte> data(2048, std::byte{0x5a});
  for (int shape = 0; shape < 8; ++shape) {
    auto writer = SegmentWriter::format(**region, {1, 0, 0, 2, {1, 2, 3}, "/data/out.nc"});
    if (!writer.ok()) return false;
    for (int i = 0; i < shape; ++i) {
      const bool vector = (shape + i) % 2;
      writer->append(vector ? Vector{i * 100, 8, 24, 5} : Vector{i * 100, 40, 0, 1}, data.data(), 1, 1, true);
    }
    for (const char mode : {0, 1})
      write_segment(corpus / ("shape" + std::to_string(shape) + "-" + std::to_string(mode)), **region,
                    *writer, mode);
  }
  return true;
}

static bool make_ledgers(const fs::path& corpus, Medium& medium) {
  auto ledger = Ledger::create(medium, "ledger", 4);
  for (uint32_t round = 0; ledger.ok() && round < 5; ++round) {
    LedgerState state;
    state.entries.resize(round, {round, 1, 2, 3});
    if (!ledger->update(state).ok()) return false;
    std::ifstream file(medium.directory() + "/ledger", std::ios::binary);
    std::vector<char> input{static_cast<char>(round & 1)};
    input.insert(input.end(), std::istreambuf_iterator<char>(file), {});
    write_file(corpus / ("round" + std::to_string(round)), input);
  }
  return ledger.ok();
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: make_seeds <directory>\n"), 2;
  const fs::path corpus = argv[1];
  fs::create_directories(corpus / "segment");
  fs::create_directories(corpus / "ledger");
  std::string scratch = fs::temp_directory_path() / "pmio-seeds-XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) return std::perror("mkdtemp"), 1;
  auto medium = open_medium(scratch, Durability::none);
  const bool made =
      medium.ok() && make_segments(corpus / "segment", **medium) && make_ledgers(corpus / "ledger", **medium);
  fs::remove_all(scratch);
  return made ? 0 : 1;
}
