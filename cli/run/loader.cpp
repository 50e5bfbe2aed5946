#include "cli/run/loader.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

namespace pmio::cli {
namespace {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

constexpr uint64_t kMostRead = uint64_t{1} << 30;  // of one table

// A part of a file as values of one type; fewer, or none, if the file ends before or the part is too large.
template <typename T>
std::vector<T> values_at(int fd, uint64_t offset, uint64_t bytes) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) return {};
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (offset >= size || bytes > kMostRead) return {};
  std::vector<T> values(std::min(bytes, size - offset) / sizeof(T));
  const size_t wanted = values.size() * sizeof(T);
  for (size_t done = 0; done < wanted;) {
    const ssize_t got = pread(fd, reinterpret_cast<char*>(values.data()) + done, wanted - done,
                              static_cast<off_t>(offset + done));
    if (got <= 0) return {};
    done += static_cast<size_t>(got);
  }
  return values;
}

std::string interpreter_of_elf(int fd, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  const uint64_t bytes = header.e_phnum * uint64_t{sizeof(Elf64_Phdr)};
  for (const Elf64_Phdr& segment : values_at<Elf64_Phdr>(fd, header.e_phoff, bytes)) {
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_filesz == 0 || segment.p_filesz > PATH_MAX) return {};
    std::vector<char> path = values_at<char>(fd, segment.p_offset, segment.p_filesz);
    path.push_back('\0');  // the segment ends with a zero, if it is right
    return path.data();
  }
  return {};
}

bool defines(int fd, const Elf64_Shdr& symbols, const Elf64_Shdr& names, std::string_view name) {
  std::vector<char> text = values_at<char>(fd, names.sh_offset, names.sh_size);
  text.push_back('\0');
  const auto all = values_at<Elf64_Sym>(fd, symbols.sh_offset, symbols.sh_size);
  return std::any_of(all.begin(), all.end(), [&](const Elf64_Sym& symbol) {
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
           symbol.st_name < text.size() && name == &text[symbol.st_name];
  });
}

// Runs argv and gives what it wrote to standard output; its standard error is dropped.
Result<std::string> output_of(std::vector<std::string> argv) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Status::from_errno(errno, "pipe");
  const Descriptor reading(ends[0]);
  pid_t child = -1;
  {
    const Descriptor writing(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, writing.fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> pointers;
    for (std::string& word : argv) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return Status::from_errno(failed, "cannot run " + argv[0]);
  }
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t got; (got = read(reading.fd, block.data(), block.size())) != 0;) {
    if (got > 0) text.append(block.data(), static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

std::string resolved(const std::string& path) {
  std::array<char, PATH_MAX> buffer;
  return realpath(path.c_str(), buffer.data()) != nullptr ? std::string(buffer.data()) : path;
}

// A line of the loader's list: "\tlibm.so.6 => /lib/libm.so.6 (0x7f...)", "\tlibx.so => not found",
// "\t/preloaded/lib.so (0x7f...)".
LoadedLibrary parse_line(const std::string& line) {
  LoadedLibrary library;
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return library;
  const size_t arrow = line.find(" => ", begin);
  const size_t address = line.rfind(" (0x");
  library.name = line.substr(begin, (arrow != std::string::npos ? arrow : address) - begin);
  if (arrow == std::string::npos) {
    if (library.name.find('/') != std::string::npos) library.path = resolved(library.name);
  } else if (address != std::string::npos && address > arrow) {
    library.path = resolved(line.substr(arrow + 4, address - arrow - 4));
  }
  return library;
}

bool executable_file(const std::string& path, bool* denied) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) {
    if (errno == EACCES) *denied = true;
    return false;
  }
  if (S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0) return true;
  *denied = true;
  return false;
}

}  // namespace

Result<ProgramFacts> program_facts(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return Status::from_errno(errno, "cannot read " + path);
  ProgramFacts facts;
  std::array<char, 256> start{};
  const ssize_t got = pread(file.fd, start.data(), start.size() - 1, 0);
  if (got > 2 && start[0] == '#' && start[1] == '!') {
    facts.kind = ProgramKind::script;
    std::istringstream(std::string(start.data() + 2)) >> facts.interpreter;
    return facts;
  }
  if (got < static_cast<ssize_t>(sizeof(Elf64_Ehdr)) || memcmp(start.data(), ELFMAG, SELFMAG) != 0)
    return facts;
  if (start[EI_CLASS] != ELFCLASS64) return facts;
  Elf64_Ehdr header;
  memcpy(&header, start.data(), sizeof header);
  facts.loader = interpreter_of_elf(file.fd, header);
  facts.kind = facts.loader.empty() ? ProgramKind::fixed : ProgramKind::dynamic;
  return facts;
}

bool contains_mpi(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return false;
  const auto headers = values_at<Elf64_Ehdr>(file.fd, 0, sizeof(Elf64_Ehdr));
  if (headers.empty() || headers.front().e_shentsize != sizeof(Elf64_Shdr)) return false;
  const auto sections = values_at<Elf64_Shdr>(file.fd, headers.front().e_shoff,
                                              headers.front().e_shnum * uint64_t{sizeof(Elf64_Shdr)});
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    return section.sh_type == SHT_SYMTAB && section.sh_link < sections.size() &&
           defines(file.fd, section, sections[section.sh_link], "PMPI_File_open");
  });
}

Result<std::vector<LoadedLibrary>> loaded_libraries(const std::string& path, const std::string& loader) {
  auto text = output_of({loader, "--list", path});
  if (!text.ok()) return text.status();
  std::vector<LoadedLibrary> libraries;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    LoadedLibrary library = parse_line(line);
    if (!library.name.empty()) libraries.push_back(std::move(library));
  }
  return libraries;
}

std::string own_loader() {
  auto facts = program_facts("/proc/self/exe");
  return facts.ok() ? facts->loader : std::string();
}

std::string find_program(const std::string& name, bool* denied) {
  *denied = false;
  if (name.find('/') != std::string::npos) return executable_file(name, denied) ? name : std::string();
  const char* path = getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    if (!name.empty() && executable_file(candidate, denied)) return candidate;
  }
  return {};
}

}  // namespace pmio::cli
