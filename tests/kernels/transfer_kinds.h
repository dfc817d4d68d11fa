#pragma once
// Every kind of transfer against its closed form, as one member sees it: for any communicator whose
// group 0 is the ranks 0 .. n - 1.
//
// Member r puts in x(r, i) = (r + 1) * (i % 5 + 1) + i; in the field p - 1 - x, so that sums wrap.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/device/communicator.h"
#include "kernels/reference/number.h"

namespace windtunnel {

struct KindCase {
  WireKind kind;
  Reduction reduction = Reduction::none;
  bool in_place = false;
  int distance = 1;  // ring_shift
};

inline std::vector<KindCase> kind_cases() {
  std::vector<KindCase> cases;
  for (const bool in_place : {false, true}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::average, Reduction::max}) {
      cases.push_back({WireKind::all_reduce, reduction, in_place});
      cases.push_back({WireKind::reduce_scatter, reduction, in_place});
    }
    for (const WireKind kind : {WireKind::all_gather, WireKind::all_to_all, WireKind::broadcast}) {
      cases.push_back({kind, Reduction::none, in_place});
    }
  }
  cases.push_back({WireKind::ring_shift});
  return cases;
}

template <class T>
class KindCheck {
 public:
  using Field = reference::Field;
  static constexpr bool kIsField = std::is_same_v<T, Field>;
  static constexpr WireType kType = std::is_same_v<T, float>    ? WireType::fp32
                                    : std::is_same_v<T, double> ? WireType::fp64
                                                                : WireType::field;

  KindCheck(Communicator& communicator, int member, int members)
      : communicator_(communicator), member_(member), members_(members) {}

  /// Empty, or what is wrong.
  std::string kind(const KindCase& c) {
    const std::int64_t share = kShare, all = share * members_;
    const bool gathers = c.kind == WireKind::all_gather;
    const bool scatters = c.kind == WireKind::reduce_scatter;
    std::vector<T> in(size_of(gathers ? share : all)), apart(size_of(scatters ? share : all));
    T* to = apart.data();
    T* from = in.data();
    if (c.in_place && scatters) to = in.data() + member_ * share;
    if (c.in_place && gathers) from = apart.data() + member_ * share;
    if (c.in_place && !scatters && !gathers) to = in.data();
    for (std::int64_t i = 0; i < (gathers ? share : all); ++i) from[i] = input(member_, i);
    carry({{.kind = c.kind,
            .reduction = c.reduction,
            .type = kType,
            .elements = all,
            .in = from,
            .out = to,
            .distance = c.distance}});
    for (std::int64_t o = 0; o < (scatters ? share : all); ++o) {
      if (!is_right(c, o, to[o])) {
        return told(c) + ": element " + std::to_string(o) + " of member " +
               std::to_string(member_) + " is " +
               std::to_string(reference::Number<T>::to_double(to[o]));
      }
    }
    return "";
  }

  /// Two messages around the ring: they come in the order they were sent.
  std::string messages() {
    const int next = (member_ + 1) % members_, last = (member_ + members_ - 1) % members_;
    std::vector<T> first{input(member_, 0), input(member_, 1)}, second{input(member_, 2)};
    std::vector<T> got_first(2), got_second(1);
    const auto part = [](WireKind kind, std::vector<T>& data, int peer) {
      return TransferPart{.kind = kind,
                          .type = kType,
                          .elements = static_cast<std::int64_t>(data.size()),
                          .in = data.data(),
                          .out = data.data(),
                          .peer = peer};
    };
    carry({part(WireKind::send, first, next), part(WireKind::send, second, next),
           part(WireKind::recv, got_first, last), part(WireKind::recv, got_second, last)});
    const bool right = got_first == std::vector<T>{input(last, 0), input(last, 1)} &&
                       got_second == std::vector<T>{input(last, 2)};
    return right ? "" : "messages of member " + std::to_string(last) + " came wrong";
  }

  /// A sum and a maximum of one number, announced in this order; streams come to them in the other
  /// order on odd members. The maximum of sums is the sum; the sum of maxima is not.
  std::string order() {
    T x = input(member_, 0);
    T sum{};
    for (int m = 0; m < members_; ++m) sum += input(m, 0);
    const TransferPart part{.kind = WireKind::all_reduce,
                            .reduction = Reduction::sum,
                            .type = kType,
                            .elements = 1,
                            .in = &x,
                            .out = &x};
    TransferPart maximum = part;
    maximum.reduction = Reduction::max;
    const Communicator::Ticket first = communicator_.announce(0, part);
    const Communicator::Ticket second = communicator_.announce(0, maximum);
    communicator_.arrive(member_ % 2 == 0 ? first : second);
    communicator_.arrive(member_ % 2 == 0 ? second : first);
    communicator_.finish(second);
    communicator_.finish(first);
    return x == sum ? "" : "two collectives of one communicator changed places";
  }

 private:
  static constexpr std::int64_t kShare = 7;  // elements of a member's part

  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }
  static std::int64_t plain(int rank, std::int64_t i) { return (rank + 1) * (i % 5 + 1) + i; }
  static T input(int rank, std::int64_t i) {
    if constexpr (kIsField) {
      return {reference::kPrime - 1 - static_cast<std::uint64_t>(plain(rank, i))};
    } else {
      return static_cast<T>(plain(rank, i));
    }
  }

  void carry(const std::vector<TransferPart>& parts) {
    std::vector<Communicator::Ticket> tickets;
    for (const TransferPart& part : parts) tickets.push_back(communicator_.announce(0, part));
    for (const Communicator::Ticket ticket : tickets) communicator_.arrive(ticket);
    for (const Communicator::Ticket ticket : tickets) communicator_.finish(ticket);
  }

  bool is_right(const KindCase& c, std::int64_t o, T got) const {
    switch (c.kind) {
      case WireKind::all_gather:
        return got == input(static_cast<int>(o / kShare), o % kShare);
      case WireKind::all_to_all:
        return got == input(static_cast<int>(o / kShare), member_ * kShare + o % kShare);
      case WireKind::ring_shift:
        return got == input((member_ + members_ - c.distance) % members_, o);
      case WireKind::reduce_scatter:
        return is_reduced(c.reduction, member_ * kShare + o, got);
      case WireKind::all_reduce:
        return is_reduced(c.reduction, o, got);
      default:
        return got == input(0, o);
    }
  }

  /// Sums of small integers are exact; an average is rounded twice, 1/n and the product.
  bool is_reduced(Reduction reduction, std::int64_t i, T got) const {
    std::int64_t sum = 0;
    for (int m = 0; m < members_; ++m) sum += plain(m, i);
    if constexpr (kIsField) {
      const std::uint64_t expected =
          (static_cast<std::uint64_t>(members_) * (reference::kPrime - 1) -
           static_cast<std::uint64_t>(sum)) %
          reference::kPrime;
      if (got.value >= reference::kPrime) return false;
      if (reduction == Reduction::max) return got.value == 0;
      const std::uint64_t times = reduction == Reduction::average ? members_ : 1;
      return got.value * times % reference::kPrime == expected;
    } else {
      if (reduction == Reduction::max) return got == static_cast<T>(plain(members_ - 1, i));
      if (reduction == Reduction::sum) return got == static_cast<T>(sum);
      const T expected = static_cast<T>(sum) / static_cast<T>(members_);
      return std::abs(got - expected) <= 2 * std::numeric_limits<T>::epsilon() * expected;
    }
  }

  static std::string told(const KindCase& c) {
    constexpr const char* kReductions[] = {"", " sum", " average", " max"};
    return std::string(name_of(c.kind)) + kReductions[static_cast<int>(c.reduction)] +
           (c.in_place ? " in place" : "") + " of " + std::to_string(bytes_of(kType)) + " bytes";
  }

  Communicator& communicator_;
  int member_, members_;
};

/// All of them in one number type; what is wrong, a line each.
template <class T>
std::string check_kinds(Communicator& communicator, int member, int members) {
  KindCheck<T> check(communicator, member, members);
  std::string wrong;
  const auto note = [&](const std::string& what) {
    if (!what.empty()) wrong += what + "\n";
  };
  for (const KindCase& c : kind_cases()) note(check.kind(c));
  for (int far = 2; far < members; ++far)
    note(check.kind({.kind = WireKind::ring_shift, .distance = far}));
  if (members > 1) note(check.messages());                     // no rank sends to itself
  if constexpr (!KindCheck<T>::kIsField) note(check.order());  // the field has no maximum
  return wrong;
}

}  // namespace windtunnel
