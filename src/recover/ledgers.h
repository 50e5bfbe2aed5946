// What a job's directory says of its files besides the segments: ledgers, nodes notes and control blocks.
// They are read, and what they say is added to what the segments told (recover/scan.h). Threads: one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/control.h"
#include "recover/directory.h"
#include "recover/scan.h"

namespace pmio {

constexpr std::string_view kControlPrefix = "file-";

// The ledgers of one job, by what they say, and its control blocks, by the key of their file. A ledger that
// says nothing is known by its name only.
struct Ledgers {
  std::map<std::string, LedgerState> readable;
  std::set<std::string> blank;                      // created, never updated: nothing is drained
  std::set<std::string> damaged;                    // updated, and unreadable
  std::map<std::string, ControlEvidence> controls;  // of a dead job
  std::map<std::string, ControlEvidence> moving;    // of another one
  std::vector<NodesNote> notes;
  std::set<std::string> unreadable_notes;
  const ControlEvidence* control_of(const FileIdentity& target) const {
    const auto found = controls.find(file_key(target));
    return found == controls.end() ? nullptr : &found->second;
  }
};

void read_ledger(const LogDirectory& directory, const std::string& name, Ledgers* ledgers);
void read_note(const LogDirectory& directory, const std::string& name, Ledgers* ledgers);
void read_control(const LogDirectory& directory, const std::string& name,
                  std::map<std::string, ControlEvidence>* controls);
// Adds what the job's ledgers say of the file.
void apply_ledgers(const Ledgers& ledgers, FileInfo* file);
void apply_notes(const Ledgers& ledgers, FileInfo* file);
// Finds segments that the control block knows and that are not there, or say nothing.
void find_lost_segments(const Ledgers& ledgers, FileInfo* file);
// Finds segments that the ledger knows and that are not there, as far as the control block does not tell of
// them. A recovery that was interrupted has removed some when nothing was left to do: then this is no
// evidence.
void find_gone_segments(const Ledgers& ledgers, const std::vector<std::string>& names, FileInfo* file);

}  // namespace pmio
