// A directory that is removed while others may be making files in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <system_error>

namespace pmio::test {

// Again, until nothing new has come in between.
inline void remove_busy_directory(const std::filesystem::path& directory) {
  std::error_code error;
  do std::filesystem::remove_all(directory, error);
  while (error == std::errc::directory_not_empty);
  EXPECT_FALSE(error) << directory << ": " << error.message();
}

}  // namespace pmio::test
