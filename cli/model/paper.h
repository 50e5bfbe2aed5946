// What Liu et al. 2017 print (model/liu.h has the title), each figure under the name of its table. Nothing
// here is computed.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace pmio::cli::paper {

// A printed figure; the digits behind its last one are unknown.
struct Printed {
  double value = 0;
  int decimals = 0;
  double half_digit() const { return std::pow(10.0, -decimals) / 2; }
};

// The columns of tables II, IV, V and VI.
enum Device : uint8_t { hdd, ssd, nvm, devices };
inline constexpr std::array<const char*, devices> kNames{"HDD", "SSD", "NVM"};
using Figures = std::array<Printed, devices>;

inline constexpr Printed kTs{5.39e-3, 5};  // section IV-C, s
inline constexpr Printed kTw{3.35e-2, 4};  // section IV-C, s/MB

inline constexpr double kBufferMb = 16;         // collective buffer, section IV-C
inline constexpr uint64_t kWorkloadMb = 16384;  // "16 GB", section IV-B: 16 processes, 2 segments of 512 MB
inline constexpr uint32_t kProcesses = 16;      // section IV-D: 4 nodes of 4, or 2 of 8
inline constexpr double kValidationSegments = 2, kValidationBlockMb = 64;  // section IV-D

struct TableII {
  Figures io_seconds{{{5938.91, 2}, {1002.93, 2}, {986.15, 2}}};
  Figures shuffle_seconds{{{466.21, 2}, {499.30, 2}, {494.61, 2}}};
  Figures ratio_percent{{{7.85, 2}, {49.93, 2}, {50.16, 2}}};
  Figures io_ms_per_iteration{{{170.38, 2}, {28.77, 2}, {28.29, 2}}};
  Figures shuffle_ms_per_iteration{{{13.77, 2}, {14.32, 2}, {14.19, 2}}};
};
inline constexpr TableII kTableII;

struct TableIV {  // MB/s
  Figures bdw_seq{{{58.11, 2}, {110.98, 2}, {112.31, 2}}};
  Figures bdw_ran{{{26.72, 2}, {101.86, 2}, {110.51, 2}}};
};
inline constexpr TableIV kTableIV;

// Tables V and VI. One aggregator a node.
struct Validation {
  const char* name;
  uint32_t nodes;
  Figures collective, collective_measured, collective_error_percent;
  Figures individual, individual_measured, individual_error_percent;
};
inline constexpr Validation kTableV{"table V",
                                    4,
                                    {{{411.78, 2}, {286.21, 2}, {284.46, 2}}},
                                    {{{385.86, 2}, {277.46, 2}, {242.54, 2}}},
                                    {{{6.7, 1}, {3.2, 1}, {14.4, 1}}},
                                    {{{613.17, 2}, {160.84, 2}, {145.88, 2}}},
                                    {{{593.04, 2}, {146.50, 2}, {146.35, 2}}},
                                    {{{3.4, 1}, {9.8, 1}, {3.2, 1}}}};
inline constexpr Validation kTableVI{"table VI",
                                     2,
                                     {{{350.90, 2}, {216.58, 2}, {214.83, 2}}},
                                     {{{354.59, 2}, {217.74, 2}, {213.01, 2}}},
                                     {{{1.04, 2}, {0.53, 2}, {0.85, 2}}},
                                     {{{613.17, 2}, {160.84, 2}, {145.88, 2}}},
                                     {{{580.32, 2}, {146.40, 2}, {146.55, 2}}},
                                     {{{5.66, 2}, {9.86, 2}, {0.46, 2}}}};
inline constexpr Printed kMeanErrorPercent{4.93, 2}, kMostErrorPercent{14.4, 1};  // section IV-D

// Figure 11, of which section IV-E tells: on one of these devices with messages of this size shuffling costs
// more than collective I/O gains, or less. Both grow with the size.
struct Tradeoff {
  Device device;
  const char* size;
  double message_mb;
  bool cost_is_larger;
};
inline constexpr std::array<Tradeoff, 9> kFigure11{{{hdd, "32 KB", 1.0 / 32, true},
                                                    {hdd, "2 MB", 2, false},
                                                    {hdd, "16 MB", 16, false},
                                                    {ssd, "32 KB", 1.0 / 32, true},
                                                    {ssd, "2 MB", 2, true},
                                                    {ssd, "16 MB", 16, true},
                                                    {nvm, "32 KB", 1.0 / 32, true},
                                                    {nvm, "2 MB", 2, true},
                                                    {nvm, "16 MB", 16, true}}};

}  // namespace pmio::cli::paper
