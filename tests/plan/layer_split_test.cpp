#include "plan/layer_split.h"

#include <gtest/gtest.h>

#include <numeric>

namespace windtunnel {
namespace {

Model layers(std::int64_t n) {
  Model m;
  m.layers = n;
  m.hidden = 64;
  m.heads = 4;
  m.head_dim = 16;
  m.ffn = 128;
  m.vocab = 1000;
  return m;
}

std::vector<int> split(std::int64_t n, int chunks,
                       LayerSplit rule = LayerSplit::equal_or_ends_count_as_layers) {
  return split_layers(layers(n), chunks, rule).layers;
}

TEST(LayerSplit, EqualWhenLayersDivide) {
  EXPECT_EQ(split(8, 4), (std::vector<int>{2, 2, 2, 2}));
}

TEST(LayerSplit, EmbeddingAndHeadCountAsLayersWhenThatDivides) {
  // Llama 3.1 405B: 126 layers on 128 chunks, the first and last chunk hold none.
  const std::vector<int> chunks = split(126, 128);
  EXPECT_EQ(chunks.front(), 0);
  EXPECT_EQ(chunks.back(), 0);
  EXPECT_EQ(std::accumulate(chunks.begin(), chunks.end(), 0), 126);
  EXPECT_EQ(split(70, 12), (std::vector<int>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5}));
}

TEST(LayerSplit, PredictionsStandOnTheLastChunkWithWhatIsLeft) {  // DeepSeek-V3
  const auto split_predicting = [](std::int64_t n, int chunks) {
    Model m = layers(n);
    m.mtp_layers = 1;
    return split_layers(m, chunks, LayerSplit::equal_or_ends_count_as_layers).layers;
  };
  EXPECT_EQ(split_predicting(61, 4), (std::vector<int>{16, 16, 16, 13}));
  EXPECT_EQ(split_predicting(61, 8), (std::vector<int>{8, 8, 8, 8, 8, 8, 8, 5}));
  const std::vector<int> sixteen = split_predicting(61, 16);
  EXPECT_EQ(sixteen.front(), 4);
  EXPECT_EQ(sixteen.back(), 1);
  EXPECT_EQ(split_predicting(5, 1), std::vector<int>{5});
  EXPECT_EQ(split_predicting(9, 8), split(9, 8));  // two each would be more than there are
}

TEST(LayerSplit, LeftoversGoToTheMiddle) {
  // 9 layers on 4 chunks, r = 1: one more for chunk floor((4 - 1) / 2) = 1.
  EXPECT_EQ(split(9, 4), (std::vector<int>{2, 3, 2, 2}));
  // 11 on 4, r = 3: chunks floor((4 - 3) / 2) = 0 onward.
  EXPECT_EQ(split(11, 4), (std::vector<int>{3, 3, 3, 2}));
}

TEST(LayerSplit, NanotronFillsStagesByCost) {
  Model m = layers(16);
  m.vocab = 131072;  // the head outweighs several layers, so the last stage gets fewer
  const std::vector<int> chunks = split_layers(m, 4, LayerSplit::by_cost).layers;
  EXPECT_EQ(std::accumulate(chunks.begin(), chunks.end(), 0), 16);
  EXPECT_LT(chunks.back(), chunks.front());
}

}  // namespace
}  // namespace windtunnel
