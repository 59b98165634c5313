#include "sources/heap/python/python_types.h"

#include <string_view>

#include "sources/heap/python/python_pools.h"

namespace memscope {
namespace {

using namespace object_offsets;

struct KindByFlag {
    std::uint64_t flag;
    ObjectKind kind;
    std::uint64_t own_words;  // where the words of a subclass begin; 0: at the end of the base
};
constexpr KindByFlag kByFlag[] = {
    {type_flags::kInt, ObjectKind::leaf, 0},    {type_flags::kList, ObjectKind::list, 40},
    {type_flags::kTuple, ObjectKind::tuple, 0}, {type_flags::kBytes, ObjectKind::leaf, 0},
    {type_flags::kText, ObjectKind::leaf, 0},   {type_flags::kDict, ObjectKind::dict, 48},
    {type_flags::kType, ObjectKind::type, 0},
};

struct KindByName {
    std::string_view name;
    ObjectKind kind;
    std::uint64_t own_words;
};
constexpr KindByName kByName[] = {
    {"set", ObjectKind::set, 192},
    {"frozenset", ObjectKind::set, 192},
    {"collections.deque", ObjectKind::deque, 0},
    {"module", ObjectKind::module, 0},
    {"frozendict", ObjectKind::dict, 56},  // 3.15
    {"function", ObjectKind::function, 0},
    {"cell", ObjectKind::cell, 0},
    {"frame", ObjectKind::frame, 0},
    {"generator", ObjectKind::generator, 0},
    {"coroutine", ObjectKind::generator, 0},
    {"async_generator", ObjectKind::generator, 0},
    {"weakref", ObjectKind::weakref, 0},
    {"weakref.ReferenceType", ObjectKind::weakref, 0},
    {"weakproxy", ObjectKind::weakref, 0},
    {"weakref.ProxyType", ObjectKind::weakref, 0},
    {"weakcallableproxy", ObjectKind::weakref, 0},
    {"weakref.CallableProxyType", ObjectKind::weakref, 0},
    {"functools._lru_cache_wrapper", ObjectKind::lru_cache, 0},
    {"functools._lru_list_elem", ObjectKind::lru_link, 0},
    {"_thread._local", ObjectKind::thread_data, 16},
    {"hamt_bitmap_node", ObjectKind::context_node, 0},
    {"numpy.ndarray", ObjectKind::ndarray, 0},
    {"torch._C._TensorBase", ObjectKind::tensor, 32},
    {"torch._C.TensorBase", ObjectKind::tensor, 24},
    {"torch._C.StorageBase", ObjectKind::storage, 32},
    {"torch._C._StorageBase", ObjectKind::storage, 32},
    {"float", ObjectKind::leaf, 0},
    {"complex", ObjectKind::leaf, 0},
    {"NoneType", ObjectKind::leaf, 0},
    {"bytearray", ObjectKind::leaf, 0},
    {"range", ObjectKind::other, 16},
};

constexpr std::size_t kLongestName = 100;

}  // namespace

PythonTypes::PythonTypes(ObjectData& data) : data_(data), memory_(data.memory()), cache_(kCache) {
    types_.push_back(std::make_unique<PythonType>());  // index 0: no type
}

bool PythonTypes::start_from(Address dict_object) {
    if (dict_object < ObjectData::kLowest) return false;
    const Address dict = memory_.word(dict_object + kType), type = memory_.word(dict + kType);
    if (type == 0 || memory_.word(type + kType) != type || (memory_.word(type + kTypeFlags) & type_flags::kType) == 0 ||
        (memory_.word(dict + kTypeFlags) & type_flags::kDict) == 0)
        return false;
    type_type_ = type;
    return verify(type) != nullptr;
}

const PythonType& PythonTypes::add_pseudo_type(std::string name, ObjectKind kind) {
    auto type = std::make_unique<PythonType>();
    type->name = std::move(name);
    type->kind = kind;
    type->index = static_cast<std::uint32_t>(types_.size());
    types_.push_back(std::move(type));
    return *types_.back();
}

const PythonType* PythonTypes::at(Address type) {
    if (type < ObjectData::kLowest || type % 8 != 0 || type >> 56U != 0) return nullptr;
    if (const Cached& cached = cache_[type / 16 % kCache]; cached.address == type) return cached.type;
    if (pools_ != nullptr && pools_->contains(type)) return nullptr;  // a type is larger than any block
    const auto known = by_address_.find(type);
    const PythonType* found = known != by_address_.end() ? known->second : search(type);
    if (found != nullptr || depth_ == 0) cache_[type / 16 % kCache] = {type, found};
    return found;
}

const PythonType* PythonTypes::search(Address type) {
    const Address meta = memory_.word(type + kType);
    if (meta != type_type_) {
        const auto maker = by_address_.find(meta);
        const PythonType* made_by = maker != by_address_.end() ? maker->second : nullptr;
        if (made_by == nullptr && meta != type && meta >= ObjectData::kLowest &&
            memory_.word(meta + kType) == type_type_)
            made_by = verify(meta);
        if (made_by == nullptr || (made_by->flags & type_flags::kType) == 0) return nullptr;
    }
    return verify(type);
}

const PythonType* PythonTypes::verify(Address address) {
    constexpr std::uint64_t kMostBasic = std::uint64_t{1} << 20, kMostItem = std::uint64_t{1} << 16;
    constexpr unsigned kMostDepth = 200;  // a chain of bases, which a process can make up
    const std::uint64_t basic = memory_.word(address + kTypeBasic), item = memory_.word(address + kTypeItem),
                        flags = memory_.word(address + kTypeFlags);
    if (memory_.word(address) == 0 || basic < 16 || basic > kMostBasic || item > kMostItem ||
        (flags & type_flags::kReady) == 0 || types_.size() >= kMostTypes || depth_ >= kMostDepth)
        return nullptr;
    const std::string name = memory_.c_string(memory_.word(address + kTypeName), kLongestName);
    if (name.empty()) return nullptr;
    auto made = std::make_unique<PythonType>();
    PythonType& type = *made;
    type.address = address;
    type.name = name;
    type.flags = flags;
    type.basic = basic;
    type.item = item;
    type.index = static_cast<std::uint32_t>(types_.size());
    types_.push_back(std::move(made));
    by_address_[address] = &type;  // before its bases, which may lead back to it
    ++depth_;
    describe(type);
    --depth_;
    return &type;
}

void PythonTypes::describe(PythonType& type) {
    const int version = data_.layout().version;
    const std::string plain_name = type.name;
    type.heap = (type.flags & type_flags::kHeap) != 0;
    type.dict_offset = memory_.get<std::int64_t>(type.address + kTypeDictOffset);
    type.weak_offset = memory_.get<std::int64_t>(type.address + kTypeWeak);
    if ((type.flags & type_flags::kCollected) != 0) type.head += 16;
    const std::uint64_t before = version >= 312   ? type_flags::kManagedDict | type_flags::kManagedWeak
                                 : version == 311 ? type_flags::kManagedDict
                                                  : 0;
    if ((type.flags & before) != 0) type.head += 16;

    const PythonType* base = at(memory_.word(type.address + kTypeBase));
    if (base != nullptr) {
        type.kind = base->kind;
        type.scanned_from = base->scanned_from;
        type.members = base->members;
        type.ordered = base->ordered;
        type.bytearray = base->bytearray;
        type.image = base->image;
        type.module_of_torch = base->module_of_torch;
    }
    type.ordered |= plain_name == "collections.OrderedDict" && !type.heap;
    type.bytearray |= plain_name == "bytearray" && !type.heap;
    type.image |= plain_name == "ImagingCore" || plain_name.ends_with(".ImagingCore");
    bool known = false;
    for (const KindByName& named : kByName) {
        const bool may_be_heap_type = named.name.find('.') != std::string_view::npos;
        if (plain_name != named.name || (type.heap && !may_be_heap_type)) continue;
        type.kind = named.kind;
        type.scanned_from = named.own_words != 0 ? named.own_words : type.basic;
        known = true;
    }
    for (const KindByFlag& flagged : kByFlag) {
        if (known || (type.flags & flagged.flag) == 0 || (base != nullptr && base->kind == flagged.kind)) continue;
        type.kind = flagged.kind;
        type.scanned_from = flagged.own_words != 0 ? flagged.own_words : type.basic;
    }
    const bool has_attributes =
        type.basic > type.scanned_from || type.dict_offset != 0 || (type.flags & type_flags::kManagedDict) != 0;
    if (type.kind == ObjectKind::leaf && type.heap && has_attributes) type.kind = ObjectKind::other;
    if (!type.heap && plain_name == "code") data_.set_code_type(type.address);

    // PyMemberDef: name, kind, offset.
    constexpr int kObject = 6, kObjectOrError = 16;
    constexpr std::uint64_t kMemberBytes = 40, kMostMembers = 200;
    if (const Address members = memory_.word(type.address + kTypeMembers); members >= ObjectData::kLowest)
        for (Address member = members; member < members + kMemberBytes * kMostMembers; member += kMemberBytes) {
            const Address name = memory_.word(member);
            if (name == 0) break;
            const int kind = memory_.get<std::int32_t>(member + 8);
            const std::uint64_t offset = memory_.word(member + 16);
            if ((kind == kObject || kind == kObjectOrError) && offset < type.basic)
                type.members[static_cast<std::uint32_t>(offset)] = memory_.c_string(name, kLongestName);
        }
    if ((type.flags & type_flags::kException) != 0) {  // C code exposes these by functions, not by members
        const std::uint32_t traceback = version == 310 ? 32 : 40;
        type.members[24] = "args";
        type.members[traceback] = "__traceback__";
        type.members[traceback + 8] = "__context__";
        type.members[traceback + 16] = "__cause__";
    }
    if (!type.heap && plain_name == "traceback") type.members[16] = "tb_next";
    type.name = qualified_name(type);
    type.module_of_torch |= type.name == "torch.nn.modules.module.Module";
}

std::string PythonTypes::qualified_name(const PythonType& type) {
    if (!type.heap) return type.name;
    const std::string name = data_.text(memory_.word(type.address + data_.layout().type_qualname), kLongestName);
    const std::string module =
        data_.text(data_.dict_get(memory_.word(type.address + kTypeDict), "__module__"), kLongestName);
    if (name.empty() || (module.empty() && type.name.find('.') != std::string::npos)) return type.name;
    return module.empty() || module == "builtins" ? name : module + "." + name;
}

}  // namespace memscope
