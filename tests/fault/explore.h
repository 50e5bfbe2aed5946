// Runs a history, and at every event of it, as if the machine had failed there, recovers what would be left
// (by src/recover) and asks the model whether that is what was promised. A loss is a sentence with all that
// is needed to see it again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history.h"
#include "recover/recover.h"

namespace pmio::fault {

struct Tally {
  uint64_t histories = 0;
  uint64_t crashes = 0;           // images recovered
  uint64_t recovery_crashes = 0;  // of them, crashes of a recovery
  uint64_t failed_calls = 0;
  bool failure_happened = false;  // the one that Options::fail asks for
  std::vector<std::string> losses;
};

class Explorer {
 public:
  struct Options {
    Setting setting;
    // Crash each recovery too, at each of its events.
    bool crash_recovery = false;
    // Crash at every so-manieth event, whatever the fate of its stores.
    uint64_t every = 1;
    std::vector<Fate> fates = {Fate::vanish, Fate::persist, Fate::lines, Fate::words};
    // The tests of the test put faults in here: a broken medium, or a reader that believes anything.
    std::function<MediumOpener(MediumOpener)> spoil_medium = {};
    std::function<void(Image&)> spoil_image = {};
    bool spoil_target_sync = false;
    // The event of this kind and number, counted from history[from] on, fails; a call may then, too.
    std::optional<std::pair<Event, uint64_t>> fail = {};
    uint64_t seed = 1;
  };
  explicit Explorer(Options options);
  ~Explorer();
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // Crashes at the events of history[from] and later; what comes before only happens. `initial` is in the
  // file at first.
  void explore(const History& history, size_t from, const Bytes& initial);
  const Tally& tally() const { return tally_; }

 private:
  void crash(Machine& machine, Event event);
  void recover_image(const Image& image, const std::string& directory, const std::string& what,
                     bool crash_it);
  void crash_recovery(Machine& machine, const std::string& what);
  void judge(const std::string& directory, const RecoverOptions& options, const std::string& what);
  void lose(const std::string& what, const std::string& why);

  const Options options_;
  std::string root_;
  Run* run_ = nullptr;
  const History* history_ = nullptr;
  size_t operation_ = 0;
  uint64_t jobs_ = 0;
  uint64_t events_ = 0;
  Tally tally_;
};

}  // namespace pmio::fault
