// Random patterns of random ranks on random nodes, against each byte by itself.
#include "twophase/job.h"

namespace pmio::test {
namespace {

// Views of several ranks that share no byte: a stretch of the file is dealt out to them in random pieces.
void deal_views(Random& random, std::vector<Part>& parts) {
  const bool regular = pick(random, 0, 2) == 0;
  const uint64_t most = pick(random, 0, 2) == 0 ? 3000 : pick(random, 1, 60);
  const uint64_t pieces = pick(random, 1, regular ? 40 : 200), length = pick(random, 1, most);
  int64_t at = 0;
  for (uint64_t i = 0; i < pieces; ++i) {
    const uint64_t owner = regular ? i % parts.size() : pick(random, 0, parts.size() - 1);
    const uint64_t bytes = regular ? length : pick(random, 1, most);
    if (!regular && pick(random, 0, 3) == 0) at += static_cast<int64_t>(pick(random, 1, 2 * most));
    parts[owner].view.add({at, bytes});
    at += static_cast<int64_t>(bytes);
  }
  const auto gap = static_cast<int64_t>(pick(random, 0, 1) * pick(random, 0, 100));
  const auto displacement = static_cast<int64_t>(pick(random, 0, 1) * pick(random, 0, 9000));
  for (Part& part : parts) {
    part.view.finish(at + gap);
    part.displacement = displacement;
  }
}

void deal_bytes(Random& random, Part& part) {
  if (part.view.size == 0 || pick(random, 0, 6) == 0) return;
  part.position = pick(random, 0, 1) * pick(random, 0, 2 * part.view.size);
  part.bytes = pick(random, 0, std::min<uint64_t>(3 * part.view.size, 30000));
  if (pick(random, 0, 2) == 0) {
    part.memory = Pattern();
    for (uint64_t i = 0, at = pick(random, 0, 5); i < pick(random, 1, 4); ++i) {
      const Vector vector{static_cast<int64_t>(at), pick(random, 1, 20), 25, pick(random, 1, 5)};
      part.memory.add(vector);
      at = static_cast<uint64_t>(vector.end()) + pick(random, 0, 9);
    }
    part.memory.finish(part.memory.parts.back().end() + static_cast<int64_t>(pick(random, 0, 9)));
  }
  part.make_buffer();
  fill_randomly(random, part.buffer);
}

std::vector<Part> deal(Random& random, uint32_t ranks) {
  std::vector<Part> parts(ranks);
  deal_views(random, parts);
  for (Part& part : parts) deal_bytes(random, part);
  return parts;
}

Layout random_layout(Random& random) {
  Layout layout;
  const uint64_t kind = pick(random, 0, 3);
  if (kind == 0) return layout;
  layout.servers = static_cast<uint32_t>(pick(random, 1, 5));
  layout.stripe_bytes = kind == 1 ? 4096 * pick(random, 1, 4) : pick(random, 100, 20000);
  if (kind == 3) {
    layout.components = {{pick(random, 1, 30000), pick(random, 50, 3000), {0}},
                         {UINT64_MAX, pick(random, 1000, 9000), {1, 0, 3}}};
    layout.stripe_bytes = 0;
    layout.servers = 4;
  }
  return layout;
}

std::vector<uint32_t> random_nodes(Random& random) {
  std::vector<uint32_t> nodes(pick(random, 1, 8));
  const uint64_t count = pick(random, 1, std::min<uint64_t>(4, nodes.size()));
  for (uint32_t rank = 0; rank < nodes.size(); ++rank)
    nodes[rank] = static_cast<uint32_t>(rank < count ? rank : pick(random, 0, count - 1));
  return nodes;
}

TwoPhaseOptions random_options(Random& random, const std::vector<uint32_t>& nodes) {
  TwoPhaseOptions options;
  options.alignment = static_cast<Alignment>(pick(random, 0, 2));
  options.writes = options.reads = pick(random, 0, 9) == 0 ? Buffering::automatic : Buffering::enable;
  options.buffer_bytes = pick(random, 0, 1) * pick(random, 1, 100000);
  options.layout = random_layout(random);
  options.stripe_bytes = pick(random, 1, 30000);
  if (pick(random, 0, 1) == 0)
    options.aggregators =
        choose_aggregators({0, nodes}, options.layout, static_cast<uint32_t>(pick(random, 1, 8)));
  return options;
}

void check_read(Job& job, Part& part, const std::vector<std::byte>& before, uint64_t got) {
  const uint64_t size = job.expected().size();
  uint64_t readable = 0, i = 0;
  std::vector<bool> touched(part.buffer.size());
  PatternCursor own(part.memory, 0, 0);
  part.each([&](uint64_t at, std::byte byte) {
    const auto place = static_cast<uint64_t>(own.next_piece(1).offset);
    if (at < size) {
      ++readable;
      ASSERT_EQ(byte, job.expected()[at]) << "byte " << i << ", of the file " << at;
      touched[place] = true;
    }
    ++i;
  });
  ASSERT_EQ(got, readable);
  for (size_t at = 0; at < before.size(); ++at) {
    ASSERT_TRUE(touched[at] || part.buffer[at] == before[at]) << "of the buffer: " << at;
  }
}

void run_case(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::vector<uint32_t> nodes = random_nodes(random);
  Job job(nodes, random_options(random, nodes));
  std::vector<std::byte> old(pick(random, 0, 1) * pick(random, 0, 20000));
  fill_randomly(random, old);
  job.start(old);
  std::vector<std::vector<Part>> writes, reads;
  for (uint64_t i = pick(random, 1, 4); i > 0; --i) {
    writes.push_back(deal(random, job.ranks()));
    reads.push_back(deal(random, job.ranks()));
    for (Part& part : writes.back()) job.expect(part);
  }
  const std::vector<std::vector<Part>> before = reads;
  std::vector<std::vector<uint64_t>> got(reads.size(), std::vector<uint64_t>(job.ranks()));
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    for (auto& parts : writes) EXPECT_EQ(two_phase.write(parts[rank].request()).message(), "");
    for (size_t i = 0; i < reads.size(); ++i)
      EXPECT_EQ(two_phase.read(reads[i][rank].request(), &got[i][rank]).message(), "");
  });
  job.check_file();
  for (size_t i = 0; i < reads.size(); ++i)
    for (uint32_t rank = 0; rank < job.ranks(); ++rank)
      check_read(job, reads[i][rank], before[i][rank].buffer, got[i][rank]);
}

TEST(Random, EveryByteIsInItsPlace) {
#ifdef __SANITIZE_THREAD__
  constexpr uint64_t kCases = 40;
#else
  constexpr uint64_t kCases = 300;
#endif
  for (uint64_t seed = 1; seed <= kCases && !testing::Test::HasFatalFailure(); ++seed) run_case(seed);
}

}  // namespace
}  // namespace pmio::test
