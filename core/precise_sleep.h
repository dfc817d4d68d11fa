#pragma once
// A sleep that ends when it should: some 10 us late on an idle core, where Linux by default lets a
// sleeper of a thread be 50 us late to save wake-ups.

#include <chrono>

namespace windtunnel {

void precise_sleep_until(std::chrono::steady_clock::time_point until);

}  // namespace windtunnel
