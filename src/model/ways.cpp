#include "model/ways.h"

#include <algorithm>
#include <cmath>

namespace pmio::model {
namespace {

double log_bytes_of_call(const LogMedium& log, const Transfer& transfer) {
  return transfer.node_bytes() + log.record_bytes * transfer.records() * transfer.ranks_of_node();
}

// Without the copy.
double log_overhead_seconds(const LogMedium& log, const Transfer& transfer) {
  return log.call_seconds + log.append_record_seconds * transfer.records();
}

double over(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
}

}  // namespace

double block_rate(const FileSystem& file, double block_bytes) {
  const std::vector<BlockRate>& rates = file.rates;
  const BlockRate& smallest = rates.front();
  if (block_bytes <= smallest.block_bytes)
    return smallest.bytes_per_second * block_bytes / smallest.block_bytes;
  const auto above = std::find_if(rates.begin(), rates.end(), [block_bytes](const BlockRate& each) {
    return each.block_bytes >= block_bytes;
  });
  if (above == rates.end()) return rates.back().bytes_per_second;
  const BlockRate& below = *(above - 1);
  const double part =
      std::log(block_bytes / below.block_bytes) / std::log(above->block_bytes / below.block_bytes);
  return below.bytes_per_second * std::pow(above->bytes_per_second / below.bytes_per_second, part);
}

double file_seconds(const FileSystem& file, double nodes, double node_bytes, double block_bytes) {
  return std::max({node_bytes / block_rate(file, block_bytes), over(node_bytes, file.link_bytes_per_second),
                   over(nodes * node_bytes, file.servers * file.server_bytes_per_second)});
}

double drain_seconds(const Machine& machine, const Transfer& transfer) {
  const double ranks = transfer.ranks_of_node();
  const double further = transfer.pieces_per_call - transfer.records();
  return ranks * (transfer.records() * (machine.log.merge_record_seconds + machine.log.drain_record_seconds) +
                  further * machine.log.drain_piece_seconds) +
         file_seconds(machine.file, transfer.nodes, transfer.node_bytes(), machine.file.drain_block_bytes);
}

Backlog backlog(const LogMedium& log, const Transfer& transfer, double call_seconds,
                double drain_bytes_per_second) {
  const double bytes = log_bytes_of_call(log, transfer);
  const double start = log.drain_from_fraction * log.capacity_bytes;
  const double paused = std::max(0.0, transfer.compute_seconds - log.pause_seconds);
  // Growth from one call to the next: below start, and above it.
  const double slow = bytes - drain_bytes_per_second * paused;
  const double fast = bytes - drain_bytes_per_second * (call_seconds + transfer.compute_seconds);
  const double growths = transfer.calls - 1;
  const double below = bytes + growths * std::max(slow, 0.0);
  if (below <= start) return {below, 0};
  const double calls_below = bytes >= start ? 0 : (start - bytes) / slow;  // slow is above 0 here
  const double level = std::max(bytes, start) + (growths - calls_below) * std::max(fast, 0.0);
  const double held = std::min(level, log.capacity_bytes);
  return {held, (level - held) / drain_bytes_per_second};
}

Times log_times(const Machine& machine, const Transfer& transfer) {
  const LogMedium& log = machine.log;
  const double bytes = log_bytes_of_call(log, transfer);
  const double overhead = log_overhead_seconds(log, transfer);
  const double drain_bytes_per_second = bytes / drain_seconds(machine, transfer);
  const double warm_call = overhead + transfer.node_bytes() / log.warm_bytes_per_second;
  const Backlog held = backlog(log, transfer, warm_call, drain_bytes_per_second);
  const double cold = std::max(0.0, held.bytes - log.warm_bytes);
  Times times;
  times.to_log_seconds = transfer.calls * warm_call + held.wait_seconds +
                         cold * (1 / log.cold_bytes_per_second - 1 / log.warm_bytes_per_second);
  times.to_file_seconds = times.to_log_seconds + held.bytes / drain_bytes_per_second + log.file_seconds;
  return times;
}

Times independent_times(const Machine& machine, const Transfer& transfer) {
  const FileSystem& file = machine.file;
  double seconds = file_seconds(file, transfer.nodes, transfer.node_bytes(), transfer.piece_bytes());
  if (transfer.pieces_per_call > 1) {
    const double span = transfer.call_bytes * transfer.ranks;  // of each rank's call
    FileSystem sieved = file;
    sieved.rates = {{1, file.sieved_bytes_per_second}};
    const double pieces = transfer.pieces_per_call * file.sieved_piece_seconds;
    seconds = std::min(seconds,
                       pieces + file_seconds(sieved, transfer.nodes, span * transfer.ranks_of_node(), span));
  }
  return {transfer.calls * seconds, transfer.calls * seconds};
}

Times two_phase_times(const Machine& machine, const Transfer& transfer) {
  const Exchange& exchange = machine.exchange;
  const double others = transfer.nodes - 1, node_bytes = transfer.node_bytes();
  const double crossing = node_bytes * others / transfer.nodes;
  // An aggregator's windows in a call, each with a message from each other node.
  const double windows = std::ceil(node_bytes / exchange.window_bytes);
  const double within =
      node_bytes / exchange.copy_bytes_per_second + transfer.pieces_per_call * exchange.copy_piece_seconds;
  const double bytes_between = exchange.message_byte_seconds > 0
                                   ? crossing * exchange.message_byte_seconds
                                   : over(crossing, machine.file.link_bytes_per_second);
  const double between =
      (std::ceil(std::log2(transfer.nodes)) + others * windows) * exchange.message_seconds + bytes_between;
  const double write =
      file_seconds(machine.file, transfer.nodes, node_bytes, std::min(node_bytes, exchange.window_bytes));
  const double call = exchange.call_seconds + within + between + write;
  return {transfer.calls * call, transfer.calls * call};
}

}  // namespace pmio::model
