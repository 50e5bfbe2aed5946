#include "stats/file_list.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

TEST(FileList, OneLineWhereItFits) {
  FileList list;
  EXPECT_EQ(list.told(80), "no file was opened through MPI-IO");
  list.add("/a/one", "");
  EXPECT_EQ(list.told(80), "1 file logged, 0 not");
  list.add("/a/two", "");
  list.add("/a/x.dat", "");
  list.add("/a/x.dat", "atomic mode");
  list.add("/a/x.dat", "");
  EXPECT_EQ(list.told(80), "2 files logged, 1 not: x.dat (atomic mode)");
  EXPECT_EQ(list.told(30), "2 files logged, 1 not:\n  x.dat (atomic mode)");
}

TEST(FileList, ManyAreCounted) {
  FileList list;
  for (int i = 0; i < 1500; i++) list.add("/a/" + std::to_string(i), i < 12 ? "pmio_mode=off" : "");
  const std::string told = list.told(80);
  EXPECT_EQ(told.find("988 files logged, 12 not, and 500 more opens:\n"), 0u) << told;
  EXPECT_NE(told.find("\n  and 2 more"), std::string::npos) << told;
}

TEST(FileList, AllRanksTogether) {
  FileList first, second;
  first.add("/a/b c\n1 ", "");
  first.add("", "no name");
  second.add("/a/b c\n1 ", "atomic mode");
  second.add("/d", "");
  FileList all = FileList::unpack(first.packed());
  all.add(FileList::unpack(second.packed()));
  EXPECT_EQ(all.reasons().size(), 3u);
  EXPECT_EQ(all.reasons().at("/a/b c\n1 "), "atomic mode");
  EXPECT_EQ(all.reasons().at(""), "no name");
  EXPECT_EQ(all.reasons().at("/d"), "");
}

}  // namespace
}  // namespace pmio
