#include "explore.h"

#include <stdlib.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace pmio::fault {
namespace {

constexpr size_t kMostLosses = 20;

std::string scratch() {
  const bool in_memory = std::getenv("TMPDIR") == nullptr && access("/dev/shm", W_OK) == 0;
  const auto place = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  std::string pattern = (place / "pmio-fault-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
  return pattern;
}

// The target keeps its inode: recovery would not write to another file.
class TargetAside {
 public:
  explicit TargetAside(const std::string& path)
      : path_(path), bytes_(read_bytes(path)), time_(modified(path)) {}
  ~TargetAside() {
    write_bytes(path_, bytes_);
    set_modified(path_, time_);
  }
  TargetAside(const TargetAside&) = delete;
  TargetAside& operator=(const TargetAside&) = delete;

 private:
  const std::string path_;
  const Bytes bytes_;
  const timespec time_;
};

std::string complaint(const RecoverReport& report) {
  std::string text;
  for (const JobOutcome& job : report.jobs) {
    for (const std::string& segment : job.unreadable) text += " unreadable: " + segment;
    for (const FileOutcome& file : job.files) {
      if (!file.message.empty()) text += " " + file.message;
      for (const DamagedSegment& segment : file.damaged)
        text += " damaged: " + segment.path + " " + std::to_string(segment.damage.first) + " of " +
                std::to_string(segment.damage.acknowledged);
    }
  }
  return text;
}

std::string leftovers(const std::string& directory) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().filename() != kRecoverLock) text.append(1, ' ').append(entry.path().filename().string());
  }
  return text;
}

}  // namespace

Explorer::Explorer(Options options) : options_(std::move(options)), root_(scratch()) {
  std::filesystem::create_directory(root_ + "/logs");
  std::filesystem::permissions(root_ + "/logs", std::filesystem::perms::owner_all);
  write_bytes(root_ + "/data", {});
}

Explorer::~Explorer() { std::filesystem::remove_all(root_); }

void Explorer::lose(const std::string& what, const std::string& why) {
  if (tally_.losses.size() < kMostLosses) tally_.losses.push_back(what + ": " + why);
}

void Explorer::explore(const History& history, size_t from, const Bytes& initial) {
  const std::string target = root_ + "/data";
  write_bytes(target, initial);
  // The index of a log that is not in memory has a directory by the job's id.
  const uint64_t job = static_cast<uint64_t>(getpid()) << 32 | ++jobs_;
  char name[32];
  std::snprintf(name, sizeof name, "/job-%016" PRIx64, job);
  const std::string directory = root_ + "/logs" + name;
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  Machine machine;
  machine.start(directory, target);
  MediumOpener open_log = machine.opener(options_.setting.kind, options_.setting.durability);
  if (options_.spoil_medium) open_log = options_.spoil_medium(open_log);
  {
    Run run(options_.setting, root_ + "/logs", target, open_log, job);
    run_ = &run;
    history_ = &history;
    machine.target_sync_swallowed = options_.spoil_target_sync;
    machine.on_target_synced = [&run] { run.model().target_synced(); };
    for (operation_ = 0; operation_ < history.size(); operation_++) {
      if (operation_ == from) {
        machine.watcher = [&](Event event) { crash(machine, event); };
        if (options_.fail) machine.fail(options_.fail->first, options_.fail->second);
      }
      const Status status = run.execute(history[operation_]);
      if (status.ok()) continue;
      tally_.failed_calls++;
      if (!options_.fail)
        lose(describe(history), "call " + std::to_string(operation_) + ": " + status.message());
    }
    if (machine.watcher) crash(machine, Event::fence);
    machine.watcher = {};
    if (options_.fail) tally_.failure_happened = !machine.fails_later(options_.fail->first);
  }
  run_ = nullptr;
  tally_.histories++;
}

void Explorer::crash(Machine& machine, Event event) {
  if (event == Event::flush) return;  // what it changes is only what a later fence does
  if (++events_ % options_.every != 0) return;
  const bool power = options_.setting.failure == Failure::power_loss;
  for (const Fate fate : options_.fates) {
    const uint64_t seed = options_.seed * 1'000'003 + machine.events();
    const std::string what = describe(options_.setting) + " in call " + std::to_string(operation_) + " of [" +
                             describe(*history_) + "], event " + std::to_string(machine.events()) + " (" +
                             event_name(event) + "), fate " + std::to_string(static_cast<int>(fate)) +
                             ", seed " + std::to_string(options_.seed);
    machine.stop();
    Image image = machine.image(options_.setting.failure, fate, seed);
    if (options_.spoil_image) options_.spoil_image(image);
    const TargetAside aside(root_ + "/data");
    recover_image(image, root_ + "/crash", what, options_.crash_recovery);
    if (!power) return;
  }
}

void Explorer::recover_image(const Image& image, const std::string& directory, const std::string& what,
                             bool crash_it) {
  write_image(image, directory, "job-0000000000000001");
  write_bytes(root_ + "/data", image.target);
  set_modified(root_ + "/data", image.target_time);
  tally_.crashes++;
  RecoverOptions options;
  options.directory = directory;
  Machine machine;
  if (crash_it) {
    machine.start(directory + "/job-0000000000000001", root_ + "/data");
    const MediumKind kind = options_.setting.kind;
    options.open_log = machine.opener(kind, Durability::always);
    machine.watcher = [&](Event event) {
      crash_recovery(machine, what + ", then in recovery at " + event_name(event));
    };
  }
  judge(directory, options, what);
}

void Explorer::crash_recovery(Machine& machine, const std::string& what) {
  // One fate each: there are many of these.
  const uint64_t seed = options_.seed * 1'000'033 + tally_.crashes * 31 + machine.events();
  const Fate fate = options_.fates[seed % options_.fates.size()];
  const Image image = machine.image(options_.setting.failure, fate, seed);
  const TargetAside aside(root_ + "/data");
  tally_.recovery_crashes++;
  recover_image(image, root_ + "/crash-again", what + " " + std::to_string(machine.events()), false);
}

void Explorer::judge(const std::string& directory, const RecoverOptions& options, const std::string& what) {
  auto report = recover(options);
  if (Machine* machine = Machine::running()) machine->stop();
  if (!report.ok()) return lose(what, "recovery fails: " + report.status().message());
  if (!report->complete()) lose(what, "recovery complains:" + complaint(*report));
  const Bytes found = read_bytes(root_ + "/data");
  if (const std::string wrong = run_->model().judge(found); !wrong.empty()) lose(what, wrong);
  if (!report->complete()) return;
  if (const std::string left = leftovers(directory); !left.empty()) lose(what, "left behind:" + left);
  RecoverOptions again;
  again.directory = directory;
  if (!recover(again).ok() || read_bytes(root_ + "/data") != found)
    lose(what, "a second recovery changes something");
}

}  // namespace pmio::fault
