// Memory of GPUs, by stand-ins for their libraries (tests/gpu), which are loaded while the program runs.
#include "base/device_memory.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pmio {
namespace {

void* load(const std::string& kind) {
  const std::string path = std::string(PMIO_GPU_LIBRARIES "/lib") + kind;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Host memory is asked about first, so that what is known of it is older than the library.
void there_and_back(const std::string& kind, void (*initialize)(void*) = nullptr) {
  std::vector<std::byte> host(1 << 16);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7);
  EXPECT_FALSE(DeviceMemory(host.data()).is_device());
  void* library = load(kind);
  EXPECT_FALSE(DeviceMemory(host.data()).is_device()) << "nothing is initialized";
  if (initialize != nullptr) initialize(library);
  auto* device = static_cast<std::byte*>(function<void*(size_t)>(library, "fake_device_memory")(host.size()));
  ASSERT_NE(device, nullptr);
  const DeviceMemory memory(device + 100);
  ASSERT_TRUE(memory.is_device());
  EXPECT_FALSE(DeviceMemory(host.data()).is_device());
  ASSERT_TRUE(memory.copy_to_device(device, host.data(), host.size()).ok());
  std::vector<std::byte> back(host.size() - 1);
  ASSERT_TRUE(memory.copy_to_host(back.data(), device + 1, back.size()).ok());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), host.begin() + 1));
  EXPECT_EQ(memory.copy_to_host(host.data(), device + 1, host.size()).code(), Code::io) << "too many";
}

TEST(DeviceMemory, Cuda) { there_and_back("cuda.so.1"); }

// An error that the program finds with HIP is one of its own.
TEST(DeviceMemory, Hip) {
  there_and_back("amdhip64.so.6");
  void* library = load("amdhip64.so.6");
  const int host = 0;
  auto* last_error = function<int()>(library, "hipGetLastError");
  last_error();
  EXPECT_FALSE(DeviceMemory(&host).is_device());
  EXPECT_EQ(last_error(), 0);
  function<int(void*)>(library, "hipStreamSynchronize")(nullptr);
  char attributes[128];
  EXPECT_NE(function<int(void*, const void*)>(library, "hipPointerGetAttributes")(attributes, &host), 0);
  EXPECT_FALSE(DeviceMemory(&host).is_device());
  EXPECT_EQ(last_error(), 1);
}

TEST(DeviceMemory, LevelZero) {
  there_and_back("ze_loader.so.1", [](void* library) { function<int(uint32_t)>(library, "zeInit")(0); });
}

}  // namespace
}  // namespace pmio
