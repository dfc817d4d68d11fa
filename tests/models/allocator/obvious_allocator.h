#pragma once
// The caching allocator's documented rules written the plain way, for comparison: live intervals in
// ordered maps, everything else derived from them by scanning. Slow, and no code shared with the
// model under test.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace windtunnel::test {

/// Fixed segments.
class ObviousAllocator {
 public:
  explicit ObviousAllocator(std::int64_t capacity) : capacity_(capacity) {}

  /// Address of the block, or nothing when out of memory.
  std::optional<std::int64_t> alloc(std::int64_t bytes, int stream) {
    const std::int64_t size = std::max<std::int64_t>(512, (bytes + 511) / 512 * 512);
    const bool small = size <= (1 << 20);
    auto place = best(size, stream, small);
    if (!place) {
      const std::int64_t segment = small ? (2 << 20)
                                   : size < (10 << 20)
                                       ? (20 << 20)
                                       : (size + (2 << 20) - 1) / (2 << 20) * (2 << 20);
      if (reserved() + segment > capacity_) drop_empty_segments();
      if (reserved() + segment > capacity_) return std::nullopt;
      segments_.push_back({next_, segment, stream, small, {}});
      place = {next_, segment};
      next_ += segment;
    }
    const std::int64_t rest = place->second - size;
    const bool split = small ? rest >= 512 : rest > (1 << 20);
    segment_at(place->first).live[place->first] = split ? size : place->second;
    return place->first;
  }

  void free(std::int64_t address) { segment_at(address).live.erase(address); }

  std::int64_t reserved() const {
    std::int64_t sum = 0;
    for (const Segment& s : segments_) sum += s.size;
    return sum;
  }
  std::int64_t allocated() const {
    std::int64_t sum = 0;
    for (const Segment& s : segments_) {
      for (const auto& [address, size] : s.live) sum += size;
    }
    return sum;
  }
  std::int64_t inactive_split() const {
    std::int64_t sum = 0;
    for (const Segment& s : segments_) {
      if (!s.live.empty()) sum += s.size;
    }
    return sum - allocated();
  }

 private:
  struct Segment {
    std::int64_t address, size;
    int stream;
    bool small;
    std::map<std::int64_t, std::int64_t> live;  // address -> size
  };

  std::optional<std::pair<std::int64_t, std::int64_t>> best(std::int64_t size, int stream,
                                                            bool small) const {
    std::optional<std::pair<std::int64_t, std::int64_t>> found;
    for (const Segment& s : segments_) {
      if (s.stream != stream || s.small != small) continue;
      std::int64_t at = s.address;
      const auto consider = [&](std::int64_t end) {
        const std::int64_t hole = end - at;
        if (hole >= size && (!found || hole < found->second)) found = {at, hole};
      };
      for (const auto& [address, live] : s.live) {
        consider(address);
        at = address + live;
      }
      consider(s.address + s.size);
    }
    return found;
  }

  Segment& segment_at(std::int64_t address) {
    return *std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) {
      return address >= s.address && address < s.address + s.size;
    });
  }
  void drop_empty_segments() {
    std::erase_if(segments_, [](const Segment& s) { return s.live.empty(); });
  }

  std::int64_t capacity_, next_ = 0;
  std::vector<Segment> segments_;  // in address order
};

/// Expandable segments: one range per (stream, class) from address 0 on, a flag per page. A range
/// that runs out of addresses is not modelled.
class ObviousExpandable {
 public:
  explicit ObviousExpandable(std::int64_t capacity)
      : capacity_(capacity),
        length_((capacity / 8 * 9 + (20 << 20) - 1) / (20 << 20) * (20 << 20)) {}

  struct Place {
    int stream;
    bool small;
    std::int64_t address;
  };

  std::optional<Place> alloc(std::int64_t bytes, int stream) {
    const std::int64_t size = std::max<std::int64_t>(512, (bytes + 511) / 512 * 512);
    const bool small = size <= (1 << 20);
    Range& range = ranges_[{stream, small}];
    range.page = small ? (2 << 20) : (20 << 20);
    auto at = best(range, size);
    if (!at) at = grow(range, size);
    if (!at) {
      unmap_idle_pages();
      at = grow(range, size);
    }
    if (!at) return std::nullopt;
    range.live[*at] = size;
    return Place{stream, small, *at};
  }

  void free(const Place& p) { ranges_[{p.stream, p.small}].live.erase(p.address); }

  std::int64_t reserved() const {
    std::int64_t sum = 0;
    for (const auto& [key, range] : ranges_) {
      sum += range.page * std::count(range.mapped.begin(), range.mapped.end(), true);
    }
    return sum;
  }
  std::int64_t allocated() const {
    std::int64_t sum = 0;
    for (const auto& [key, range] : ranges_) {
      for (const auto& [address, size] : range.live) sum += size;
    }
    return sum;
  }

 private:
  struct Range {
    std::int64_t page = 0;
    std::vector<bool> mapped;
    std::map<std::int64_t, std::int64_t> live;
    bool is_mapped(std::int64_t page_index) const {
      return page_index < static_cast<std::int64_t>(mapped.size()) &&
             mapped[static_cast<std::size_t>(page_index)];
    }
  };
  struct Hole {
    std::int64_t address, size, could_grow_to;
  };
  /// Gaps between live blocks, each cut where mapping changes.
  std::vector<Hole> holes(const Range& range) const {
    std::vector<Hole> all;
    std::int64_t at = 0;
    auto live = range.live.begin();
    while (true) {
      const std::int64_t end = live == range.live.end() ? length_ : live->first;
      while (at < end) {
        const bool mapped = range.is_mapped(at / range.page);
        std::int64_t stop = at;
        while (stop < end && range.is_mapped(stop / range.page) == mapped &&
               stop / range.page <= static_cast<std::int64_t>(range.mapped.size())) {
          stop = std::min(end, (stop / range.page + 1) * range.page);
        }
        if (stop / range.page > static_cast<std::int64_t>(range.mapped.size())) stop = end;
        if (mapped) all.push_back({at, stop - at, stop - at});
        if (!mapped && !all.empty() && all.back().address + all.back().size == at) {
          all.back().could_grow_to += stop - at;
        }
        at = stop;
      }
      if (live == range.live.end()) return all;
      at = live->first + live->second;
      ++live;
    }
  }

  std::optional<std::int64_t> best(const Range& range, std::int64_t size) const {
    std::vector<Hole> all = holes(range);
    std::erase_if(all, [&](const Hole& h) { return h.size < size; });
    if (all.empty()) return std::nullopt;
    std::stable_sort(all.begin(), all.end(),
                     [](const Hole& a, const Hole& b) { return a.size < b.size; });
    std::size_t chosen = 0;
    while (chosen + 1 < all.size() && all[chosen + 1].could_grow_to < all[chosen].could_grow_to) {
      ++chosen;
    }
    return all[chosen].address;
  }

  /// Lowest gap (mapped or not, with an unmapped part) of `size` bytes; maps what is missing.
  std::optional<std::int64_t> grow(Range& range, std::int64_t size) {
    std::int64_t at = 0;
    for (auto live = range.live.begin();; ++live) {
      const std::int64_t end = live == range.live.end() ? length_ : live->first;
      const auto start = first_start(range, at, end, size);
      if (start) return map(range, *start, size) ? start : std::nullopt;
      if (live == range.live.end()) return std::nullopt;
      at = live->first + live->second;
    }
  }

  /// A place in the gap [at, end): an unmapped range, with the free block right before it.
  static std::optional<std::int64_t> first_start(const Range& range, std::int64_t at,
                                                 std::int64_t end, std::int64_t size) {
    std::int64_t run = at;  // start of the current mapped run
    for (std::int64_t p = at; p < end; p = (p / range.page + 1) * range.page) {
      if (!range.is_mapped(p / range.page)) {
        const std::int64_t start = run;
        if (end - start >= size) return start;
        // skip this unmapped range; the next run starts behind it
        while (p < end && !range.is_mapped(p / range.page)) p = (p / range.page + 1) * range.page;
        run = p;
        p -= range.page;
      }
    }
    return std::nullopt;
  }

  bool map(Range& range, std::int64_t start, std::int64_t size) {
    // Pages are taken range by range; a range that does not fit leaves what was mapped before it.
    std::int64_t p = start / range.page;
    const std::int64_t last = (start + size - 1) / range.page;
    while (p <= last) {
      if (range.is_mapped(p)) {
        ++p;
        continue;
      }
      std::int64_t stop = p;
      while (stop <= last && !range.is_mapped(stop)) ++stop;
      if (reserved() + (stop - p) * range.page > capacity_) return false;
      if (static_cast<std::int64_t>(range.mapped.size()) < stop) {
        range.mapped.resize(static_cast<std::size_t>(stop), false);
      }
      for (; p < stop; ++p) range.mapped[static_cast<std::size_t>(p)] = true;
    }
    return true;
  }

  void unmap_idle_pages() {
    for (auto& [key, range] : ranges_) {
      for (std::size_t p = 0; p < range.mapped.size(); ++p) {
        const std::int64_t begin = static_cast<std::int64_t>(p) * range.page;
        const bool used = std::any_of(range.live.begin(), range.live.end(), [&](const auto& l) {
          return l.first < begin + range.page && l.first + l.second > begin;
        });
        if (!used) range.mapped[p] = false;
      }
    }
  }

  std::int64_t capacity_, length_;  // of the device, of a range
  std::map<std::pair<int, bool>, Range> ranges_;
};

}  // namespace windtunnel::test
