// A whole log directory of any bytes, given to `pmio inspect`, `stats`, `advise` and `recover` as a user
// would: no crash, no hang, and nothing is written but the log directory and the file that a log records.
//
// Input: pieces of a kind (one byte), a length (two bytes) and that many bytes, each of which becomes a file
// of the job. Kinds: 0-2 a segment (input.h), 3 ledger, 4 control block, 5 statistics, 6 some other name. In
// a segment whose mode has bit 1, the target is the file that is really there.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/advise/record_file.h"
#include "cli/commands.h"
#include "drain/target.h"
#include "input.h"
#include "node/control.h"

namespace fs = std::filesystem;

namespace pmio::cli {

static std::vector<AddCommand>& commands() {
  static std::vector<AddCommand> all;
  return all;
}
Registration::Registration(AddCommand add) { commands().push_back(add); }
void set_exit_code(int) {}

}  // namespace pmio::cli

namespace {

struct Place {
  std::string root, logs, job, stats, target, bystander;
  pmio::FileIdentity identity;
};

void put(const std::string& path, const void* bytes, size_t size) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes, size) != static_cast<ssize_t>(size)) abort();
  close(fd);
}

const Place& place() {
  static const Place made = [] {
    Place at;
    at.root = access("/dev/shm", W_OK) == 0 ? "/dev/shm/pmio-fuzz-XXXXXX" : "/tmp/pmio-fuzz-XXXXXX";
    if (mkdtemp(at.root.data()) == nullptr) abort();
    at.logs = at.root + "/logs";
    at.job = at.logs + "/job-0000000000000001";
    at.stats = at.logs + "/stats-0000000000000001";
    at.target = at.root + "/data";
    at.bystander = at.root + "/bystander";
    put(at.target, "", 0);
    put(at.bystander, "mine", 4);
    at.identity = pmio::identity_of(at.target).value();
    // What the commands print is not what is looked at.
    if (std::freopen("/dev/null", "w", stdout) == nullptr) abort();
    static std::string root = at.root;
    std::atexit([] { fs::remove_all(root); });
    return at;
  }();
  return made;
}

void put_segment(const Place& at, uint8_t number, const uint8_t* input, size_t size) {
  pmio::fuzz::Segment segment = pmio::fuzz::segment_from(input, size);
  if (size > 2 && (input[0] & 2) != 0) {
    auto& header = *reinterpret_cast<pmio::SegmentHeader*>(segment.data());
    header.target = at.identity;
    header.path_length = static_cast<uint32_t>(at.target.size());
    std::memcpy(header.path, at.target.data(), at.target.size());
    header.header_crc = pmio::header_checksum(header);
    // A byte beyond this would only make a large sparse file.
    constexpr uint64_t kMostOffset = 1 << 20;
    const size_t records = std::min<size_t>(input[1], (size - 2) / sizeof(pmio::LogRecord));
    for (size_t i = 0; i < records; i++) {
      auto* record = reinterpret_cast<pmio::LogRecord*>(segment.data() + segment.size()) - 1 - i;
      record->file_offset %= kMostOffset;
      record->stride %= kMostOffset;
    }
    if ((input[0] & 1) != 0) pmio::fuzz::fix_checksums(segment, static_cast<uint32_t>(records));
  }
  put(at.job + "/seg-" + std::to_string(number) + "-0", segment.data(), segment.size());
}

void put_piece(const Place& at, uint8_t kind, const uint8_t* input, size_t size) {
  const std::string key = pmio::file_key(at.identity);
  switch (kind % 7) {
    case 3:
      return put(at.job + "/ledger-" + key, input, size);
    case 4:
      return put(at.job + "/file-" + key, input, size);
    case 5:
      (void)pmio::cli::parse_record({reinterpret_cast<const char*>(input), size});
      return put(at.stats + "/rank-0.json", input, size);
    case 6:
      return put(at.job + "/run-" + key + "-1", input, size);
    default:
      return put_segment(at, kind % 7, input, size);
  }
}

void run(std::vector<std::string> words) {
  CLI::App app{"", "pmio"};
  for (const pmio::cli::AddCommand add : pmio::cli::commands()) add(app);
  words.insert(words.end(), {"--dir", place().logs});
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const std::exception&) {
    // The command says so and exits with 1.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const Place& at = place();
  fs::remove_all(at.logs);
  for (const std::string& made : {at.logs, at.job, at.stats}) {
    if (mkdir(made.c_str(), 0700) != 0) abort();
  }
  put(at.target, "", 0);
  put(at.job + "/alive", "", 0);
  while (size >= 3) {
    const size_t length = std::min<size_t>(input[1] | input[2] << 8, size - 3);
    put_piece(at, input[0], input + 3, length);
    input += 3 + length;
    size -= 3 + length;
  }
  run({"inspect"});
  run({"inspect", "--records"});
  run({"stats"});
  run({"advise"});
  run({"recover", "--dry-run", "--json"});
  if (fs::file_size(at.target) != 0) abort();
  run({"recover"});
  run({"recover"});
  char mine[5] = {};
  std::ifstream(at.bystander).read(mine, 4);
  if (std::strcmp(mine, "mine") != 0) abort();
  size_t names = 0;
  for (const auto& entry : fs::directory_iterator(at.root)) {
    names++;
    static_cast<void>(entry);
  }
  if (names != 3) abort();
  return 0;
}
