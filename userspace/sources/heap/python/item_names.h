#pragma once
#include <string>

#include "base/units.h"
#include "sources/heap/python/object_reader.h"
#include "sources/heap/python/torch_objects.h"

namespace memscope {

// Describes objects, and the items of containers, by type and shape.
class ItemNames {
  public:
    ItemNames(ObjectReader& reader, TorchObjects& torch) : reader_(reader), torch_(torch) {}

    // The type, with the shape of arrays and tensors.
    std::string name_of(Address object, const PythonType& its);
    // The type of most items, with the shape if most items have the same shape.
    std::string element_of(Address container, const PythonType& type);
    // Calls visit(Address) for the items that element_of() asks for.
    template <class Visit>
    void for_items(Address container, const PythonType& type, Visit&& visit) {
        constexpr std::size_t kAsked = 64;
        reader_.last_items(container, type, kAsked, visit);
    }
    // The mean size of the storages, if most items are, or have, a small view of a storage of their own.
    Bytes storages_of_items(Address container, const PythonType& type);

  private:
    // An array or a tensor that shows a part of a storage.
    struct View {
        Address storage = 0;
        std::uint64_t bytes = 0, storage_bytes = 0;
        bool is_small() const { return storage != 0 && 4 * bytes <= storage_bytes; }
    };
    View view_of(Address object, const PythonType& type);
    std::string name_of(Address object);

    ObjectReader& reader_;
    TorchObjects& torch_;
};

}  // namespace memscope
