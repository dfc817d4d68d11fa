#pragma once
// The cached free blocks of one pool, ordered by (size, address), with best-fit search.
//
// Blocks lie in bins of similar size: eight bins per power of two, a bit per bin that is not empty.
// A bin is a flat array in descending order, so its smallest, lowest block is at the end and taking
// it moves nothing. Finding and taking a block costs O(1) plus a search inside one bin.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "models/allocator/allocator_rules.h"

namespace windtunnel {

class FreeBlocks {
 public:
  struct Entry {
    std::int64_t address = 0;
    std::uint32_t units = 0;  // size in units of 512 B
    std::uint32_t block = 0;
  };
  /// A place in the order; `bin` is kBins past the last.
  struct Position {
    std::uint32_t bin = 0;
    std::uint32_t index = 0;
  };
  static constexpr std::uint32_t kBins = 4 * 64;  // sizes below 2 TiB

  /// The first entry of at least `bytes`, or a position past the end.
  Position best_fit(std::int64_t bytes) const {
    const auto units = units_of(bytes);
    const std::uint32_t bin = bin_of(units);
    const std::vector<Entry>& entries = bins_[bin];
    if (!entries.empty() && entries.back().units >= units) {
      return {bin, static_cast<std::uint32_t>(entries.size()) - 1};
    }
    const std::uint32_t large_enough = rank(entries, {.address = -1, .units = units});
    return large_enough > 0 ? Position{bin, large_enough - 1} : first_from(bin + 1);
  }

  Position next(Position at) const {
    return at.index > 0 ? Position{at.bin, at.index - 1} : first_from(at.bin + 1);
  }
  Position first() const { return first_from(0); }
  static bool past_end(Position at) { return at.bin == kBins; }
  const Entry& at(Position place) const { return bins_[place.bin][place.index]; }

  std::uint32_t take(Position place) {
    std::vector<Entry>& entries = bins_[place.bin];
    const std::uint32_t block = entries[place.index].block;
    if (place.index + 1 == entries.size()) {
      entries.pop_back();
    } else {
      entries.erase(entries.begin() + place.index);
    }
    if (entries.empty()) used_[place.bin / 64] &= ~(1ULL << (place.bin % 64));
    return block;
  }

  void insert(std::int64_t bytes, std::int64_t address, std::uint32_t block) {
    const Entry entry{.address = address, .units = units_of(bytes), .block = block};
    const std::uint32_t bin = bin_of(entry.units);
    std::vector<Entry>& entries = bins_[bin];
    used_[bin / 64] |= 1ULL << (bin % 64);
    if (entries.empty() || before(entry, entries.back())) {
      entries.push_back(entry);
    } else {
      entries.insert(entries.begin() + rank(entries, entry), entry);
    }
  }

  void remove(std::int64_t bytes, std::int64_t address) {
    const Entry entry{.address = address, .units = units_of(bytes)};
    const std::uint32_t bin = bin_of(entry.units);
    take({bin, rank(bins_[bin], entry)});
  }

  /// Empties the pool and keeps its storage.
  void clear() {
    for (std::vector<Entry>& entries : bins_) entries.clear();
    used_.fill(0);
  }

 private:
  static std::uint32_t units_of(std::int64_t bytes) {
    return static_cast<std::uint32_t>(bytes / kMinBlockBytes);
  }

  static std::uint32_t bin_of(std::uint32_t units) {
    if (units < 8) return units;
    const std::uint32_t log = static_cast<std::uint32_t>(std::bit_width(units)) - 1;
    return (log - 2) * 8 + ((units >> (log - 3)) & 7);
  }

  static bool before(const Entry& a, const Entry& b) {
    return a.units != b.units ? a.units < b.units : a.address < b.address;
  }

  /// Index of the first entry in the descending array that is not after `entry`.
  static std::uint32_t rank(const std::vector<Entry>& entries, const Entry& entry) {
    std::size_t low = 0, count = entries.size();
    while (count > 0) {
      const std::size_t half = count / 2;
      const bool after = before(entry, entries[low + half]);
      low = after ? low + half + 1 : low;
      count = after ? count - half - 1 : half;
    }
    return static_cast<std::uint32_t>(low);
  }

  Position first_from(std::uint32_t bin) const {
    std::uint32_t word = bin / 64;
    if (word >= used_.size()) return {kBins, 0};
    std::uint64_t bits = used_[word] & (~0ULL << (bin % 64));
    while (bits == 0) {
      if (++word == used_.size()) return {kBins, 0};
      bits = used_[word];
    }
    const std::uint32_t found = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    return {found, static_cast<std::uint32_t>(bins_[found].size()) - 1};
  }

  std::array<std::uint64_t, kBins / 64> used_{};
  std::array<std::vector<Entry>, kBins> bins_;
};

}  // namespace windtunnel
