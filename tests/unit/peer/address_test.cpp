// A service is bound to one address of this host, the one that was asked for.
#include "peer/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "peer/interface.h"
#include "peer/server.h"

namespace pmio {
namespace {

PeerAddress address(const char* text, uint16_t port = 0) {
  PeerAddress made;
  made.port = port;
  made.family = std::string(text).find(':') == std::string::npos ? AF_INET : AF_INET6;
  EXPECT_EQ(inet_pton(made.family, text, made.address.data()), 1);
  return made;
}

const std::vector<LocalAddress> kLocal = {
    {"lo", address("127.0.0.1"), true},    {"lo", address("::1"), true},
    {"eth0", address("fd00:1::5"), false}, {"eth0", address("192.168.1.5"), false},
    {"ib0", address("10.77.0.5"), false},  {"ib0", address("fd00:2::5"), false}};

std::string chosen(const std::string& wanted, const std::vector<PeerAddress>& of_name = {}) {
  const auto result = choose_address(wanted, kLocal, of_name);
  return result.ok() ? to_string(result.value()) : code_name(result.status().code());
}

TEST(PeerAddress, Text) {
  EXPECT_EQ(to_string(address("10.0.0.1", 80)), "10.0.0.1:80");
  EXPECT_EQ(to_string(address("fd00::1", 80)), "[fd00::1]:80");
  EXPECT_EQ(to_string(address("fd00::1")), "fd00::1");
  EXPECT_EQ(to_string(PeerAddress()), "no address");
}

TEST(PeerAddress, AskedFor) {
  EXPECT_EQ(chosen("ib0"), "10.77.0.5");
  EXPECT_EQ(chosen("lo"), "127.0.0.1");
  EXPECT_EQ(chosen("192.168.1.5"), "192.168.1.5");
  EXPECT_EQ(chosen("fd00:2::5"), "fd00:2::5");
  EXPECT_EQ(chosen("10.77.0.0/24"), "10.77.0.5");
  EXPECT_EQ(chosen("10.76.0.0/15"), "10.77.0.5");
  EXPECT_EQ(chosen("fd00:2::/32"), "fd00:2::5");
  EXPECT_EQ(chosen("0.0.0.0/0"), "127.0.0.1");
}

TEST(PeerAddress, NothingElseIsTaken) {
  for (const char* wanted : {"eth1", "10.77.0.6", "10.77.1.0/24", "10.77.0.0/33", "10.77.0.0/",
                             "10.77.0.0/2x", "0.0.0.0", "::", "fd00::/129", "10.77.0", " ", "/8"})
    EXPECT_EQ(chosen(wanted), "invalid") << wanted;
  const auto message = choose_address("eth1", kLocal, {}).status().message();
  EXPECT_NE(message.find("\"eth1\""), std::string::npos) << message;
  EXPECT_NE(message.find("ib0 10.77.0.5"), std::string::npos) << message;
}

TEST(PeerAddress, ByItself) {
  EXPECT_EQ(chosen("", {address("127.0.0.1"), address("10.77.0.5")}), "10.77.0.5");
  EXPECT_EQ(chosen("", {address("127.0.1.1")}), "192.168.1.5");
  EXPECT_EQ(chosen("", {address("8.8.8.8")}), "192.168.1.5");
  const auto loopback = choose_address("", std::span(kLocal).first(2), {});
  EXPECT_EQ(to_string(loopback.value()), "127.0.0.1");
  EXPECT_FALSE(choose_address("", {}, {}).ok());
}

TEST(PeerAddress, AServerIsBoundToOneAddress) {
  const auto local = local_addresses();
  ASSERT_TRUE(local.ok());
  for (const LocalAddress& each : local.value()) {
    const auto server = PeerServer::start(to_string(each.address), random_token(), [](auto, auto, auto) {});
    ASSERT_TRUE(server.ok()) << server.status().message();
    PeerAddress bound = server.value()->address();
    EXPECT_NE(bound.port, 0);
    bound.port = 0;
    EXPECT_EQ(bound, each.address);
  }
  const auto any = PeerServer::start("", random_token(), [](auto, auto, auto) {});
  ASSERT_TRUE(any.ok()) << any.status().message();
  EXPECT_NE(to_string(any.value()->address()).substr(0, 2), "0.");
  EXPECT_EQ(PeerServer::start("no such interface", random_token(), [](auto, auto, auto) {}).status().code(),
            Code::invalid);
}

}  // namespace
}  // namespace pmio
