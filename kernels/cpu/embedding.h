#pragma once
// Tokens, word and position embeddings: the plain loops of `kernels/reference/embedding.h`, whole
// rows copied or added. Tokens may be int64.
//
// Bytes: embedding_fwd reads and writes t h elements, embedding_bwd and position_bwd read t h and
// read and write t h of the table, position_fwd reads 2 t h and writes t h. At most 1 FLOP each.

#include "kernels/reference/embedding.h"

namespace windtunnel::cpu {

using reference::embedding_bwd;
using reference::embedding_fwd;
using reference::EmbeddingDims;
using reference::load_tokens;
using reference::position_bwd;
using reference::position_fwd;
using reference::PositionDims;
using reference::RowPlacement;
using reference::TokenSource;

}  // namespace windtunnel::cpu
