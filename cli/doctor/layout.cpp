// `pmio doctor --file`: how a file lies on the servers of its file system.
#include "cli/doctor/layout.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "base/file_system.h"
#include "cli/common/report_format.h"
#include "medium/directory.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string describe(uint64_t stripe_bytes, size_t servers) {
  if (stripe_bytes == 0) return "one server";
  const std::string stripes = "stripes of " + human_bytes(stripe_bytes);
  return servers == 1 ? stripes + ", servers unknown"
                      : stripes + " on " + std::to_string(servers) + " servers";
}

const char* across_nodes(const FileLayout& file) {
  if (is_untried(file.file_system))
    return "never tried: jobs log to it with PMIO_MODE=log only, on several nodes with PMIO_ACROSS_NODES=on";
  return shows_other_nodes(file.file_system)
             ? "jobs on several nodes log to it"
             : "jobs on several nodes log to it with PMIO_ACROSS_NODES=on only";
}

size_t distinct(std::vector<uint32_t> servers) {
  std::sort(servers.begin(), servers.end());
  return static_cast<size_t>(std::unique(servers.begin(), servers.end()) - servers.begin());
}

Json json_of(const LayoutComponent& component) {
  return {{"end", component.end}, {"stripe_bytes", component.stripe_bytes}, {"servers", component.servers}};
}

}  // namespace

Result<FileLayout> look_at_layout(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok()) return Status::from_errno(errno, "cannot open '" + path + "'");
  const auto storage = storage_of(fd.get());
  return FileLayout{path, storage->file_system(), find_layout(*storage, {})};
}

std::vector<std::string> lines_of(const FileLayout& file) {
  const std::string unknown = file.found.known() ? "" : " (the file system does not tell)";
  const Layout& layout = file.found.layout;
  if (layout.components.empty())
    return {file.file_system + ": " + describe(layout.stripe_bytes, layout.servers) + unknown,
            across_nodes(file)};
  std::vector<std::string> lines{file.file_system + ": " + std::to_string(layout.components.size()) +
                                 " components, " + std::to_string(layout.servers) + " servers"};
  for (const LayoutComponent& component : layout.components) {
    const std::string end = component.end == UINT64_MAX ? "end" : human_bytes(component.end);
    lines.push_back("to " + end + ": " + describe(component.stripe_bytes, distinct(component.servers)));
  }
  lines.emplace_back(across_nodes(file));
  return lines;
}

Json json_of(const FileLayout& file) {
  const Layout& layout = file.found.layout;
  Json document{{"path", file.path},
                {"file_system", file.file_system},
                {"known", file.found.known()},
                {"stripe_bytes", layout.stripe_bytes},
                {"servers", layout.servers},
                {"components", Json::array()},
                {"logged_across_nodes", shows_other_nodes(file.file_system)}};
  for (const LayoutComponent& component : layout.components)
    document["components"].push_back(json_of(component));
  return document;
}

}  // namespace pmio::cli
