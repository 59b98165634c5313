#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sources/heap/python/object_data.h"

namespace memscope {

struct NumpyArray {
    std::string dtype{};  // "float32"; empty: it could not be read
    std::vector<std::uint64_t> shape{};
    std::uint64_t bytes = 0;  // of its elements
    std::uint64_t count = 0;  // of elements
    Address data = 0;
    bool owns_data = false;
    bool holds_objects = false;
};

// Reads numpy.ndarray of numpy 1 and 2.
class NumpyArrays {
  public:
    static constexpr std::uint64_t kBase = 48, kDtype = 56;  // offsets in PyArrayObject

    explicit NumpyArrays(ObjectData& data) : memory_(data.memory()) {}
    NumpyArray read(Address array);

  private:
    HeapCopy& memory_;
    std::uint64_t element_size_ = 0;  // its offset in PyArray_Descr; 0: not known yet
};

}  // namespace memscope
