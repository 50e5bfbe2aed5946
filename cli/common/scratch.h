// A directory for a measurement, which goes again with all that is in it. Threads: main only.
#pragma once

#include <string>

namespace pmio::cli {

class ScratchDirectory {
 public:
  // Below `parent`; its name begins with `prefix`.
  ScratchDirectory(const std::string& parent, const std::string& prefix);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  bool made() const { return made_; }  // if not, errno tells why
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// Itself, or its closest parent that exists.
std::string nearest_directory(const std::string& directory);

// While there is one, SIGINT, SIGTERM and SIGHUP end nothing. The measurement asks whether one came, and ends
// by itself, so that its files go.
class Interruptions {
 public:
  Interruptions();
  ~Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  static int signal_that_came();  // 0: none
};

}  // namespace pmio::cli
