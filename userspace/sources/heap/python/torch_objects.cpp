#include "sources/heap/python/torch_objects.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <iterator>
#include <memory>

namespace memscope {
namespace {

// By the number of c10::ScalarType.
constexpr const char* kElementTypes[] = {"uint8",
                                         "int8",
                                         "int16",
                                         "int32",
                                         "int64",
                                         "float16",
                                         "float32",
                                         "float64",
                                         "complex32",
                                         "complex64",
                                         "complex128",
                                         "bool",
                                         "qint8",
                                         "quint8",
                                         "qint32",
                                         "bfloat16",
                                         "quint4x2",
                                         "quint2x4",
                                         "bits1x8",
                                         "bits2x4",
                                         "bits4x2",
                                         "bits8",
                                         "bits16",
                                         "float8_e5m2",
                                         "float8_e4m3fn",
                                         "float8_e5m2fnuz",
                                         "float8_e4m3fnuz",
                                         "uint16",
                                         "uint32",
                                         "uint64",
                                         "uint1",
                                         "uint2",
                                         "uint3",
                                         "uint4",
                                         "uint5",
                                         "uint6",
                                         "uint7",
                                         "int1",
                                         "int2",
                                         "int3",
                                         "int4",
                                         "int5",
                                         "int6",
                                         "int7",
                                         "float8_e8m0fnu",
                                         "float4_e2m1fn_x2"};

// By the number of c10::DeviceType.
constexpr const char* kDevices[] = {"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
                                    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
constexpr std::uint8_t kCpu = 0, kMeta = 14;

std::string device_name(std::uint8_t type, std::int8_t index) {
    std::string name = kDevices[type];
    if (type != kCpu && index >= 0) name += ":" + std::to_string(index);
    return name;
}

// Offsets from the sizes in a TensorImpl: dimensions, up to 5 extents or a pointer to them, strides, ...
constexpr std::uint64_t kCount = 96, kElementType = 104, kDevice = 106;
constexpr std::uint64_t kInlineDimensions = 5, kMostDimensions = 64;
// Offsets from the head of a StorageImpl.
constexpr std::uint64_t kStorageDevice = 24, kStorageBytes = 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;

}  // namespace

TorchObjects::TorchObjects(ObjectReader& reader, PythonTypes& types) : memory_(reader.memory()), types_(types) {
    for (const MappedRange& range : memory_.maps().ranges)
        if (range.inode != 0 && range.readable &&
            (range.path.find("torch") != std::string::npos || range.path.find("libc10") != std::string::npos))
            libraries_.push_back({range.start, range.end});
}

const PythonType* TorchObjects::find_class(Address object) {
    constexpr std::size_t kLongestName = 500, kMostClasses = 10'000;
    const Address vtable = memory_.word(object);
    if (vtable % 8 != 0 || !in_libraries(vtable)) return nullptr;
    if (const auto known = by_vtable_.find(vtable); known != by_vtable_.end()) return known->second;
    if (by_vtable_.size() >= kMostClasses) return nullptr;
    by_vtable_[vtable] = nullptr;
    const Address info = memory_.word(vtable - 8);  // std::type_info: its own vtable, its name
    if (info < ObjectData::kLowest || info % 8 != 0) return nullptr;
    std::string mangled = memory_.c_string(memory_.word(info + 8), kLongestName);
    if (mangled.starts_with('*')) mangled.erase(0, 1);
    const auto contains = [&](std::string_view part) { return mangled.find(part) != std::string::npos; };
    if (contains("AutogradMeta") || contains("ViewMeta") || contains("UndefinedTensor")) return nullptr;
    ObjectKind kind{};
    if (contains("TensorImplE"))
        kind = ObjectKind::tensor_impl;
    else if (contains("StorageImplE"))
        kind = ObjectKind::storage_impl;
    else if (mangled.starts_with("N5torch8autograd"))
        kind = ObjectKind::native;
    else
        return nullptr;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    const std::string name = status == 0 ? plain.get() : mangled;
    const PythonType*& named = by_name_[name];
    if (named == nullptr) named = &types_.add_pseudo_type(name, kind);
    return by_vtable_[vtable] = named;
}

std::uint64_t TorchObjects::chunk_size(Address address) {
    constexpr std::uint64_t kLeast = 32, kMost = std::uint64_t{1} << 20;
    if (address % 16 != 0 || address < ObjectData::kLowest) return 0;
    const std::uint64_t bytes = memory_.word(address - 8) & ~std::uint64_t{7};
    return bytes >= kLeast && bytes % 16 == 0 && bytes <= kMost ? bytes - 8 : 0;
}

// With the right layout, the TensorImpl points back to this Python object, the extents multiply to the number of
// elements, and the device is that of the storage.
bool TorchObjects::agrees(Address tensor, const Layout& layout) {
    constexpr std::uint16_t kMostElementTypes = 64;
    const Address impl = memory_.word(tensor + layout.cdata);
    const PythonType* type = impl >= ObjectData::kLowest && impl % 8 == 0 ? class_of(impl) : nullptr;
    if (type == nullptr || type->kind != ObjectKind::tensor_impl) return false;
    const Address sizes = impl + layout.head + 32 + layout.slot;
    const std::uint64_t dimensions = memory_.word(sizes);
    if ((memory_.word(sizes - 8) & ~std::uint64_t{1}) != tensor || dimensions > kMostDimensions) return false;
    const Address extents = dimensions <= kInlineDimensions ? sizes + 8 : memory_.word(sizes + 8);
    std::uint64_t count = 1;
    for (std::uint64_t i = 0; i < dimensions; ++i) count *= memory_.word(extents + 8 * i);
    if (count != memory_.word(sizes + kCount) || memory_.get<std::uint16_t>(sizes + kElementType) >= kMostElementTypes)
        return false;
    const auto flag = memory_.get<std::uint8_t>(sizes + kDevice + (layout.flag_first ? 0 : 2));
    const auto device = memory_.get<std::uint8_t>(sizes + kDevice + (layout.flag_first ? 1 : 0));
    const Address storage = memory_.word(impl + layout.head);
    const PythonType* storage_type = storage >= ObjectData::kLowest ? class_of(storage) : nullptr;
    if (storage_type == nullptr || storage_type->kind != ObjectKind::storage_impl) return false;
    return flag == 1 && device < std::size(kDevices) &&
           device == memory_.get<std::uint8_t>(storage + layout.head + kStorageDevice);
}

bool TorchObjects::calibrate(std::span<const Address> tensors) {
    constexpr std::size_t kMostAsked = 256;
    asked_ = std::min(tensors.size(), kMostAsked);
    agreed_ = 0;
    for (const std::uint32_t cdata : {16U, 24U})
        for (const std::uint32_t head : {16U, 24U})
            for (const std::uint32_t slot : {8U, 16U})
                for (const bool flag_first : {false, true}) {
                    const Layout candidate{cdata, head, slot, flag_first};
                    std::size_t right = 0;
                    for (std::size_t i = 0; i < asked_; ++i)
                        right += agrees(tensors[i * tensors.size() / asked_], candidate) ? 1 : 0;
                    if (right <= agreed_) continue;
                    agreed_ = right;
                    layout_ = candidate;
                }
    ready_ = agreed_ > 0 && agreed_ * 2 >= asked_;  // some tensors have no storage
    return ready_;
}

std::string TorchObjects::refusal() const {
    return "no known layout of PyTorch fits: " + std::to_string(agreed_) + " of " + std::to_string(asked_) +
           " tensors agree with the best one";
}

std::optional<TorchTensor> TorchObjects::tensor(Address impl) {
    const PythonType* type = impl >= ObjectData::kLowest ? class_of(impl) : nullptr;
    if (!ready_ || type == nullptr || type->kind != ObjectKind::tensor_impl) return std::nullopt;
    const Address sizes = sizes_in(impl);
    const std::uint64_t dimensions = memory_.word(sizes);
    const Address device = sizes + kDevice + (layout_.flag_first ? 1 : 0);
    const auto device_type = memory_.get<std::uint8_t>(device);
    if (dimensions > kMostDimensions || device_type >= std::size(kDevices)) return std::nullopt;
    TorchTensor tensor;
    const Address extents = dimensions <= kInlineDimensions ? sizes + 8 : memory_.word(sizes + 8);
    for (std::uint64_t i = 0; i < dimensions; ++i) {
        const std::uint64_t extent = memory_.word(extents + 8 * i);
        if (extent > kMostBytes) return std::nullopt;  // symbolic, or torn
        tensor.shape.push_back(extent);
    }
    const auto element = memory_.get<std::uint16_t>(sizes + kElementType);
    tensor.dtype = element < std::size(kElementTypes) ? kElementTypes[element] : "dtype" + std::to_string(element);
    tensor.device = device_name(device_type, memory_.get<std::int8_t>(device + 1));
    const Address storage = memory_.word(storage_in(impl));
    const PythonType* storage_type = storage >= ObjectData::kLowest ? class_of(storage) : nullptr;
    if (storage_type != nullptr && storage_type->kind == ObjectKind::storage_impl) tensor.storage = storage;
    return tensor;
}

std::optional<TorchStorage> TorchObjects::storage(Address address) {
    const PythonType* type = address >= ObjectData::kLowest ? class_of(address) : nullptr;
    if (!ready_ || type == nullptr || type->kind != ObjectKind::storage_impl) return std::nullopt;
    TorchStorage storage;
    storage.data = memory_.word(address + layout_.head);
    storage.bytes = memory_.word(address + layout_.head + kStorageBytes);
    const auto device = memory_.get<std::uint8_t>(address + layout_.head + kStorageDevice);
    if (storage.bytes > kMostBytes || device >= std::size(kDevices)) return std::nullopt;
    storage.on_device = device != kCpu && device != kMeta;
    const bool is_torn = !storage.on_device && device != kMeta && !memory_.is_claimed(storage.data, storage.bytes);
    if (device == kMeta || storage.data == 0 || is_torn) storage.bytes = 0;
    return storage;
}

Address TorchObjects::storage_of(Address python_storage) {
    for (const std::uint64_t offset : {16, 24}) {
        const Address address = memory_.word(python_storage + offset);
        const PythonType* type = address >= ObjectData::kLowest ? class_of(address) : nullptr;
        if (type != nullptr && type->kind == ObjectKind::storage_impl) return address;
    }
    return 0;
}

}  // namespace memscope
