#include "runtime/rank_outcome.h"

#include <cstring>
#include <type_traits>

namespace windtunnel {

namespace {

class Packer {
 public:
  template <class V>
  requires std::is_trivially_copyable_v<V>
  void put(const V& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  template <class V>
  void put(const std::vector<V>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const V& value : values) put(value);
  }
  void put(const WireTraffic& t) {
    put(t.communicator);
    put(t.kind);
    put(t.count);
    put(t.bytes);
  }
  void put(const TensorPiece& p) {
    put(p.param);
    put(p.rank);
    put(p.index);
    put(p.values);
  }
  void put(const StepOutcome& s) {
    put(s.loss);
    put(s.has_loss);
    put(s.end);
    put(s.memory);
    put(s.traffic);
    put(s.records);
    put(s.values.losses);
    put(s.values.norms);
    put(s.values.used);
    put(s.values.gradients);
    put(s.values.updated);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}

  template <class V>
  requires std::is_trivially_copyable_v<V>
  void get(V& value) {
    if (bytes_.size() - at_ < sizeof value) fail();
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void get(bool& value) {
    std::uint8_t byte = 0;
    get(byte);
    if (byte > 1) fail();
    value = byte == 1;
  }
  void get(std::string& text) {
    const std::uint64_t size = length(1);
    text = bytes_.substr(at_, size);
    at_ += size;
  }
  /// Grows as values are read: what a torn file announces is not taken.
  template <class V>
  void get(std::vector<V>& values) {
    for (std::uint64_t left = length(1); left > 0; --left) get(values.emplace_back());
  }
  void get(WireTraffic& t) {
    get(t.communicator);
    get(t.kind);
    get(t.count);
    get(t.bytes);
  }
  void get(TensorPiece& p) {
    get(p.param);
    get(p.rank);
    get(p.index);
    get(p.values);
  }
  void get(StepOutcome& s) {
    get(s.loss);
    get(s.has_loss);
    get(s.end);
    get(s.memory);
    get(s.traffic);
    get(s.records);
    get(s.values.losses);
    get(s.values.norms);
    get(s.values.used);
    get(s.values.gradients);
    get(s.values.updated);
  }
  void end() {
    if (at_ != bytes_.size()) fail();
  }

 private:
  /// An announced length can be no more than what is left.
  std::uint64_t length(std::uint64_t least_bytes) {
    std::uint64_t n = 0;
    get(n);
    if (n > (bytes_.size() - at_) / least_bytes) fail();
    return n;
  }
  [[noreturn]] static void fail() { throw ExecutionError("a rank's outcome is torn"); }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

constexpr std::uint64_t kMark = 0x77696e64'72616e6bULL;  // what is no outcome is told at once

}  // namespace

std::string pack(const RankOutcome& outcome) {
  Packer packer;
  packer.put(kMark);
  packer.put(outcome.rank);
  packer.put(outcome.steps);
  packer.put(outcome.speeds);
  return packer.take();
}

RankOutcome unpack_outcome(const std::string& bytes) {
  Unpacker unpacker(bytes);
  std::uint64_t mark = 0;
  RankOutcome outcome;
  unpacker.get(mark);
  if (mark != kMark) throw ExecutionError("a rank's outcome is torn");
  unpacker.get(outcome.rank);
  unpacker.get(outcome.steps);
  unpacker.get(outcome.speeds);
  unpacker.end();
  return outcome;
}

}  // namespace windtunnel
