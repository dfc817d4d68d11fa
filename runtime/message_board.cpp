#include "runtime/message_board.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/op_names.h"

namespace windtunnel {

namespace {

using reference::Field;
using reference::Number;

/// The maximum has no meaning in the field; kernels that use it give 0 there.
template <class T>
T combine(ReduceOp reduce, T a, T b) {
  if (reduce != ReduceOp::max) return a + b;
  if constexpr (Number<T>::exact) {
    return T{};
  } else {
    return std::max(a, b);
  }
}

/// Elements [begin, end) of every part, reduced in member order.
template <class T>
std::vector<T> reduced(ReduceOp reduce, const std::vector<std::vector<T>>& parts, std::size_t begin,
                       std::size_t end) {
  std::vector<T> result(parts[0].begin() + static_cast<std::ptrdiff_t>(begin),
                        parts[0].begin() + static_cast<std::ptrdiff_t>(end));
  for (std::size_t p = 1; p < parts.size(); ++p) {
    for (std::size_t i = begin; i < end; ++i) {
      result[i - begin] = combine(reduce, result[i - begin], parts[p][i]);
    }
  }
  if (reduce == ReduceOp::average) {
    const T share = Number<T>::ratio(1, static_cast<std::int64_t>(parts.size()));
    for (T& x : result) x *= share;
  }
  return result;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from, std::size_t begin, std::size_t end) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace

std::string text_of(const CollectiveShape& shape) {
  const bool reduces = shape.reduce != ReduceOp::none;
  const std::string far =
      shape.distance > 1 ? fmt::format(" {} places on", shape.distance) : std::string();
  return fmt::format("{}{}{}{} of {} {}", name_of(shape.collective), reduces ? " " : "",
                     reduces ? name_of(shape.reduce) : "", far, shape.elements,
                     name_of(shape.dtype));
}

std::string text_of(const MessageLabel& label) {
  return fmt::format("{} {} elements of micro-batch {}, {} over the boundary after chunk {}",
                     label.elements, name_of(label.dtype), label.micro_batch,
                     label.phase == Phase::backward ? "gradient" : "activation", label.boundary);
}

CollectiveSizes sizes_of(const CollectiveShape& shape, std::int64_t members) {
  const std::int64_t all = shape.elements;
  const std::int64_t share = all / members;
  const bool sliced = shape.collective == Collective::all_gather ||
                      shape.collective == Collective::reduce_scatter ||
                      shape.collective == Collective::all_to_all;
  if (sliced && share * members != all) {
    throw ExecutionError(text_of(shape) + " does not divide by " + std::to_string(members));
  }
  switch (shape.collective) {
    case Collective::all_gather:
      return {.in = share, .out = all};
    case Collective::reduce_scatter:
      return {.in = all, .out = share};
    case Collective::all_reduce:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::ring_shift:
      return {.in = all, .out = all};
  }
  return {};
}

template <class T>
std::vector<T> result_of(const CollectiveShape& shape, const std::vector<std::vector<T>>& parts,
                         int member) {
  const std::size_t n = parts.size();
  const auto elements = static_cast<std::size_t>(shape.elements);
  const auto place = static_cast<std::size_t>(member);
  const std::size_t share = elements / n;
  std::vector<T> result;
  switch (shape.collective) {
    case Collective::all_reduce:
      return reduced(shape.reduce, parts, 0, elements);
    case Collective::reduce_scatter:
      return reduced(shape.reduce, parts, place * share, (place + 1) * share);
    case Collective::all_gather:
      for (const auto& part : parts) append(result, part, 0, share);
      return result;
    case Collective::all_to_all:
      for (const auto& part : parts) append(result, part, place * share, (place + 1) * share);
      return result;
    case Collective::broadcast:
      return parts[0];
    case Collective::ring_shift:
      return parts[(place + n - static_cast<std::size_t>(shape.distance)) % n];
  }
  return result;
}

template std::vector<double> result_of(const CollectiveShape&,
                                       const std::vector<std::vector<double>>&, int);
template std::vector<Field> result_of(const CollectiveShape&,
                                      const std::vector<std::vector<Field>>&, int);

}  // namespace windtunnel
