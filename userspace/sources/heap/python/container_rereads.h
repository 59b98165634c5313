#pragma once
#include <cstdint>
#include <unordered_set>

#include "sources/heap/python/object_reader.h"

namespace memscope {

// Containers and arrays that change while they are read. The copy of the pools is older than their items: a container
// that has grown since then has a new buffer, and malloc has used the memory of the old one again. Therefore the head
// of a container is read again immediately before its items, and once more behind them, until both agree. A container
// that changes faster than it is read is torn: it may have more items than were found, and this says nothing about the
// others.
class ContainerRereads {
  public:
    ContainerRereads(ObjectReader& reader, const PythonPools& pools) : reader_(reader), pools_(pools) {}

    // Reads the head of a list, dict or set again if its items are outside of the pools, and corrects the copy, which
    // has the items of this head then. Returns the address of the items. 0: they are in pools, or there are none.
    Address settle(Address object, const PythonType& type);
    // True if a container has other items now than those that settle() has found.
    bool has_moved(Address object, const PythonType& type, Address items);
    // Reads an object again that was not alive when its pool was copied: a reference to it is newer. False if it is
    // not alive now either, or if too many were read again.
    bool revive(Address object);

  private:
    ObjectReader& reader_;
    const PythonPools& pools_;
    std::uint64_t revived_ = 0;
};

}  // namespace memscope
