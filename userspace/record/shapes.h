#pragma once
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"
#include "record/fields.h"

// The kinds of types that a record can contain, for the codec and all other code that visits the tables.
namespace memscope::record {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class K, class V>
inline constexpr bool kIsMap<std::map<K, V>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;
template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;

using SharedText = std::shared_ptr<const std::string>;

// Numbers that take a varint: sizes, counters, enumerators, flags.
template <class T>
inline constexpr bool kIsWhole = std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, Bytes>;
// Numbers that take 8 bytes.
template <class T>
inline constexpr bool kIsReal = std::is_same_v<T, double> || std::is_same_v<T, Seconds>;

inline double& as_double(double& value) { return value; }
inline double as_double(const double& value) { return value; }
inline double as_double(const Seconds& value) { return value.count(); }

// True if both values are encoded to the same bytes: 0 and -0 differ, NaN equals itself.
template <class T>
bool is_same_number(const T& a, const T& b) {
    if constexpr (kIsReal<T>)
        return std::bit_cast<std::uint64_t>(as_double(a)) == std::bit_cast<std::uint64_t>(as_double(b));
    else
        return a == b;
}

// Calls visit(field) for each field of a struct.
template <class T, class Visit>
constexpr void for_each_field(Visit visit) {
    std::apply([&](const auto&... each) { (visit(each), ...); }, Fields<T>::kList);
}

// Calls visit.real(double&) for every number of 8 bytes, and visit.elements(n) for the size of every list and map. Keys
// of maps have no such numbers and are left out.
template <class T, class Visit>
void walk(T& value, Visit& visit) {
    if constexpr (std::is_same_v<T, double>) {
        visit.real(value);
    } else if constexpr (std::is_same_v<T, Seconds>) {
        double seconds = value.count();
        visit.real(seconds);
        value = Seconds(seconds);
    } else if constexpr (kIsOptional<T>) {
        if (value) walk(*value, visit);
    } else if constexpr (kIsVector<T>) {
        visit.elements(value.size());
        for (auto& each : value) walk(each, visit);
    } else if constexpr (kIsMap<T>) {
        visit.elements(value.size());
        for (auto& [key, each] : value) walk(each, visit);
    } else if constexpr (kIsArray<T>) {
        for (auto& each : value) walk(each, visit);
    } else if constexpr (HasTable<T>) {
        for_each_field<T>([&](const auto& field) { walk(value.*field.member, visit); });
    } else {
        static_assert(kIsWhole<T> || std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> ||
                      std::is_same_v<T, SharedText> || IsConverted<T> || std::is_same_v<T, Limit>);
    }
}

}  // namespace memscope::record
