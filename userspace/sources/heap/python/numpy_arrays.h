#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
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
    // Reads the array and its shape now, and remembers them for read(), because the process may replace the array
    // before the census ends. False if it has been replaced already: then its parts do not agree.
    bool remember(Address array);
    void forget(Address array) { remembered_.erase(array); }
    bool remembers(Address array) const { return remembered_.contains(array); }
    const std::unordered_map<Address, NumpyArray>& remembered() const { return remembered_; }

  private:
    NumpyArray parse(Address array);
    bool was_replaced(Address array, const NumpyArray& copied);
    bool is_packed(Address array, const NumpyArray& copied);
    // Whether the elements of an array lie in memory of the process.
    bool has_elements(const NumpyArray& array) {
        return !array.owns_data || memory_.is_claimed(array.data, array.bytes);
    }

    HeapCopy& memory_;
    std::unordered_map<Address, NumpyArray> remembered_{};
    std::uint64_t most_bytes_ = 0;    // that an array can have; 0: not known yet
    std::uint64_t element_size_ = 0;  // its offset in PyArray_Descr; 0: not known yet
};

}  // namespace memscope
