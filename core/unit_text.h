#pragma once
// Quantities for people: three or four significant digits in the unit that fits. What is printed
// here is for reading; files and JSON carry the number in its SI base.

#include <cstdint>
#include <string>

#include "core/units.h"

namespace windtunnel {

/// "13.75 s", "2.1 us", "3.2 h", "0 s".
std::string format_seconds(Seconds time);
/// Binary units, as allocators and drivers report: "60.1 GiB", "512 MiB", "12 B".
std::string format_bytes(Bytes amount);
/// "200 GB/s", "3.35 TB/s".
std::string format_bandwidth(BytesPerSecond rate);
/// "312 TFLOP/s".
std::string format_flops_rate(FlopsPerSecond rate);
/// "12.5 %" of 0.125.
std::string format_percent(double share);
/// Digits in groups of three: "1,048,576".
std::string format_count(std::int64_t count);
/// "175 B", "8.03 B", "117 M": how model sizes are spoken of.
std::string format_parameters(std::int64_t parameters);

}  // namespace windtunnel
