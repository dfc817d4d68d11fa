#include "kernels/inprocess/inprocess_communicator.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/check.h"
#include "kernels/inprocess/inprocess_board.h"

namespace windtunnel {

namespace {

class InProcessCommunicator final : public Communicator {
 public:
  InProcessCommunicator(std::shared_ptr<InProcessBoard> board, int rank,
                        std::vector<GroupMembers> groups)
      : board_(std::move(board)), rank_(rank), groups_(std::move(groups)) {}

  void reserve(int, const TransferPart&) override {}  // members read each other's operands

  Ticket announce(int group, const TransferPart& part) override {
    const std::vector<int>& ranks = groups_.at(static_cast<std::size_t>(group)).ranks;
    CHECK(!ranks.empty(), "a transfer's rank is a member of its group");
    MeetingPlace place;
    if (part.kind == WireKind::send) {
      place = {.queue = {group, rank_, part.peer}, .member = 0, .members = 2};
    } else if (part.kind == WireKind::recv) {
      place = {.queue = {group, part.peer, rank_}, .member = 1, .members = 2};
    } else {
      const auto at = std::find(ranks.begin(), ranks.end(), rank_);
      place = {.queue = {group, ranks.front(), -1},
               .member = static_cast<int>(at - ranks.begin()),
               .members = static_cast<int>(ranks.size())};
    }
    const std::lock_guard lock(mutex_);
    place.number = announced_[place.queue]++;
    jobs_.emplace(next_, std::pair{place, part});
    return next_++;
  }

  void arrive(Ticket ticket) override {
    const auto [place, part] = job(ticket);
    board_->arrive(place, part);
  }

  void finish(Ticket ticket) override {
    board_->await(job(ticket).first);
    const std::lock_guard lock(mutex_);
    jobs_.erase(ticket);
  }

 private:
  using Job = std::pair<MeetingPlace, TransferPart>;

  Job job(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    return jobs_.at(ticket);
  }

  std::shared_ptr<InProcessBoard> board_;
  int rank_;
  std::vector<GroupMembers> groups_;
  std::mutex mutex_;
  Ticket next_ = 0;
  std::map<QueueKey, std::int64_t> announced_;
  std::map<Ticket, Job> jobs_;
};

}  // namespace

InProcessWorld::InProcessWorld() : board_(std::make_shared<InProcessBoard>()) {}
InProcessWorld::~InProcessWorld() = default;

std::unique_ptr<Communicator> InProcessWorld::join(int rank, std::vector<GroupMembers> groups) {
  return std::make_unique<InProcessCommunicator>(board_, rank, std::move(groups));
}

void InProcessWorld::fail(const std::string& why) {
  board_->fail(why);
}

}  // namespace windtunnel
