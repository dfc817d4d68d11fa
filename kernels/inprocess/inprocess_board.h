#pragma once
// Where the threads of one process meet: transfers by (communicator, first member) and number,
// messages by (communicator, source, destination) and number.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/device/communicator.h"

namespace windtunnel {

/// Identity of a queue: communicator, then (first member, -1) or (source, destination).
using QueueKey = std::tuple<int, int, int>;

/// One rank's place in one transfer.
struct MeetingPlace {
  QueueKey queue;
  std::int64_t number = 0;
  int member = 0;   // messages: 0 the sender, 1 the receiver
  int members = 0;  // messages: 2
};

class InProcessBoard {
 public:
  void arrive(const MeetingPlace& place, const TransferPart& part);
  /// Throws TransferError after `fail`, or when members disagree.
  void await(const MeetingPlace& place);
  void fail(const std::string& why);

 private:
  struct Meeting {
    std::vector<TransferPart> parts;
    std::vector<char> here;
    int arrived = 0, left = 0;
    bool done = false;
  };
  struct Queue {
    std::int64_t next = 0;  // first transfer that has not been carried out
    std::map<std::int64_t, Meeting> meetings;
  };

  void carry_out(Queue& queue);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<QueueKey, Queue> queues_;
  std::string failure_;
};

/// Does what a transfer does to the members' memory; messages: parts of sender and receiver. Empty,
/// or why the parts do not fit together.
std::string carry_out(const std::vector<TransferPart>& parts);

}  // namespace windtunnel
