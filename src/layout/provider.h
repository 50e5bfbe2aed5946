// Finds out a file's layout, and gives a new file one. There is one provider per kind of file system, and one
// for the hints.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "layout/layout.h"
#include "layout/storage.h"

namespace pmio {

struct LayoutHints {
  uint64_t striping_unit = 0;    // bytes, 0: not given
  uint32_t striping_factor = 0;  // 0: not given
};

class LayoutProvider {
 public:
  virtual ~LayoutProvider() = default;
  virtual const char* name() const = 0;
  // The layout of a file of this provider's kind; nothing: it is of another kind, or the file system does not
  // tell.
  virtual std::optional<Layout> find(const Storage& file, const LayoutHints& hints) const = 0;
  // Makes an empty file with the layout of the hints, in a directory of this provider's kind. At least one
  // hint is given. False: no file was made. A file that was made may still have another layout, if the file
  // system did not want this one.
  virtual bool create(Storage& /*directory*/, const char* /*name*/, const LayoutHints& /*hints*/) const {
    return false;
  }
};

struct FoundLayout {
  Layout layout;                   // one server, if nobody knows better
  const char* provider = nullptr;  // who knew
  bool known() const { return provider != nullptr; }
};

// The providers of the file systems, then that of the hints. A new kind of file system is a new provider in
// this list.
std::span<const LayoutProvider* const> layout_providers();

// Asks the providers in order, and passes over an answer that is no valid layout. It costs one fstatfs, and
// more only on a file system that one of them knows.
FoundLayout find_layout(const Storage& file, const LayoutHints& hints,
                        std::span<const LayoutProvider* const> providers = layout_providers());

// Makes an empty file (mode 0666, less the umask) with the layout of the hints, if the file system lets one
// choose. False: no file was made, because it was there already, or the file system has no such choice.
bool create_with_layout(Storage& directory, const char* name, const LayoutHints& hints);
bool create_with_layout(const std::string& path, const LayoutHints& hints);

}  // namespace pmio
