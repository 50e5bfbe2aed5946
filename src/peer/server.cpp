#include "peer/server.h"

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"
#include "peer/interface.h"
#include "peer/reply_channel.h"
#include "peer/service.h"
#include "peer/socket.h"

namespace pmio {

PeerReply::PeerReply(std::shared_ptr<ReplyChannel> channel) : channel_(std::move(channel)) {}
PeerReply::PeerReply(PeerReply&& other) noexcept = default;

PeerReply& PeerReply::operator=(PeerReply&& other) noexcept {
  std::swap(channel_, other.channel_);
  return *this;
}

PeerReply::~PeerReply() {
  if (channel_) send(EIO, {});
}

void PeerReply::send(int error, std::span<const std::byte> payload) {
  PMIO_ASSERT(channel_ != nullptr);
  std::exchange(channel_, nullptr)->answer(error, payload);
}

void PeerReply::send(std::vector<std::byte> payload) {
  PMIO_ASSERT(channel_ != nullptr);
  const std::span<const std::byte> bytes(payload);
  std::exchange(channel_, nullptr)->answer(0, bytes, std::move(payload));
}

void send_status(PeerReply& reply, const Status& status) {
  const int error = status.ok() ? 0 : status.system_errno() != 0 ? status.system_errno() : EIO;
  const std::string text = status.message();
  reply.send(error, std::as_bytes(std::span(text)));
}

class PeerServer::Impl {
 public:
  Impl(PeerAddress address, std::unique_ptr<PeerService> service)
      : address_(address), service_(std::move(service)) {
    try {
      thread_ = QuietThread([this] { service_->run(); });
    } catch (const std::system_error& failure) {
      failed_ =
          Status::from_errno(failure.code().value(), "cannot start the thread that answers other nodes");
    }
  }
  ~Impl() {
    service_->stop();
    if (thread_.joinable()) thread_.join();
  }
  const PeerAddress& address() const { return address_; }
  const Status& failed() const { return failed_; }

 private:
  const PeerAddress address_;
  const std::unique_ptr<PeerService> service_;
  Status failed_;
  QuietThread thread_;
};

Result<std::unique_ptr<PeerServer>> PeerServer::start(const std::string& interface_or_address,
                                                      const PeerToken& token, Handler handler,
                                                      size_t most_connections) {
  auto address = service_address(interface_or_address);
  if (!address.ok()) return address.status();
  auto listener = listen_at(&address.value());
  if (!listener.ok()) return listener.status();
  auto service =
      PeerService::create(std::move(listener.value()), token, std::move(handler), most_connections);
  if (!service.ok()) return service.status();
  auto impl = std::make_unique<Impl>(*address, std::move(service.value()));
  PMIO_TRY(impl->failed());
  return std::unique_ptr<PeerServer>(new PeerServer(std::move(impl)));
}

PeerServer::PeerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PeerServer::~PeerServer() = default;
PeerAddress PeerServer::address() const { return impl_->address(); }

}  // namespace pmio
