#include "cli/stats/trace.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/stats/history.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;

// Fields of protos/perfetto/trace: trace.proto, trace_packet.proto, track_event/*.proto.
enum Field : uint32_t {
  kTracePacket = 1,
  kPacketTimestamp = 8,
  kPacketSequence = 10,
  kPacketTrackEvent = 11,
  kPacketSequenceFlags = 13,
  kPacketTrackDescriptor = 60,
  kTrackUuid = 1,
  kTrackName = 2,
  kTrackProcess = 3,
  kTrackParent = 5,
  kTrackCounter = 8,
  kProcessPid = 1,
  kProcessName = 6,
  kCounterUnitName = 6,
  kEventAnnotation = 4,
  kEventType = 9,
  kEventTrack = 11,
  kEventName = 23,
  kEventDouble = 44,
  kAnnotationDouble = 5,
  kAnnotationName = 10,
};
enum EventType : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kCounter = 4 };
constexpr uint64_t kSequence = 1, kStateCleared = 1;

// A message of protobuf.
class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
  }
  void bytes(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  void message(uint32_t field, const Message& inner) { bytes(field, inner.text_); }
  void real(uint32_t field, double value) {
    varint(uint64_t{field} << 3 | 1);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

class Trace {
 public:
  uint64_t add_process(uint32_t rank, const std::string& name) {
    Message process, track;
    process.number(kProcessPid, rank + 1);
    process.bytes(kProcessName, name);
    track.number(kTrackUuid, ++tracks_);
    track.message(kTrackProcess, process);
    add_track(track);
    return tracks_;
  }
  // unit: of a counter; empty: of slices.
  uint64_t add_track(uint64_t parent, const std::string& name, const std::string& unit) {
    Message track;
    track.number(kTrackUuid, ++tracks_);
    track.bytes(kTrackName, name);
    track.number(kTrackParent, parent);
    if (!unit.empty()) {
      Message counter;
      counter.bytes(kCounterUnitName, unit);
      track.message(kTrackCounter, counter);
    }
    add_track(track);
    return tracks_;
  }
  void add_value(uint64_t track, uint64_t at_ns, double value) {
    Message event = event_of(kCounter, track);
    event.real(kEventDouble, value);
    add_event(at_ns, event);
  }
  void add_slice(uint64_t track, const std::string& name, uint64_t begin_ns, uint64_t end_ns,
                 double busy_ms) {
    Message event = event_of(kSliceBegin, track), busy;
    event.bytes(kEventName, name);
    busy.bytes(kAnnotationName, "busy ms");
    busy.real(kAnnotationDouble, busy_ms);
    event.message(kEventAnnotation, busy);
    add_event(begin_ns, event);
    add_event(end_ns, event_of(kSliceEnd, track));
  }
  const std::string& text() const { return trace_.text(); }

 private:
  static Message event_of(EventType type, uint64_t track) {
    Message event;
    event.number(kEventType, type);
    event.number(kEventTrack, track);
    return event;
  }
  void add_track(const Message& track) {
    Message packet;
    packet.message(kPacketTrackDescriptor, track);
    add_packet(packet);
  }
  void add_event(uint64_t at_ns, const Message& event) {
    Message packet;
    packet.number(kPacketTimestamp, at_ns);
    packet.message(kPacketTrackEvent, event);
    add_packet(packet);
  }
  void add_packet(Message& packet) {
    packet.number(kPacketSequence, kSequence);
    if (first_) packet.number(kPacketSequenceFlags, kStateCleared);
    first_ = false;
    trace_.message(kTracePacket, packet);
  }
  Message trace_;
  uint64_t tracks_ = 0;
  bool first_ = true;
};

// The rate of bytes from each moment to the next.
void add_rate(Trace& trace, uint64_t track, const Series& series) {
  for (size_t i = 1; i < series.at_ns.size(); i++) {
    const auto seconds = static_cast<double>(series.at_ns[i] - series.at_ns[i - 1]) / 1e9;
    const double rate = seconds > 0 ? static_cast<double>(growth(series, i)) / (1 << 20) / seconds : 0;
    trace.add_value(track, series.at_ns[i - 1], rate);
  }
  if (!series.at_ns.empty()) trace.add_value(track, series.at_ns.back(), 0);
}

// From the moment before it grew to that after it, without a break as long as it grows.
void add_slices(Trace& trace, uint64_t track, const std::string& name, const Series& series) {
  for (size_t i = 1; i < series.at_ns.size();) {
    size_t end = i;
    uint64_t busy = 0;
    for (; end < series.at_ns.size() && growth(series, end) > 0; end++) busy += growth(series, end);
    if (end > i)
      trace.add_slice(track, name, series.at_ns[i - 1], series.at_ns[end - 1],
                      static_cast<double>(busy) / 1e6);
    i = std::max(end, i + 1);
  }
}

struct Told {
  const char *name, *title;
};
constexpr std::array<Told, 3> kRates{
    {{"log_bytes", "to the log"}, {"written_bytes", "to the files"}, {"read_bytes", "from the files"}}};
constexpr std::array<Told, 5> kTimes{{{"open_close_ns", "open, sync, close"},
                                      {"wait_ns", "waiting"},
                                      {"exchange_ns", "exchange"},
                                      {"file_ns", "system calls"},
                                      {"drain_ns", "drain"}}};

}  // namespace

std::string trace_of(const JobStatistics& job) {
  Trace trace;
  uint64_t begin = UINT64_MAX;
  for (const RankStatistics& rank : job.ranks)
    begin = std::min(begin, rank.document.value("start_realtime_ns", UINT64_MAX));
  for (const RankStatistics& rank : job.ranks) {
    const std::string host = rank.document.value("host", std::string());
    const uint64_t process =
        trace.add_process(rank.rank, "rank " + std::to_string(rank.rank) + " on " + host);
    for (const Told& rate : kRates)
      add_rate(trace, trace.add_track(process, rate.title, "MiB/s"),
               series_of(rank.document, rate.name, begin));
    for (const Told& time : kTimes)
      add_slices(trace, trace.add_track(process, time.title, ""), time.title,
                 series_of(rank.document, time.name, begin));
  }
  return trace.text();
}

Status write_text(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".part";
  FILE* file = std::fopen(unfinished.c_str(), "wb");
  if (file == nullptr) return Status::from_errno(errno, "cannot write " + unfinished);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  Status failed = Status::from_errno(written ? errno : error, "cannot write " + path);
  std::remove(unfinished.c_str());
  return failed;
}

}  // namespace pmio::cli
