#include "mpi/info.h"

#include <fcntl.h>

#include <cstdlib>

#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "hints/site_file.h"
#include "mpi/errors.h"
#include "mpi/names.h"
#include "mpi/process.h"
#include "mpi/site_hints.h"

namespace pmio {
namespace {

bool is_own(const std::string& key) { return key.rfind("pmio_", 0) == 0; }

void apply(const std::vector<HintPair>& pairs, const char* source, bool say, Hints* hints) {
  for (const auto& [key, value] : pairs) {
    const Status status = set_hint(*hints, key, value);
    // The MPI library has its own opinion on bad values of its own hints.
    if (!status.ok() && say && is_own(key)) complain_once(status.message() + " (from " + source + ")");
  }
}

// The pairs that a variable of overrides has for the file.
std::vector<HintPair> apply_overrides(const char* variable, const char* filename, bool say, Hints* hints) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return {};
  std::vector<std::string> complaints;
  std::vector<HintPair> pairs = override_hints(text, filename, &complaints, variable);
  for (const std::string& complaint : complaints) {
    if (say) complain_once(complaint);
  }
  apply(pairs, variable, say, hints);
  return pairs;
}

}  // namespace

GivenInfo::~GivenInfo() {
  if (own_) mpi().Info_free(&info_);
}

bool GivenInfo::make_own() {
  if (own_) return true;
  MPI_Info copy = MPI_INFO_NULL;
  const int code = info_ == MPI_INFO_NULL ? mpi().Info_create(&copy) : mpi().Info_dup(info_, &copy);
  if (code != MPI_SUCCESS) return false;
  info_ = copy;
  own_ = true;
  return true;
}

void GivenInfo::set(const std::string& key, const std::string& value) {
  if (make_own()) set_in(info_, key, value);
}

void set_in(MPI_Info info, const std::string& key, const std::string& value) {
  if (key.size() >= MPI_MAX_INFO_KEY || value.empty() || value.size() >= MPI_MAX_INFO_VAL) return;
  mpi().Info_set(info, key.c_str(), value.c_str());
}

std::vector<HintPair> news_for_library(MPI_Info info, LibraryHints* known) {
  std::vector<HintPair> news;
  for (HintPair& pair : pairs_of(info)) {
    if (is_own(pair.first)) continue;
    std::string& value = (*known)[pair.first];
    if (value == pair.second) continue;
    value = pair.second;
    news.push_back(std::move(pair));
  }
  return news;
}

std::vector<HintPair> pairs_of(MPI_Info info) {
  std::vector<HintPair> pairs;
  int keys = 0;
  if (info == MPI_INFO_NULL || mpi().Info_get_nkeys(info, &keys) != MPI_SUCCESS) return pairs;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0, there = 0;
    mpi().Info_get_nthkey(info, i, key);
    mpi().Info_get_valuelen(info, key, &length, &there);
    if (!there) continue;
    std::string value(static_cast<size_t>(length) + 1, '\0');
    mpi().Info_get(info, key, length, value.data(), &there);
    value.resize(static_cast<size_t>(length));
    pairs.emplace_back(key, value);
  }
  return pairs;
}

void read_info(MPI_Info info, bool say, Hints* hints) { apply(pairs_of(info), "MPI_Info", say, hints); }

SharedHints hints_for(const char* filename, MPI_Info info, bool say, GivenInfo* given) {
  bool overridden = false;
  SharedHints hints = site_hints(false, &overridden);
  if (info != MPI_INFO_NULL) read_info(info, say, &hints.change());
  if (!overridden) return hints;
  // Cray's library reads it itself, and others do not know it.
  (void)apply_overrides("MPICH_MPIIO_HINTS", filename, say, &hints.change());
  for (const auto& [key, value] : apply_overrides("PMIO_HINTS", filename, say, &hints.change())) {
    if (!is_own(key)) given->set(key, value);
  }
  return hints;
}

// Whether the site wants files there logged, by the file's file system; by its directory's if there is no
// file yet.
static bool site_allows(const char* filename) {
  const SiteFile& site = site_file();
  if (site.file_systems_on.empty() && site.file_systems_off.empty()) return true;
  const std::string path = without_prefix(filename);
  FileDescriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (!place.ok()) place = FileDescriptor(open(directory.c_str(), O_PATH | O_CLOEXEC));
  return !place.ok() || site.allows_file_system(file_system_of(place.get()));
}

void obey_site(const char* filename, SharedHints* hints) {
  if ((*hints)->mode == Mode::automatic && !site_allows(filename)) hints->change().mode = Mode::off;
}

}  // namespace pmio
