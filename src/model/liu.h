// The cost model of W. Liu, K. Wu, J. Liu, F. Chen and D. Li, "Performance Evaluation and Modeling of HPC
// I/O on Non-Volatile Memory", 2017: equations 1 to 5 and what "Model usage" of section IV-C says of their
// parameters, exactly as printed. `pmio model liu` compares them with the paper's figures, docs/model.md
// tells what that shows.
//
// Units: seconds, and MB of 2^20 bytes: the paper's 16 GB are 16,384 MB. Pure functions; threads: any.
// Errors: each function is exact but for the rounding of doubles, so that its error is that of the
// parameters. A relative error of a bandwidth is at most the same relative error of the time (to first
// order), and T_comm is linear in T_s and T_w. Of the model itself the paper tells 4.93 % on average and 14.4
// % at most in 12 tests (section IV-D); neither is a bound.
#pragma once

#include <cstdint>
#include <vector>

namespace pmio::liu {

// Table III, what does not depend on the application. The table describes T_s and T_w the wrong way round;
// the text below equation 2 is right.
struct Platform {
  double t_s_seconds = 0;            // T_s: of a message, whatever its size
  double t_w_seconds_per_mb = 0;     // T_w: in proportion to the size
  double bdw_seq_mb_per_second = 0;  // end to end, sequential; above 0
  double bdw_ran_mb_per_second = 0;  // end to end, random; above 0
  double t_other_seconds = 0;        // T_other: the paper sets 0
};

// Table III, what does.
struct Workload {
  std::vector<double> msg_size_mb{};  // of each iteration, of the slowest aggregator with each process
  double tau = 0;                     // the part of the data that is shuffled, 0 to 1
};

// Equation 2: T_comm = sum of (T_s + T_w * msg_size_i * tau). Seconds.
double comm_seconds(const Platform& platform, const Workload& workload);

// Equation 3: T_IO = sum of msg_size_i / bdw_seq. Seconds.
double collective_io_seconds(const Platform& platform, const Workload& workload);

// Equation 1: T_collective = T_comm + T_IO + T_other. Seconds.
double collective_seconds(const Platform& platform, const Workload& workload);

// Equation 5: T_IO = sum of msg_size_i / bdw_ran. Seconds.
double individual_io_seconds(const Platform& platform, const Workload& workload);

// Equation 4: T_individual = T_IO + T_other. Seconds.
double individual_seconds(const Platform& platform, const Workload& workload);

// Section IV-C: processes that are no aggregators over all processes, if all have as much to write and the
// aggregators share it evenly. 0 < aggregators <= processes.
double estimated_tau(uint32_t processes, uint32_t aggregators);

// Section IV-C: each message is as large as the collective buffer, and there are as many as make the total.
// The last one is smaller if the buffer does not divide the total, of which the paper says nothing.
std::vector<double> messages(double total_mb, double buffer_mb);

}  // namespace pmio::liu
