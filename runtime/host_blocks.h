#pragma once
// Host memory of what a rank offloads: blocks that are given back serve later requests of the same
// size and stream, as those of the device do, so that what still runs on them is ahead of what uses
// them next. PyTorch's pinned memory is kept the same way (c10, CachingHostAllocator).

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "program/program.h"

namespace windtunnel {

class HostBlocks {
 public:
  /// A block of `bytes`, aligned for any number.
  char* take(std::int64_t bytes, Stream pool) {
    std::vector<char*>& free = free_[{bytes, pool}];
    if (free.empty()) {
      all_.push_back(std::make_unique<char[]>(static_cast<std::size_t>(bytes)));
      return all_.back().get();
    }
    char* const block = free.back();
    free.pop_back();
    return block;
  }
  void give_back(char* block, std::int64_t bytes, Stream pool) {
    free_[{bytes, pool}].push_back(block);
  }

 private:
  std::map<std::pair<std::int64_t, Stream>, std::vector<char*>> free_;
  std::vector<std::unique_ptr<char[]>> all_;
};

}  // namespace windtunnel
