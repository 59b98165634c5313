#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "sources/heap/python/object_reader.h"

namespace memscope {

// The variables of running frames, read again after the copy of the pools. A variable can refer to an object that is
// newer than that copy. A job that makes a larger array in each step replaces it while the census runs: then its head,
// its shape and its elements are gone before the graph gets to them. Therefore such an array is read at once with the
// variable, until they agree, and ObjectReader remembers what was read.
class RunningVariables {
  public:
    explicit RunningVariables(ObjectReader& reader, const PythonPools& pools) : reader_(reader), pools_(pools) {}

    void read(std::span<const Address> frames);

  private:
    struct Variable {
        Address slot = 0, target = 0;  // slot 0: a temporary value, which is read once
        bool is_array = false, is_whole = false;
    };
    void find(Address frame);
    Address target_of(const Variable& variable);
    void read_slots();
    void read_targets();

    ObjectReader& reader_;
    const PythonPools& pools_;
    std::vector<Variable> variables_{};
};

}  // namespace memscope
