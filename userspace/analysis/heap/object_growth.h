#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/heap/heap.h"

// The difference of two censuses of the Python objects of one process.
namespace memscope {

// An entry of a list of the later census. A change that is not known is absent. If the earlier census has read
// everything and does not list the entry, the entry has grown from 0.
template <class T>
struct Changed {
    const T* now = nullptr;  // in the later census, which must outlive this
    std::optional<std::int64_t> count_change{};
    std::optional<std::int64_t> bytes_change{};
};

// Holders are matched by address and type. A holder whose address is not in the earlier census, for example an array
// that is replaced by a longer one, is matched by path and type. The line numbers of frames in a path do not count,
// because the function that holds it continues to run. Holders without addresses that have the same path and type
// cannot be distinguished: their changes are not known. What is not known of one holder says nothing about the others.
struct HolderGrowth {
    const Holder* now = nullptr;
    std::optional<std::int64_t> length_change{};
    std::optional<std::int64_t> retained_change{};
    std::optional<std::int64_t> device_change{};
    bool is_new = false;   // not in the earlier census, which has read everything
    bool is_item = false;  // it is a new item of the container around it, whose own growth includes it
    // See HolderChange. A lower bound if `retained_change` is not known: an earlier census that lists only the largest
    // holders and not this one shows that it cannot have been larger than those that are listed, and it cannot have
    // been larger than the whole process.
    std::int64_t own_host = 0;
    std::int64_t own_device = 0;

    std::int64_t own() const;  // growth of the container itself, in bytes of host and device
};

// True if it is not known whether the container has grown. For HolderGrowth and HolderChange.
template <class Change>
bool is_unknown(const Change& change) {
    return !change.retained_change && change.own_host <= 0;
}

// All lists are complete. `holders` are ordered by own growth, so that a container that grew comes before the
// containers around it. Those that did not grow follow, by size, and without an earlier census all are ordered by size.
// The other lists keep the order of the census.
struct ObjectGrowth {
    std::vector<HolderGrowth> holders{};
    std::vector<Changed<ObjectsOfType>> types{};
    std::vector<Changed<TensorGroup>> tensors{};
    std::vector<Changed<TensorTotal>> tensor_totals{};
    std::vector<Changed<ArrayGroup>> arrays{};
};

std::uint64_t size_of(const Holder& holder);  // bytes of host and device

// True if the retained bytes of a census are complete. If its time limit was reached, objects that a container holds
// are missing, so that a difference to another census would look like growth.
bool has_sizes(const HeapCensus& census);

// `earlier`: null if there is none. Changes of retained bytes are not known if one of the two has no complete sizes.
// `between`: another census, later than `earlier`, for the holders that `earlier` does not have; null: there is none.
// Empty if `now` has no objects.
ObjectGrowth object_growth(const HeapCensus& now, const HeapCensus* earlier, const HeapCensus* between = nullptr);

// "run (train.py:88) history" -> "run (train.py) history".
std::string path_without_lines(const std::string& path);

// True if a qualified name is this type. `name` may leave out the module: "Tensor" is "torch.Tensor".
bool is_type(std::string_view qualified, std::string_view name);

// True if the container, or most of its items, are of this type.
bool holds_type(const Holder& holder, std::string_view name);

}  // namespace memscope
