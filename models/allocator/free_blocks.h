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
  static constexpr std::uint32_t kBins = 4 * 64;
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 41;  // sizes stay below 2 TiB

  /// The first entry of at least `bytes`, or a position past the end.
  Position best_fit(std::int64_t bytes) const {
    const std::uint32_t units = units_of(bytes);
    const std::uint32_t bin = bin_of(units);
    const std::vector<Entry>& entries = bins_[bin];
    if (!entries.empty() && entries.back().units >= units) [[likely]] {
      return {bin, static_cast<std::uint32_t>(entries.size()) - 1};
    }
    return best_fit_behind(bin, units);
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
    if (place.index + 1 == entries.size()) [[likely]] {
      entries.pop_back();
    } else {
      erase(entries, place.index);
    }
    if (entries.empty()) used_[place.bin / 64] &= ~(1ULL << (place.bin % 64));
    return block;
  }

  void insert(std::int64_t bytes, std::int64_t address, std::uint32_t block) {
    const Entry entry{.address = address, .units = units_of(bytes), .block = block};
    const std::uint32_t bin = bin_of(entry.units);
    std::vector<Entry>& entries = bins_[bin];
    used_[bin / 64] |= 1ULL << (bin % 64);
    if (entries.empty() || before(entry, entries.back())) [[likely]] {
      entries.push_back(entry);
    } else {
      insert_between(entries, entry);
    }
  }

  void remove(std::int64_t bytes, std::int64_t address) {
    const Entry entry{.address = address, .units = units_of(bytes)};
    const std::uint32_t bin = bin_of(entry.units);
    const std::vector<Entry>& entries = bins_[bin];
    const std::uint32_t last = static_cast<std::uint32_t>(entries.size()) - 1;
    take({bin, entries[last].address == address ? last : rank(entries, entry)});
  }

  /// Empties the pool and keeps its storage.
  void clear() {
    for (std::vector<Entry>& entries : bins_) entries.clear();
    used_.fill(0);
  }

 private:
  static std::uint32_t units_of(std::int64_t bytes) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(bytes) / kMinBlockBytes);
  }

  static std::uint32_t bin_of(std::uint32_t units) {
    if (units < 8) return units;
    const std::uint32_t log = static_cast<std::uint32_t>(std::bit_width(units)) - 1;
    return (log - 2) * 8 + ((units >> (log - 3)) & 7);
  }

  /// Without branches: which of two entries comes first is not predictable.
  static bool before(const Entry& a, const Entry& b) {
    const bool smaller = a.units < b.units;
    const bool lower = (a.units == b.units) & (a.address < b.address);
    return smaller | lower;
  }

  /// Index of the first entry in the descending array that is not after `entry`. The number of
  /// iterations depends on the array's size alone.
  static std::uint32_t rank(const std::vector<Entry>& entries, const Entry& entry) {
    const Entry* base = entries.data();
    std::size_t count = entries.size();
    if (count == 0) return 0;
    while (count > 1) {
      const std::size_t half = count / 2;
      base += half * static_cast<std::size_t>(before(entry, base[half - 1]));
      count -= half;
    }
    return static_cast<std::uint32_t>(base - entries.data()) + (before(entry, *base) ? 1U : 0U);
  }

  // Kept out of line so that the common paths above stay short.
  [[gnu::noinline]] Position best_fit_behind(std::uint32_t bin, std::uint32_t units) const {
    const std::uint32_t fitting = rank(bins_[bin], {.address = -1, .units = units});
    return fitting > 0 ? Position{bin, fitting - 1} : first_from(bin + 1);
  }
  [[gnu::noinline]] static void erase(std::vector<Entry>& entries, std::uint32_t index) {
    entries.erase(entries.begin() + index);
  }
  [[gnu::noinline]] static void insert_between(std::vector<Entry>& entries, const Entry& entry) {
    entries.insert(entries.begin() + rank(entries, entry), entry);
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
