#include "medium/default_directory.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

namespace pmio {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The name of the effective user, as in the default directory; a number if the user has no name.
std::string user_name() {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  const bool known = getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return known ? found->pw_name : std::to_string(geteuid());
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The text for the letter after a percent sign.
Result<std::string> percent(char letter) {
  if (letter == '%') return std::string("%");
  if (letter == 'u') return user_name();
  if (letter == 'h') return host_name();
  return Status(Code::invalid, std::string("'%") + letter + "' is none of %u, %h and %%");
}

// Takes NAME or {NAME} from text and gives the variable's value.
Result<std::string> variable(std::string_view& text) {
  const bool braced = text.starts_with('{');
  if (braced) text.remove_prefix(1);
  size_t length = 0;
  while (length < text.size() &&
         (isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_'))
    ++length;
  const std::string name(text.substr(0, length));
  text.remove_prefix(length);
  if (name.empty() || (braced && !text.starts_with('}')))
    return Status(Code::invalid, "after '$' comes NAME or {NAME}");
  if (braced) text.remove_prefix(1);
  std::string value = environment(name.c_str());
  if (value.empty()) return Status(Code::invalid, "the variable " + name + " is not set");
  return value;
}

}  // namespace

Result<std::string> expand_directory(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const char letter = text.front();
    text.remove_prefix(1);
    if (letter != '%' && letter != '$') {
      path += letter;
      continue;
    }
    const char next = text.empty() ? ' ' : text.front();
    if (letter == '%' && !text.empty()) text.remove_prefix(1);
    Result<std::string> part = letter == '%' ? percent(next) : variable(text);
    if (!part.ok()) return part.status();
    path += *part;
  }
  if (!path.starts_with('/')) return Status(Code::invalid, "'" + path + "' is not an absolute path");
  return without_trailing_slashes(path);
}

std::string default_directory() {
  // Ranks may start in different directories, and a recovery in another one.
  if (Result<std::string> given = expand_directory(environment("PMIO_DIR")); given.ok()) return *given;
  const std::string own = "/pmio-" + std::to_string(geteuid());
  // The effective ids decide, as they do for the files that will be created.
  if (faccessat(AT_FDCWD, "/dev/shm", W_OK | X_OK, AT_EACCESS) == 0) return "/dev/shm" + own;
  const std::string temporary = environment("TMPDIR");
  return without_trailing_slashes(temporary.empty() ? "/tmp" : temporary) + own;
}

}  // namespace pmio
