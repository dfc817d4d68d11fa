#include "plan/schedules/placement.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/schedules/schedule.h"

namespace windtunnel {
namespace {

using P = ChunkPlacement;

std::vector<int> chunks_of(P placement, const ScheduleShape& shape, int rank) {
  std::vector<int> chunks;
  for (int c = 0; c < chunks_per_rank(placement, shape); ++c)
    chunks.push_back(global_chunk(placement, shape, {.rank = rank, .chunk = c}));
  return chunks;
}

TEST(ChunkPlacement, LoopsTurnsAndFacesEachOther) {
  const ScheduleShape three{.pp = 4, .virtual_stages = 3, .micro_batches = 8};
  EXPECT_EQ(chunks_of(P::loop, three, 1), (std::vector{1, 5, 9}));
  const ScheduleShape two{.pp = 4, .virtual_stages = 2, .micro_batches = 8};
  EXPECT_EQ(chunks_of(P::v_shape, two, 0), (std::vector{0, 7}));
  EXPECT_EQ(chunks_of(P::v_shape, two, 3), (std::vector{3, 4}));
  const ScheduleShape one{.pp = 4, .micro_batches = 8};
  EXPECT_EQ(chunks_of(P::two_way, one, 0), (std::vector{0, 3}));
  EXPECT_EQ(chunks_of(P::two_way, one, 2), (std::vector{2, 1}));
}

TEST(ChunkPlacement, TwoDirectionsShareTheMicroBatches) {
  const ScheduleShape shape{.pp = 4, .micro_batches = 8};
  EXPECT_EQ(local_chunk(P::two_way, shape, 0, 3), (LocalChunk{.rank = 0, .chunk = 0}));
  EXPECT_EQ(local_chunk(P::two_way, shape, 0, 4), (LocalChunk{.rank = 3, .chunk = 1}));
}

TEST(ChunkPlacement, EveryChunkOfEveryMicroBatchHasOnePlace) {
  for (const P placement : {P::loop, P::v_shape, P::two_way}) {
    for (int p = 1; p <= 8; ++p) {
      const ScheduleShape shape{
          .pp = p, .virtual_stages = placement == P::two_way ? 1 : 2, .micro_batches = 4};
      for (int k = 0; k < shape.micro_batches; ++k) {
        std::set<std::pair<int, int>> places;
        for (int g = 0; g < global_chunks(placement, shape); ++g) {
          const LocalChunk place = local_chunk(placement, shape, g, k);
          EXPECT_EQ(global_chunk(placement, shape, place), g);
          EXPECT_LT(place.rank, p);
          EXPECT_GE(place.rank, 0);
          places.insert({place.rank, place.chunk});
        }
        EXPECT_EQ(places.size(), static_cast<std::size_t>(global_chunks(placement, shape)));
      }
    }
  }
}

}  // namespace
}  // namespace windtunnel
