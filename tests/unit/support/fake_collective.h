// The ranks of a job as threads, on nodes that share no memory with each other: what collective buffering is
// tested with.
#pragma once

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <thread>
#include <tuple>

#include "base/mutex.h"
#include "twophase/collective.h"

namespace pmio::test {

// A send ends when it has been received, as that of a long message does: so what counts on room of the MPI
// library's hangs.
class FakeNetwork {
 public:
  explicit FakeNetwork(std::vector<uint32_t> node_of) : node_of_(std::move(node_of)) {}

  // Runs work(collective) on a thread for each rank.
  template <class Work>
  void run(Work work) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < node_of_.size(); ++rank) {
      threads.emplace_back([this, rank, &work] {
        Rank collective(*this, rank);
        work(static_cast<Collective&>(collective));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  // From now on there is no memory for ranks to share.
  void share_nothing() { shares_ = false; }
  uint64_t messages() {
    const LockGuard lock(mutex_);
    return messages_;
  }

 private:
  struct Transfer {
    std::span<std::byte> bytes;  // to be sent, or room
    uint64_t got = 0;
    bool done = false;
  };
  struct Channel {
    std::deque<Transfer*> sends, receives;
  };

  class Rank final : public Collective {
   public:
    Rank(FakeNetwork& network, uint32_t rank)
        : Collective({rank, network.node_of_}), network_(network), rank_(rank) {}
    Result<std::shared_ptr<std::byte>> share(uint64_t bytes, uint64_t zeroed) override {
      return network_.share(rank_, bytes, zeroed);
    }
    Message send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) override {
      return begin({rank_, to, channel}, {const_cast<std::byte*>(bytes.data()), bytes.size()}, true);
    }
    Message receive(uint32_t from, uint32_t channel, std::span<std::byte> room) override {
      return begin({from, rank_, channel}, room, false);
    }
    State test(Message message, uint64_t* bytes) override {
      const LockGuard lock(network_.mutex_);
      const auto found = begun_.find(message);
      if (!found->second.done) return State::pending;
      *bytes = found->second.got;
      begun_.erase(found);
      return State::done;
    }
    void progress() override { sched_yield(); }

   private:
    using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
    Message begin(const Key& key, std::span<std::byte> bytes, bool is_send) {
      const LockGuard lock(network_.mutex_);
      Transfer& transfer = begun_[next_];
      transfer.bytes = bytes;
      Channel& channel = network_.channels_[key];
      (is_send ? channel.sends : channel.receives).push_back(&transfer);
      if (!channel.sends.empty() && !channel.receives.empty()) {
        network_.deliver(*channel.sends.front(), *channel.receives.front());
        channel.sends.pop_front();
        channel.receives.pop_front();
      }
      return next_++;
    }

    FakeNetwork& network_;
    const uint32_t rank_;
    Message next_ = 0;
    std::map<Message, Transfer> begun_;
  };

  void deliver(Transfer& send, Transfer& receive) {
    PMIO_ASSERT(send.bytes.size() <= receive.bytes.size());
    if (!send.bytes.empty()) std::memcpy(receive.bytes.data(), send.bytes.data(), send.bytes.size());
    receive.got = send.bytes.size();
    send.done = receive.done = true;
    ++messages_;
  }

  Result<std::shared_ptr<std::byte>> share(uint32_t rank, uint64_t bytes, uint64_t zeroed) {
    constexpr std::align_val_t kPage{4096};
    if (!shares_) return Status(Code::no_space, "the test has no memory");
    const LockGuard lock(mutex_);
    std::shared_ptr<std::byte>& memory = memories_[node_of_[rank]];
    if (memory == nullptr) {
      memory = {static_cast<std::byte*>(operator new(bytes, kPage)),
                [](std::byte* p) { operator delete(p, kPage); }};
      std::memset(memory.get(), 0, zeroed);
      std::memset(memory.get() + zeroed, 0xA5, bytes - zeroed);
    }
    return memory;
  }

  const std::vector<uint32_t> node_of_;
  bool shares_ = true;
  Mutex mutex_;  // held for everything below
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Channel> channels_;
  std::map<uint32_t, std::shared_ptr<std::byte>> memories_;
  uint64_t messages_ = 0;
};

}  // namespace pmio::test
