#include "sources/heap/python/numpy_arrays.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace memscope {
namespace {

constexpr std::uint64_t kData = 16, kDimensions = 24, kShape = 32, kStrides = 40, kFlags = 64;  // PyArrayObject
constexpr std::int32_t kOwnsData = 4;                                                           // NPY_ARRAY_OWNDATA

// By the type number of numpy. Size 0: each dtype has its own.
struct ElementType {
    const char* name;
    std::uint64_t size;
};
constexpr ElementType kElementTypes[] = {
    {"bool", 1},    {"int8", 1},      {"uint8", 1},     {"int16", 2},       {"uint16", 2},      {"int32", 4},
    {"uint32", 4},  {"int64", 8},     {"uint64", 8},    {"longlong", 8},    {"ulonglong", 8},   {"float32", 4},
    {"float64", 8}, {"float128", 16}, {"complex64", 8}, {"complex128", 16}, {"complex256", 32}, {"object", 8},
    {"bytes", 0},   {"str", 0},       {"void", 0},      {"datetime64", 8},  {"timedelta64", 8}, {"float16", 2}};
constexpr std::uint32_t kObjects = 17;

}  // namespace

NumpyArray NumpyArrays::read(Address address) {
    if (const auto known = remembered_.find(address); known != remembered_.end()) return known->second;
    NumpyArray array = parse(address);
    return has_elements(array) || was_replaced(address, array) ? array : NumpyArray{};  // a torn array
}

// True if the memory of the elements is gone because the array was replaced or freed since it was copied: then its head
// is another one now. The size is believed if the process has so much memory, and if shape and strides agree: the
// memory of the shape, too, may have been used again before it was copied.
bool NumpyArrays::was_replaced(Address address, const NumpyArray& copied) {
    if (most_bytes_ == 0)
        for (const MappedRange& range : memory_.maps().ranges)
            if (range.writable && !range.shared && range.inode == 0) most_bytes_ += range.end - range.start;
    std::array<std::uint64_t, 3> now{};
    if (copied.bytes > most_bytes_ || !is_packed(address, copied) ||
        !memory_.read_past(address, std::as_writable_bytes(std::span(now))))
        return false;
    return now[0] != memory_.word(address) || now[2] != copied.data;
}

// True if the strides are those of an array whose elements lie one behind the other, in any order of its dimensions. So
// it is with nearly all arrays that own their data.
bool NumpyArrays::is_packed(Address address, const NumpyArray& copied) {
    if (copied.count == 0) return true;
    const Address strides = memory_.word(address + kStrides);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> dimensions;  // stride and extent
    for (std::size_t i = 0; i < copied.shape.size(); ++i)
        if (copied.shape[i] > 1) dimensions.emplace_back(memory_.word(strides + 8 * i), copied.shape[i]);
    std::ranges::sort(dimensions);
    std::uint64_t expected = copied.bytes / copied.count;
    for (const auto& [stride, extent] : dimensions) {
        if (stride != expected) return false;
        expected *= extent;
    }
    return true;
}

bool NumpyArrays::remember(Address address) {
    constexpr std::uint64_t kMostShape = std::uint64_t{64} * 8;
    constexpr std::size_t kMost = 20'000;
    const Address shape = memory_.word(address + kShape);
    const auto dimensions = static_cast<std::uint64_t>(memory_.get<std::uint32_t>(address + kDimensions));
    if (const HeapRange words{shape, shape + std::min(8 * dimensions, kMostShape)}; shape >= ObjectData::kLowest)
        memory_.copy_again({&words, 1});
    NumpyArray array = parse(address);
    if (array.dtype.empty() || !array.owns_data) return true;  // there is nothing that can be lost
    // The first and the last byte, from the process itself: the list of mappings and the copy are older.
    std::byte first{}, last{};
    if (array.bytes == 0 || !memory_.read_past(array.data, {&first, 1}) ||
        !memory_.read_past(array.data + array.bytes - 1, {&last, 1}))
        return array.bytes == 0;
    if (remembered_.size() < kMost) remembered_.insert_or_assign(address, std::move(array));
    return true;
}

NumpyArray NumpyArrays::parse(Address address) {
    constexpr std::uint64_t kTypeNumber = 28, kSizeIn1 = 32, kSizeIn2 = 40;  // PyArray_Descr
    constexpr std::int32_t kMostDimensions = 64;
    constexpr std::uint64_t kMostElementBytes = std::uint64_t{1} << 30, kMostCount = std::uint64_t{1} << 44;
    NumpyArray array;
    const auto dimensions = memory_.get<std::int32_t>(address + kDimensions);
    const Address dtype = memory_.word(address + kDtype), shape = memory_.word(address + kShape);
    if (dimensions < 0 || dimensions > kMostDimensions || dtype < ObjectData::kLowest) return array;
    const auto number = memory_.get<std::uint32_t>(dtype + kTypeNumber);
    const bool is_known = number < std::size(kElementTypes);
    const std::uint64_t usual = is_known ? kElementTypes[number].size : 0;
    const std::uint64_t in_1 = memory_.get<std::uint32_t>(dtype + kSizeIn1), in_2 = memory_.word(dtype + kSizeIn2);
    if (element_size_ == 0 && usual != 0) {
        if (in_2 == usual && in_1 != usual)
            element_size_ = kSizeIn2;
        else if (in_1 == usual)
            element_size_ = kSizeIn1;
    }
    const std::uint64_t element = element_size_ == kSizeIn2 ? in_2 : in_1;
    if (element == 0 || element > kMostElementBytes) return array;
    std::uint64_t count = 1;
    for (std::int32_t i = 0; i < dimensions; ++i) {
        const std::uint64_t extent = memory_.word(shape + 8 * static_cast<std::uint64_t>(i));
        if (extent > kMostCount || count > kMostCount) return array;
        count *= extent;
        array.shape.push_back(extent);
    }
    if (count > kMostCount) return array;
    array.dtype = is_known ? kElementTypes[number].name : "dtype" + std::to_string(number);
    if (usual == 0) array.dtype += std::to_string(element);
    array.count = count;
    array.bytes = count * element;
    array.data = memory_.word(address + kData);
    array.holds_objects = number == kObjects;
    array.owns_data = (memory_.get<std::int32_t>(address + kFlags) & kOwnsData) != 0;
    return array;
}

}  // namespace memscope
