#include "tests/counted_heap.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest{0};

void note(std::size_t bytes) {
  if (bytes > largest) largest = bytes;
}

}  // namespace

namespace windtunnel::test {

std::size_t largest_block() {
  return largest;
}

void forget_blocks() {
  largest = 0;
}

}  // namespace windtunnel::test

extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);

void* __wrap_malloc(std::size_t bytes) {
  note(bytes);
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t n, std::size_t bytes) {
  note(n * bytes);
  return __real_calloc(n, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note(bytes);
  return __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
