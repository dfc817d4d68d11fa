#include "models/cost/monotone_curve.h"

#include <cmath>
#include <cstddef>

namespace windtunnel {

std::vector<std::pair<double, double>> monotone(std::vector<std::pair<double, double>> points) {
  struct Block {
    double log_sum;
    std::size_t count;
  };
  std::vector<Block> blocks;
  for (const auto& [bytes, seconds] : points) {
    blocks.push_back({std::log(seconds), 1});
    while (blocks.size() > 1) {
      const Block& last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      if (before.log_sum * static_cast<double>(last.count) <=
          last.log_sum * static_cast<double>(before.count)) {
        break;
      }
      before = {before.log_sum + last.log_sum, before.count + last.count};
      blocks.pop_back();
    }
  }
  std::size_t at = 0;
  for (const Block& block : blocks) {
    if (block.count == 1) {  // as it was, to the last bit
      ++at;
      continue;
    }
    const double seconds = std::exp(block.log_sum / static_cast<double>(block.count));
    for (std::size_t i = 0; i < block.count; ++i) points[at++].second = seconds;
  }
  return points;
}

}  // namespace windtunnel
