#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sources/heap/python/object_reader.h"

namespace memscope {

struct TorchTensor {
    std::string device{};  // "cuda:0"
    std::string dtype{};
    std::vector<std::uint64_t> shape{};
    Address storage = 0;  // of its StorageImpl; 0: it has none
};

struct TorchStorage {
    std::uint64_t bytes = 0;
    Address data = 0;
    bool on_device = false;
};

// The C++ objects of PyTorch: THPVariable -> TensorImpl -> StorageImpl, and the autograd graph behind a tensor. Their
// layout differs between versions and is determined from the tensors of the process:
//   head of an intrusive_ptr_target (vtable, counts)   24 bytes in 1.x, 16 in 2.x
//   THPVariable.cdata                                   a MaybeOwned (flag, pointer) until 2.9, a pointer later
//   PyObjectSlot                                        interpreter and object until 2.9, only the object later
//   optional<Device>                                    flag, type, index in 1.x; type, index, flag in 2.x
class TorchObjects {
  public:
    TorchObjects(ObjectReader& reader, PythonTypes& types);

    // Tries the layouts with objects of torch.Tensor. False if none of them fits.
    bool calibrate(std::span<const Address> tensors);
    bool is_ready() const { return ready_; }
    std::string refusal() const;  // why calibrate() failed

    Address impl_of(Address tensor) { return memory_.word(tensor + layout_.cdata); }
    // Whether a Python object belongs to the tensor. That object may be newer than the copy of the Python objects.
    bool has_python_object(Address impl) { return memory_.word(sizes_in(impl) - 8) >= ObjectData::kLowest; }
    Address storage_of(Address python_storage);  // of a torch.UntypedStorage; 0: not found
    std::optional<TorchTensor> tensor(Address impl);
    std::optional<TorchStorage> storage(Address storage);
    std::uint64_t chunk_size(Address address);  // usable bytes in a chunk of glibc; 0: not the start of a chunk

    // The class of a C++ object, from its vtable. Null: not a class of PyTorch that is followed.
    const PythonType* class_of(Address object) {
        Address& known = no_objects_[object / 16 % kNoObjects];
        if (known == object) return nullptr;
        const PythonType* type = find_class(object);
        if (type == nullptr) known = object;
        return type;
    }

    // Calls native(Address, const PythonType&, Slot) for C++ objects and python(Address, Slot) for addresses that may
    // be Python objects.
    template <class Native, class Python>
    void references_of(Address object, const PythonType& type, Native&& native, Python&& python);

  private:
    struct Layout {
        std::uint32_t cdata = 0, head = 0, slot = 0;
        bool flag_first = false;
    };
    const PythonType* find_class(Address object);
    bool agrees(Address tensor, const Layout& layout);
    // Whether a TensorImpl or a StorageImpl holds a reference to its object of Python. Usually that object holds the
    // C++ object, and the pointer back counts nothing. Until PyTorch 2.9 the lowest bit of the pointer tells. Later
    // versions mark a C++ object that has an object of Python in the highest bit of its reference count, and hold that
    // object as long as anything else refers to the C++ object.
    bool owns_wrapper(Address object, Address wrapper) {
        const std::uint64_t counts = memory_.word(object + 8);
        constexpr std::uint64_t kHasWrapper = std::uint64_t{1} << 63U;
        if ((counts & kHasWrapper) != 0) return (counts & 0xFFFFFFFFU) > 1;
        return (wrapper & 1) != 0;
    }
    bool in_libraries(Address address) const { return range_at(libraries_, address) != nullptr; }
    Address storage_in(Address impl) const { return impl + layout_.head; }
    Address sizes_in(Address impl) const { return impl + layout_.head + 32 + layout_.slot; }

    HeapCopy& memory_;
    PythonTypes& types_;
    std::vector<HeapRange> libraries_{};
    std::unordered_map<Address, const PythonType*> by_vtable_{};
    std::unordered_map<std::string, const PythonType*> by_name_{};
    static constexpr std::size_t kNoObjects = 1 << 14;
    std::vector<Address> no_objects_ = std::vector<Address>(kNoObjects);  // without a class that is followed
    Layout layout_{};
    bool ready_ = false;
    std::size_t asked_ = 0, agreed_ = 0;
};

template <class Native, class Python>
void TorchObjects::references_of(Address object, const PythonType& type, Native&& native, Python&& python) {
    const auto follow = [&](Address target, Slot slot, bool only_tensors = false) {
        if (target < ObjectData::kLowest || target % 8 != 0 || target == object) return;
        const PythonType* of = class_of(target);
        if (of != nullptr && (!only_tensors || of->kind == ObjectKind::tensor_impl)) native(target, *of, slot);
    };
    if (type.kind == ObjectKind::tensor_impl) {
        // AutogradMeta: vtable, std::string, Variable grad, Node grad_fn. A weak pointer to the node that accumulates
        // the gradient follows; it is not a reference.
        constexpr std::uint64_t kGrad = 40, kGradFn = 48, kMore = 80, kMostMeta = 512;
        follow(memory_.word(storage_in(object)), Slot{Slot::storage});
        const Address wrapper = memory_.word(sizes_in(object) - 8);
        if (owns_wrapper(object, wrapper)) python(wrapper & ~std::uint64_t{1}, Slot{Slot::python});
        if (type.name != "c10::TensorImpl")  // sparse tensors and the like consist of tensors
            for (Address at = sizes_in(object) + 112; at + 8 <= object + chunk_size(object); at += 8)
                follow(memory_.word(at), Slot{Slot::saved, at - object}, true);
        const Address meta = memory_.word(storage_in(object) + 8);
        if (meta == 0 || !in_libraries(memory_.word(meta))) return;
        follow(memory_.word(meta + kGrad), Slot{Slot::gradient});
        follow(memory_.word(meta + kGradFn), Slot{Slot::grad_fn});
        // The tensor of which this tensor is a view.
        for (std::uint64_t at = kMore; at + 8 <= std::min(chunk_size(meta), kMostMeta); at += 8)
            follow(memory_.word(meta + at), Slot{Slot::saved, at}, true);
    } else if (type.kind == ObjectKind::storage_impl) {
        const std::uint64_t chunk = chunk_size(object);  // the words behind the end belong to another block
        for (std::uint64_t at = layout_.head + 56; at < layout_.head + 80 && (chunk == 0 || at + 8 <= chunk); at += 8)
            if (const Address wrapper = memory_.word(object + at); owns_wrapper(object, wrapper))
                python(wrapper & ~std::uint64_t{1}, Slot{Slot::python});
    } else if (type.kind == ObjectKind::native) {
        constexpr std::uint64_t kMostBytes = 16384, kUsualBytes = 256;
        const std::uint64_t chunk = chunk_size(object), size = chunk != 0 ? std::min(chunk, kMostBytes) : kUsualBytes;
        const bool of_python = type.name.find("::Py") != std::string::npos;
        for (std::uint64_t at = 8; at + 8 <= size; at += 8) {
            const Address target = memory_.word(object + at);
            if (target < ObjectData::kLowest || target % 8 != 0 || target >> 56U != 0) continue;
            follow(target, Slot{Slot::saved, at});
            if (of_python) python(target, Slot{Slot::python});
            // A std::vector: begin, end, end of its memory. The words behind its end are stale.
            const Address end = memory_.word(object + at + 8), room = memory_.word(object + at + 16);
            if (at + 24 > size || target >= end || end > room || end % 8 != 0 || room - target > chunk_size(target))
                continue;
            for (Address item = target; item < end; item += 8) follow(memory_.word(item), Slot{Slot::saved, at});
            at += 16;  // its other two words are no starts of objects
        }
    }
}

}  // namespace memscope
