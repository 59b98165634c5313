#include "sources/heap/python/item_names.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.h"

namespace memscope {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    std::string text = "[";
    for (const std::uint64_t extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
    return text + "]";
}

// "float32": 4.
std::uint64_t element_size(std::string_view dtype) {
    const std::size_t digits = dtype.find_first_of("0123456789");
    const auto bits = digits == std::string_view::npos ? std::nullopt : parse_number(dtype.substr(digits));
    return bits && *bits >= 8 && *bits <= 128 ? *bits / 8 : 1;
}

}  // namespace

std::string ItemNames::element_of(Address container, const PythonType& type) {
    std::map<std::string, std::size_t> names, types;
    std::size_t seen = 0;
    for_items(container, type, [&](Address item) {
        const std::string name = name_of(item);
        ++names[name];
        ++types[name.substr(0, name.find(' '))];
        ++seen;
    });
    for (const auto* counted : {&names, &types})
        for (const auto& [name, times] : *counted)
            if (times * 2 > seen) return name;
    return {};
}

ItemNames::View ItemNames::view_of(Address object, const PythonType& type) {
    if (type.kind == ObjectKind::ndarray) {
        constexpr int kMostSteps = 4;
        const NumpyArray array = reader_.arrays().read(object);
        NumpyArray whole = array;
        for (int i = 0; i < kMostSteps && !whole.owns_data; ++i) {
            const Address base = reader_.memory().word(object + NumpyArrays::kBase);
            const PythonType* of = base >= ObjectData::kLowest ? reader_.types().of(base) : nullptr;
            if (of == nullptr || of->kind != ObjectKind::ndarray) return {};
            whole = reader_.arrays().read(object = base);
        }
        return {whole.data, array.bytes, whole.bytes};
    }
    if (type.kind != ObjectKind::tensor || !torch_.is_ready()) return {};
    const auto tensor = torch_.tensor(torch_.impl_of(object));
    const auto storage = tensor && tensor->storage != 0 ? torch_.storage(tensor->storage) : std::nullopt;
    if (!storage) return {};
    std::uint64_t bytes = element_size(tensor->dtype);
    for (const std::uint64_t extent : tensor->shape) bytes *= std::min<std::uint64_t>(extent, 1U << 20U);
    return {tensor->storage, bytes, storage->bytes};
}

Bytes ItemNames::storages_of_items(Address container, const PythonType& type) {
    constexpr std::size_t kAsked = 32, kInItem = 16;
    std::unordered_set<Address> storages;
    std::uint64_t seen = 0, small = 0, bytes = 0;
    reader_.last_items(container, type, kAsked, [&](Address item) {
        ++seen;
        const PythonType* its = item >= ObjectData::kLowest ? reader_.types().of(item) : nullptr;
        if (its == nullptr) return;
        bool has_small = false;
        std::size_t asked = 0;
        const auto ask = [&](Address object, const PythonType& of) {
            const View view = view_of(object, of);
            if (!view.is_small()) return;
            has_small = true;
            if (storages.insert(view.storage).second) bytes += view.storage_bytes;
        };
        ask(item, *its);
        if (is_container(its->kind) || its->kind == ObjectKind::tuple)
            reader_.references_of(item, *its, [&](Address part, Slot) {
                const PythonType* of =
                    asked++ < kInItem && part >= ObjectData::kLowest ? reader_.types().of(part) : nullptr;
                if (of != nullptr) ask(part, *of);
            });
        small += has_small ? 1 : 0;
    });
    if (2 * small <= seen || 2 * storages.size() <= small) return {};
    return Bytes{bytes / storages.size()};
}

std::string ItemNames::name_of(Address object) {
    const PythonType* type = object >= ObjectData::kLowest ? reader_.types().of(object) : nullptr;
    return type == nullptr ? std::string() : name_of(object, *type);
}

std::string ItemNames::name_of(Address object, const PythonType& its) {
    const PythonType* type = &its;
    if (type->kind == ObjectKind::lru_link) {
        constexpr std::uint64_t kResult = 48;
        const Address result = reader_.memory().word(object + kResult);
        const PythonType* of = result >= ObjectData::kLowest ? reader_.types().of(result) : nullptr;
        return of != nullptr && of->kind != ObjectKind::lru_link ? name_of(result) : std::string();
    }
    if (type->kind == ObjectKind::ndarray) {
        const NumpyArray array = reader_.arrays().read(object);
        return type->name + (array.dtype.empty() ? "" : " " + array.dtype + shape_text(array.shape));
    }
    if (type->kind == ObjectKind::tensor && torch_.is_ready())
        if (const auto tensor = torch_.tensor(torch_.impl_of(object)))
            return type->name + " " + tensor->device + " " + tensor->dtype + shape_text(tensor->shape);
    return type->name;
}

}  // namespace memscope
