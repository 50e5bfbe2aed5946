// The note by which others find a log (medium/registry.h) goes when nothing is left in the log's directory
// but `alive`, and before that: whoever is killed on the way leaves neither a log that nobody finds, nor a
// note of one that is gone, which `pmio recover` would call lost.
#include <sys/inotify.h>
#include <sys/wait.h>

#include "log/last_seen.h"
#include "medium/registry.h"
#include "recover/recover.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

class NoteOrder : public testing::Test {
 protected:
  NoteOrder() : path_(scratch_.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch_.files_.c_str(), 1);
    std::ofstream(path_).flush();
  }
  ~NoteOrder() override { close(watch_); }

  std::unique_ptr<Job> write() {
    auto job = join(scratch_, 0, 1, 4 << 20, false);
    auto file = *job->open({path_, false, {}});
    const std::byte byte{'a'};
    EXPECT_TRUE(file->append(0, &byte, 1, 0).ok());
    files_ = {std::move(file)};
    return job;
  }
  void leave(std::unique_ptr<Job> job) {
    for (const auto& file : files_) EXPECT_TRUE(file->closing().release().ok());
    files_.clear();
    job.reset();
  }
  void watch() {
    auto registry = Registry::find();
    ASSERT_TRUE(registry.ok());
    auto entries = registry->list();
    ASSERT_TRUE(entries.ok() && entries->size() == 1);
    const std::filesystem::path note = registry->path_of(entries->front().job);
    for (const std::string& directory :
         {scratch_.log_ + "/" + note.filename().string(), note.parent_path().string()})
      ASSERT_GE(inotify_add_watch(watch_, directory.c_str(), IN_DELETE), 0) << directory;
    note_ = note.filename().string();
  }
  // Names, in the order in which they went.
  std::vector<std::string> removed() const {
    std::vector<std::string> names;
    alignas(inotify_event) char events[1 << 16];
    const ssize_t n = read(watch_, events, sizeof events);
    for (ssize_t at = 0; at < n;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(events + at);
      if (event.len > 0) names.emplace_back(event.name);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return names;
  }
  void expect_order() const {
    const std::vector<std::string> names = removed();
    ASSERT_GE(names.size(), 3u);
    EXPECT_EQ(names[names.size() - 2], note_);
    EXPECT_EQ(names.back(), kAlive);
    EXPECT_TRUE(Registry::find()->list()->empty());
    EXPECT_EQ(contents(path_).size(), 1u);
  }

  Scratch scratch_;
  const std::string path_;
  const int watch_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::string note_;
  std::vector<std::shared_ptr<File>> files_;
};

TEST_F(NoteOrder, OfAJobThatLeaves) {
  auto job = write();
  watch();
  leave(std::move(job));
  expect_order();
}

TEST_F(NoteOrder, OfARecovery) {
  const pid_t child = fork();
  if (child == 0) {
    const auto job = write();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  watch();
  RecoverOptions options;
  options.directory = scratch_.log_;
  const auto report = recover(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  expect_order();
}

}  // namespace
}  // namespace pmio
