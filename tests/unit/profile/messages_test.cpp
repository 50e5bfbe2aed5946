#include "cli/profile/messages.h"

#include <gtest/gtest.h>

namespace pmio::cli {
namespace {

TEST(MessagesTest, ALineGoesThroughItsPoints) {
  const auto line = fit_line({8, 1024, 1 << 20}, {5e-6 + 8e-10, 5e-6 + 1024e-10, 5e-6 + (1 << 20) * 1e-10});
  ASSERT_TRUE(line.has_value());
  EXPECT_NEAR(line->start, 5e-6, 1e-12);
  EXPECT_NEAR(line->per_byte, 1e-10, 1e-16);
}

TEST(MessagesTest, BothPartsOfALineAreAbove0) {
  EXPECT_FALSE(fit_line({1, 2}, {2, 1}).has_value());
  EXPECT_FALSE(fit_line({1, 2}, {2, 2}).has_value());
  EXPECT_FALSE(fit_line({1, 3}, {1, 4}).has_value());
}

// As where two ranks share a processor, and each message waits for its turn.
TEST(MessagesTest, ARoundWithoutALineDoesNotCount) {
  const auto of = [](const std::string& rounds) {
    return exchange_of(
        R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "nodes": 1, "bytes": [1, 3], "within": )" +
        rounds + "}");
  };
  const auto exchange = of("[[7, 3], [3, 7], [5, 5], [4, 8]]");
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ(exchange.value().figures.at("within_byte_seconds").samples, 2U);
  EXPECT_GT(exchange.value().figures.at("within_byte_seconds").lower, 0);
  EXPECT_EQ(of("[[7, 3], [5, 5]]").status().code(), Code::io);
}

TEST(MessagesTest, FiguresAreMediansOfTheRounds) {
  const auto exchange = exchange_of(
      R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 4, "nodes": 2, "bytes": [1, 3],
          "within": [[3, 7], [3, 7], [4, 8]], "between": [[11, 31]]})");
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ(exchange.value().mpi, "M");
  EXPECT_EQ(exchange.value().nodes, 2U);
  const Figures& figures = exchange.value().figures;
  EXPECT_NEAR(figures.at("within_message_seconds").value, 1, 1e-9);
  EXPECT_NEAR(figures.at("within_message_seconds").upper, 1.5, 1e-9);
  EXPECT_EQ(figures.at("within_byte_seconds").samples, 3U);
  EXPECT_NEAR(figures.at("message_byte_seconds").value, 10, 1e-9);
}

TEST(MessagesTest, OneNodeHasNoMessagesBetweenNodes) {
  const auto exchange = exchange_of(
      R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "nodes": 1, "bytes": [1, 3],
          "within": [[3, 7]], "between": null})");
  ASSERT_TRUE(exchange.ok());
  EXPECT_EQ(exchange.value().figures.count("message_seconds"), 0U);
}

TEST(MessagesTest, SomethingElseIsRefused) {
  for (const char* text :
       {"", "[]", "7", "{}", R"({"format": "pmio-messages-1"})",
        R"({"format": "pmio-messages-1", "mpi": 7, "ranks": 2, "nodes": 1, "bytes": [1, 3]})",
        R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "nodes": 1, "bytes": [1]})",
        R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "bytes": [1, 3], "within": [[1]]})",
        R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "bytes": [1, 3], "within": [[1, -1]]})",
        R"({"format": "pmio-messages-1", "mpi": "M", "ranks": 2, "bytes": [1, 3], "within": "x"})"})
    EXPECT_FALSE(exchange_of(text).ok()) << text;
}

}  // namespace
}  // namespace pmio::cli
