#include "kernels/mpi/mpi_communicator.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/precise_sleep.h"
#include "kernels/mpi/mpi_call.h"
#include "kernels/mpi/posted_transfer.h"

namespace windtunnel {

namespace {

using Ticket = Communicator::Ticket;

constexpr auto kRest = std::chrono::microseconds(50);

/// Collectives of a communicator, or messages of one direction with one peer.
using QueueKey = std::tuple<int, WireKind, int>;

struct Job {
  int group = 0;
  TransferPart part;
  bool arrived = false, done = false;
  MPI_Request request = MPI_REQUEST_NULL;
  std::string error;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::vector<MpiGroup> groups, Waiting waiting)
      : groups_(std::move(groups)), waiting_(waiting), thread_([this] { run(); }) {}

  ~MpiCommunicator() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
    for (MpiGroup& g : groups_) {
      if (g.comm != MPI_COMM_NULL) PMPI_Comm_free(&g.comm);
    }
  }

  void reserve(int group, const TransferPart& part) override {
    const std::lock_guard lock(mutex_);
    make_room(group, part);
  }

  Ticket announce(int group, const TransferPart& part) override {
    const bool message = part.kind == WireKind::send || part.kind == WireKind::recv;
    const QueueKey key{group, message ? part.kind : WireKind::all_reduce, message ? part.peer : -1};
    CHECK(groups_.at(static_cast<std::size_t>(group)).comm != MPI_COMM_NULL,
          "a transfer's rank is a member of its group");
    const std::lock_guard lock(mutex_);
    jobs_.emplace(next_, Job{.group = group, .part = part});
    queues_[key].push_back(next_);
    return next_++;
  }

  void arrive(Ticket ticket) override {
    {
      const std::lock_guard lock(mutex_);
      jobs_.at(ticket).arrived = true;
      ++arrivals_;
    }
    changed_.notify_all();
  }

  void finish(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    Job& job = jobs_.at(ticket);
    changed_.wait(lock, [&] { return job.done; });
    const std::string error = job.error;
    jobs_.erase(ticket);
    if (!error.empty()) throw TransferError(error);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      // Between arrivals there is nothing to start: what stands behind a running collective is
      // started when that ends.
      changed_.wait(lock, [this] { return closing_ || arrivals_ > 0 || !active_.empty(); });
      if (closing_ && active_.empty()) return;
      if (arrivals_ > 0) {
        arrivals_ = 0;
        start_all();
      }
      if (active_.empty()) continue;
      lock.unlock();
      const std::vector<Ticket> ended = test();
      if (ended.empty()) wait_a_moment();
      lock.lock();
      for (const Ticket ticket : ended) retire(ticket);
      if (!ended.empty()) {
        start_all();
        changed_.notify_all();
      }
    }
  }

  void wait_a_moment() const {
    if (waiting_ == Waiting::yields) {
      sched_yield();
    } else {
      precise_sleep_until(std::chrono::steady_clock::now() + kRest);
    }
  }

  /// With the lock held: posting returns at once.
  void start_all() {
    for (auto& [key, queue] : queues_) {
      const bool message = std::get<1>(key) == WireKind::send || std::get<1>(key) == WireKind::recv;
      while (!queue.empty()) {
        Job& job = jobs_.at(queue.front());
        if (!job.arrived || (!message && running_[std::get<0>(key)])) break;
        if (!message) running_[std::get<0>(key)] = true;
        start(queue.front(), job);
        queue.pop_front();
      }
    }
  }

  char* make_room(int group, const TransferPart& part) {
    std::vector<char>& scratch = scratch_[group];
    const auto bytes = static_cast<std::size_t>(
        scratch_bytes(part, groups_.at(static_cast<std::size_t>(group)).members()));
    if (scratch.size() < bytes) scratch.resize(bytes);
    return scratch.data();
  }

  void start(Ticket ticket, Job& job) {
    try {
      const MpiGroup& group = groups_[static_cast<std::size_t>(job.group)];
      // One collective of a communicator is under way at a time.
      job.request = post(job.part, group, make_room(job.group, job.part));
    } catch (const std::exception& error) {
      job.error = error.what();
    }
    active_.emplace_back(ticket, &job);
  }

  /// Without the lock: jobs under way belong to this thread.
  std::vector<Ticket> test() {
    std::vector<Ticket> ended;
    for (const auto& [ticket, job] : active_) {
      if (job->error.empty()) {
        int flag = 0;
        const int status = PMPI_Test(&job->request, &flag, MPI_STATUS_IGNORE);
        if (status == MPI_SUCCESS && flag == 0) continue;
        try {
          check_mpi(status, "MPI_Test");
          complete(job->part, groups_[static_cast<std::size_t>(job->group)],
                   scratch_[job->group].data());
        } catch (const std::exception& error) {
          job->error = error.what();
        }
      }
      ended.push_back(ticket);
    }
    return ended;
  }

  void retire(Ticket ticket) {
    const auto at = std::find_if(active_.begin(), active_.end(),
                                 [&](const auto& entry) { return entry.first == ticket; });
    Job& job = *at->second;
    const bool message = job.part.kind == WireKind::send || job.part.kind == WireKind::recv;
    if (!message) running_[job.group] = false;
    job.done = true;
    active_.erase(at);
  }

  std::vector<MpiGroup> groups_;
  std::map<int, std::vector<char>> scratch_;  // by group; of the thread
  Waiting waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  int arrivals_ = 0;
  Ticket next_ = 0;
  std::unordered_map<Ticket, Job> jobs_;  // references stay valid while others come and go
  std::map<QueueKey, std::deque<Ticket>> queues_;
  std::map<int, bool> running_;  // by group: a collective is under way
  std::vector<std::pair<Ticket, Job*>> active_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const MpiWorld& world,
                                                    std::vector<GroupMembers> groups,
                                                    Waiting waiting) {
  std::vector<MpiGroup> made;
  for (GroupMembers& g : groups) {
    MpiGroup group{.ranks = std::move(g.ranks)};
    const int color = group.ranks.empty() ? MPI_UNDEFINED : group.ranks.front();
    check_mpi(PMPI_Comm_split(MPI_COMM_WORLD, color, world.rank(), &group.comm), "MPI_Comm_split");
    if (group.comm != MPI_COMM_NULL) {
      PMPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN);
      PMPI_Comm_set_name(group.comm, g.name.c_str());
      PMPI_Comm_rank(group.comm, &group.place);
    }
    made.push_back(std::move(group));
  }
  return std::make_unique<MpiCommunicator>(std::move(made), waiting);
}

}  // namespace windtunnel
