// Attributes lustre.lov of known layouts, written out by the published structures.
#pragma once

#include <string>
#include <string_view>

namespace pmio::lustre_bytes {

// "d0 0b d10b", as getfattr -e hex shows them, with spaces where one likes.
inline std::string bytes(std::string_view hex) {
  std::string digits, result;
  for (const char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    result += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return result;
}

// An object: its id and sequence, generation, OST (one byte of it, in hexadecimal).
inline std::string object(const char* ost) {
  return bytes("2a00000000000000 0000000000000000 00000000" + std::string(ost) + "000000");
}

// 4 stripes of 1 MiB on OSTs 3, 0, 1, 2.
inline std::string plain1() {
  return bytes("d00bd10b 01000000 0b00000000000000 0104000002000000 00001000 0400 0000") + object("03") +
         object("00") + object("01") + object("02");
}

// 2 stripes of 4 MiB on OSTs 5 and 6, of the pool "flash".
inline std::string plain3() {
  return bytes(
             "d00bd30b 01000000 0c00000000000000 0104000002000000 00004000 0200 0000"
             "666c617368000000 0000000000000000") +
         object("05") + object("06");
}

// The progressive file of the Lustre manual, as `lfs setstripe -E 4M -c 1 -E 64M -c 4 -E -1 -c -1 -S 4M`
// makes it, written up to 64 MiB: 1 stripe on OST 7; 4 stripes of 1 MiB on OSTs 2, 7, 4, 5; the rest has no
// objects.
inline std::string progressive() {
  return bytes("d00bd60b 60010000 03000000 0000 0300 0000 000000000000 0000000000000000") +
         bytes(
             "01000000 10000000 0000000000000000 0000400000000000 b0000000 38000000 00000000 "
             "0000000000000000 00000000") +
         bytes(
             "02000000 10000000 0000400000000000 0000000400000000 e8000000 80000000 00000000 "
             "0000000000000000 00000000") +
         bytes(
             "03000000 00000000 0000000400000000 ffffffffffffffff 68010000 20000000 00000000 "
             "0000000000000000 00000000") +
         bytes("d00bd10b 01000000 0d00000000000000 0104000002000000 00001000 0100 0000") + object("07") +
         bytes("d00bd10b 01000000 0d00000000000000 0104000002000000 00001000 0400 0000") + object("02") +
         object("07") + object("04") + object("05") +
         bytes("d00bd10b 01000000 0d00000000000000 0104000002000000 00004000 ffff ffff");
}

}  // namespace pmio::lustre_bytes
