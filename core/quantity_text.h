#pragma once
// Quantities as people write them: a number and a unit in one string, "13.75 s", "200 Gbit/s".
//
// Units are matched exactly (letter case counts: "GB" is 1e9 bytes, "GiB" is 2^30, "Gbit/s" is
// 1.25e8 B/s). A space between number and unit may be left out. Values are finite and not negative.
//   time        ps ns us ms s min h d
//   bytes       B kB MB GB TB KiB MiB GiB TiB
//   bandwidth   the bytes per second (GB/s, GiB/s), and bit/s kbit/s Mbit/s Gbit/s Tbit/s
//   rate        FLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s

#include <string>
#include <string_view>

#include "core/units.h"

namespace windtunnel {

/// A value, or what is wrong with the text and a hint that shows how it is written.
template <class Q>
struct ParsedQuantity {
  Q value{};
  std::string problem;  // empty: `value` holds
  std::string hint;

  bool ok() const { return problem.empty(); }
};

ParsedQuantity<Seconds> parse_seconds(std::string_view text);
ParsedQuantity<Bytes> parse_bytes(std::string_view text);
ParsedQuantity<BytesPerSecond> parse_bytes_per_second(std::string_view text);
ParsedQuantity<FlopsPerSecond> parse_flops_per_second(std::string_view text);

}  // namespace windtunnel
