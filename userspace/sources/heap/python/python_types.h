#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sources/heap/python/object_data.h"

namespace memscope {

// What the reader knows about the contents of an object.
enum class ObjectKind : std::uint8_t {
    other,  // scanned word by word
    leaf,   // refers to no object: numbers, strings
    list,
    tuple,
    dict,
    set,
    type,
    module,
    function,
    cell,
    frame,      // a frame object
    running,    // the frame of a thread, which is no object
    generator,  // also coroutines
    deque,
    weakref,
    lru_cache,
    lru_link,
    thread_data,   // threading.local
    context_node,  // of the tree that holds context variables
    ndarray,
    tensor,   // THPVariable
    storage,  // THPStorage
    // C++ objects of PyTorch
    tensor_impl,
    storage_impl,
    native,
};
constexpr bool is_native(ObjectKind kind) { return kind >= ObjectKind::tensor_impl; }
constexpr bool is_container(ObjectKind kind) {
    return kind == ObjectKind::list || kind == ObjectKind::dict || kind == ObjectKind::set || kind == ObjectKind::deque;
}

struct PythonType {
    Address address = 0;  // 0: not a type of Python
    std::uint32_t index = 0;
    std::string name{};  // qualified, except for built-in types
    ObjectKind kind = ObjectKind::other;
    bool heap = false;     // made at run time: its objects hold a reference to it
    bool ordered = false;  // collections.OrderedDict
    bool bytearray = false;
    bool image = false;            // the pixels of PIL.Image.Image
    bool module_of_torch = false;  // torch.nn.Module and its subclasses
    std::uint64_t flags = 0;
    std::uint32_t head = 0;                          // bytes before its objects: GC links, attributes
    std::uint64_t basic = 0;                         // tp_basicsize
    std::uint64_t item = 0;                          // tp_itemsize
    std::uint64_t scanned_from = 16;                 // offset of the first word whose meaning is not known
    std::int64_t dict_offset = 0, weak_offset = 0;   // 0: none
    std::map<std::uint32_t, std::string> members{};  // by offset: __slots__, members of C types

    // A fixed size that is not in tp_itemsize.
    bool has_fixed_size() const {
        return item == 0 && (flags & (type_flags::kInlineValues | type_flags::kText)) == 0 && kind != ObjectKind::type;
    }
};

// The types of a process. An address is accepted as a type only if its own type is a metatype, and so on up to `type`.
class PythonTypes {
  public:
    explicit PythonTypes(ObjectData& data);

    // Finds `type` from a dict (sys.modules). False if that is not a dict.
    bool start_from(Address dict);

    const PythonType* at(Address type);  // null: not a type
    const PythonType* of(Address object) { return at(data_.memory().word(object + object_offsets::kType)); }
    const PythonType& operator[](std::uint32_t index) const { return *types_[index]; }
    std::size_t size() const { return types_.size(); }
    const PythonType& add_pseudo_type(std::string name, ObjectKind kind);
    // An address in one of these pools is not a type, because a type is larger than any block.
    void set_pools(const class PythonPools* pools) { pools_ = pools; }

  private:
    static constexpr std::size_t kMostTypes = 50'000;  // the graph has 16 bits for a type
    static constexpr std::size_t kCache = 1 << 15;
    struct Cached {
        Address address = 0;
        const PythonType* type = nullptr;  // null: not a type
    };
    const PythonType* search(Address type);
    const PythonType* verify(Address type);
    void describe(PythonType& type);
    std::string qualified_name(const PythonType& type);

    ObjectData& data_;
    HeapCopy& memory_;
    const PythonPools* pools_ = nullptr;
    std::vector<std::unique_ptr<PythonType>> types_{};
    std::unordered_map<Address, PythonType*> by_address_{};
    std::vector<Cached> cache_;
    Address type_type_ = 0;
    unsigned depth_ = 0;
};

}  // namespace memscope
