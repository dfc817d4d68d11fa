#pragma once
// Event registers with CUDA's rule: a wait binds to the latest record in the order the host issued.
//
// The host counts the records of every event; a stream that comes to a record marks it reached. A
// wait, when issued, remembers the count, and passes once as many marks are reached. Records of one
// event are reached in order when they stand on one stream; on several, the highest counts.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace windtunnel {

class EventMarks {
 public:
  explicit EventMarks(int events)
      : issued_(static_cast<std::size_t>(events), 0),
        reached_(static_cast<std::size_t>(events), 0) {}

  /// Host: the number of a new record.
  std::int64_t issue(int event) { return ++issued_[static_cast<std::size_t>(event)]; }
  /// Host: the record a wait issued now binds to; 0: none.
  std::int64_t latest(int event) const { return issued_[static_cast<std::size_t>(event)]; }

  void reach(int event, std::int64_t record);
  void await(int event, std::int64_t record);

 private:
  std::vector<std::int64_t> issued_;  // the host's alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> reached_;
};

}  // namespace windtunnel
