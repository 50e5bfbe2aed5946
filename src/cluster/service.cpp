#include "cluster/service.h"

#include <algorithm>
#include <cerrno>
#include <future>
#include <system_error>

#include "span/spanning.h"

namespace pmio {

static Status no_thread(const std::system_error& failure) {
  return Status::from_errno(failure.code().value(), "cannot start the threads that serve other nodes");
}

Result<std::unique_ptr<Service>> Service::start(Job& job, const Options& options) {
  std::unique_ptr<Service> service;
  try {
    service.reset(new Service(job, options));
  } catch (const std::system_error& failure) {
    return no_thread(failure);
  }
  auto server = PeerServer::start(
      options.interface, options.token,
      [raw = service.get()](uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
        raw->handle(kind, payload, std::move(reply));
      },
      options.most_connections);
  if (!server.ok()) return server.status();
  service->server_ = std::move(server).value();
  return service;
}

Service::~Service() {
  server_.reset();
  std::promise<void> done;
  rounds_.post([&] {
    if (part_ != nullptr) part_->abandon();
    done.set_value();
  });
  done.get_future().wait();
}

Status Service::connect(const Leaders& leaders) try {
  leaders_ = leaders.more();
  desk_ = std::make_unique<DrainDesk>(leaders);
  part_ = std::make_unique<RoundPart>(job_, *leaders_, node_);
  if (node_ != kCoordinator) return {};
  coordinator_ = std::make_unique<Coordinator>(leaders.more());
  if (span_ != kAllRanks) for_contests_ = leaders.more();
  return {};
} catch (const std::system_error& failure) {
  return no_thread(failure);
}

// Only the server's thread makes one. What it throws is an answer.
TaskThread& Service::thread_of(Request kind) {
  switch (kind) {
    case Request::plan:
    case Request::write:
    case Request::stop_serving:
    case Request::finish:
    case Request::end:
      return rounds_;
    case Request::pieces:
      return pieces_;
    case Request::discard:
      return discards_;
    case Request::contest:
      if (contests_ == nullptr) contests_ = std::make_unique<TaskThread>();
      return *contests_;
    default:
      return questions_;
  }
}

// Answers at once, on the transport's thread: the threads that work on requests may be busy for long.
int Service::answer_alive(MessageReader body) const {
  if (body.done()) return 0;
  uint64_t file = 0, round = 0;
  if (!body.get(&file) || !body.get(&round)) return EPROTO;
  return coordinator_ != nullptr && coordinator_->leads(round) ? 0 : ESTALE;
}

// No request comes before all leaders have been connected, because they wait for each other in between.
void Service::handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply) {
  const auto request = static_cast<Request>(kind);
  if (request == Request::alive) return reply.send(answer_alive(MessageReader(payload)), {});
  auto bytes = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end());
  auto shared = std::make_shared<PeerReply>(std::move(reply));
  thread_of(request).post([this, request, bytes, shared] {
    MessageReader reader(*bytes);
    MessageWriter answer;
    uint64_t file = 0;
    if (!reader.get(&file)) return shared->send(EPROTO, {});
    if (request == Request::drain || request == Request::drain_for_me)
      return take_drain(request, file, reader, std::move(*shared));
    const Status status = serve(request, file, reader, &answer);
    if (status.ok()) return shared->send(answer.take());
    send_status(*shared, status);
  });
}

void Service::take_drain(Request kind, uint64_t file, MessageReader body, PeerReply reply) {
  DrainBody wanted{};
  if (!body.get(&wanted)) return reply.send(EPROTO, {});
  if (kind == Request::drain_for_me) return desk_->request(file, wanted, std::move(reply));
  if (coordinator_ == nullptr) return reply.send(EPROTO, {});
  coordinator_->request(file, wanted.calls, wanted.all != 0, std::move(reply));
}

Status Service::serve(Request kind, uint64_t file, MessageReader body, MessageWriter* answer) {
  switch (kind) {
    case Request::ask:
      return answer_question(file, body, answer);
    case Request::holdings:
      return answer_holdings(file, body, answer);
    case Request::poll:
      return answer_poll(file, answer);
    case Request::fetch_add:
    case Request::store:
      return answer_pointer(kind, file, body, answer);
    case Request::plan:
      return part_->plan(file, body, answer);
    case Request::write:
      return part_->write(file, body, answer);
    case Request::pieces:
      return part_->pieces(file, body, answer);
    case Request::stop_serving:
      return part_->stop_serving(file, body);
    case Request::finish:
      return part_->finish(file, body);
    case Request::end:
      return part_->end(file, body);
    case Request::forget:
      if (const auto open = job_.find_number(file)) open->changes().forget_here();
      return {};
    case Request::truncated:
      if (const auto open = job_.find_number(file)) open->changes().truncated_here();
      return {};
    case Request::discard: {
      const auto open = job_.find_number(file);
      return open != nullptr ? Spanning::of(*open).discard_here() : Status();
    }
    case Request::contest:
      return contest(file, body, answer);
    case Request::declare:
      return declare(file, body, answer);
    case Request::alive:
    case Request::drain:
    case Request::drain_for_me:
      break;
  }
  return nonsense();
}

// Of this node.
Status Service::declare(uint64_t inode, MessageReader body, MessageWriter* answer) {
  uint64_t birth_ns = 0;
  if (!body.get(&birth_ns)) return nonsense();
  const std::shared_ptr<File> file = job_.find_inode(inode, birth_ns, span_);
  if (file != nullptr) Spanning::of(*file).declare_contest_here();
  answer->put(uint64_t{file != nullptr});
  return {};
}

// A group claims a file when all its ranks have it open, so that all its leaders find it then. Where only
// some do, its close has failed on these; or it is just being closed or opened, and nothing is in a log.
Status Service::contest(uint64_t inode, MessageReader body, MessageWriter* answer) {
  uint64_t birth_ns = 0;
  if (for_contests_ == nullptr || !body.get(&birth_ns)) return nonsense();
  const MessageWriter named = MessageWriter().put(inode).put(birth_ns);
  uint64_t is_open = 0;
  for (const auto& told : for_contests_->ask_all(for_contests_->all(), Request::declare, {&named, 1})) {
    if (!told.ok()) return told.status();
    uint64_t there = 0;
    if (!MessageReader(told.value()).get(&there)) return nonsense();
    is_open = is_open | there;
  }
  answer->put(is_open);
  const std::shared_ptr<File> file = job_.find_inode(inode, birth_ns, span_);
  const uint64_t number = file != nullptr ? file->reach().number() : 0;
  if (number == 0) return {};  // nothing has been logged, or all is drained
  return for_contests_->ask(kCoordinator, Request::drain, MessageWriter().put(number).put(DrainBody{0, 0}))
      .status();
}

Status Service::answer_question(uint64_t number, MessageReader body, MessageWriter* answer) {
  AskBody question{};
  std::vector<Vector> ranges;
  if (!body.get(&question) || !body.get_list(&ranges)) return nonsense();
  if (!std::all_of(ranges.begin(), ranges.end(), well_formed)) return nonsense();
  const auto purpose = static_cast<Neighbours::Purpose>(question.purpose);
  if (purpose > Neighbours::Purpose::call) return nonsense();
  const std::shared_ptr<File> file = job_.find_number(number);
  AskAnswer mine{};
  if (file != nullptr) {
    Spanning& reach = Spanning::of(*file);
    const Result<bool> undrained = reach.answer(question.upto, ranges, purpose);
    if (!undrained.ok()) return undrained.status();
    mine.undrained = undrained.value();
    mine.clock = reach.clock();
    if (purpose == Neighbours::Purpose::log) {
      const std::optional<uint64_t> settled = reach.settled_calls();
      mine.settled = settled ? *settled + 1 : 0;
    }
    if (purpose == Neighbours::Purpose::read || purpose == Neighbours::Purpose::write) {
      const auto size = file->size_bytes_here();
      if (!size.ok()) return size.status();
      mine.end = size.value();
      mine.synced = reach.writes_synced();
    }
  }
  answer->put(mine);
  return {};
}

Status Service::answer_holdings(uint64_t number, MessageReader body, MessageWriter* answer) {
  HoldingsBody question{};
  if (!body.get(&question) || question.bytes.begin >= question.bytes.end) return nonsense();
  const std::shared_ptr<File> file = job_.find_number(number);
  uint64_t end = 0;
  uint64_t synced = 0;
  Result<Spanning::Holdings> held = Spanning::Holdings();
  if (file != nullptr) {
    Spanning& reach = Spanning::of(*file);
    held = reach.holdings(question.calls, question.bytes);
    if (!held.ok()) return held.status();
    const auto size = file->size_bytes_here();
    if (!size.ok()) return size.status();
    end = size.value();
    synced = reach.writes_synced();
  }
  const Spanning::Holdings& told = held.value();
  answer->put(HoldingsAnswer{told.has_value(), end, synced})
      .put_list(told ? std::span<const Vector>(*told) : std::span<const Vector>());
  return {};
}

Status Service::answer_poll(uint64_t number, MessageWriter* answer) {
  const std::shared_ptr<File> file = job_.find_number(number);
  if (file == nullptr) {
    // If no rank of the node has the file open any more, the file holds nobody up.
    answer->put(PollAnswer{UINT64_MAX, 0, 0, 0});
    return {};
  }
  const Spanning& reach = Spanning::of(*file);
  if (reach.some_rank_died()) return {Code::io, "a rank that has the file open has died", EOWNERDEAD};
  answer->put(PollAnswer{reach.calls_finished_here(), reach.calls_begun_here(), reach.clock(),
                         !reach.all_drained_here()});
  return {};
}

Status Service::answer_pointer(Request kind, uint64_t handle, MessageReader body, MessageWriter* answer) {
  SharedPointerBody wanted{};
  if (!body.get(&wanted)) return nonsense();
  if (kind == Request::fetch_add)
    answer->put(pointers_.fetch_add(handle, wanted.epoch, wanted.initial, wanted.by));
  else
    pointers_.store(handle, wanted.epoch, wanted.initial);
  return {};
}

}  // namespace pmio
