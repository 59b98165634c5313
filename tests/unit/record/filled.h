#pragma once
#include <cstdint>
#include <string>

#include "record/fields_snapshot.h"
#include "record/shapes.h"

// Values of the model with every part of them set, and a comparison that misses none. The comparison takes the members
// from the struct itself (members_of), not from the table of fields: a member that the table forgets differs.
namespace memscope::record::test {

// Gives every number, text and flag another value than its default, no two numbers the same. Lists get two elements.
class Filler {
  public:
    template <class T>
    void fill(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            value = !value;
        } else if constexpr (std::is_enum_v<T>) {
            constexpr std::size_t kCount = enumerators<T>();
            value = static_cast<T>(kCount == 0 ? next() : (static_cast<std::size_t>(value) + 1) % kCount);
        } else if constexpr (std::is_integral_v<T>) {
            value =
                static_cast<T>(std::is_signed_v<T> && next() % 2 == 0 ? -static_cast<std::int64_t>(next()) : next());
        } else if constexpr (std::is_same_v<T, Bytes>) {
            value.n = next() << 20U;
        } else if constexpr (kIsReal<T>) {
            value = T(static_cast<double>(next()) + 0.25);
        } else if constexpr (std::is_same_v<T, std::string>) {
            value = "text \xff " + std::to_string(next());
        } else if constexpr (std::is_same_v<T, SharedText>) {
            value = std::make_shared<const std::string>("command " + std::to_string(next()));
        } else if constexpr (kIsOptional<T>) {
            fill(value.emplace());
        } else if constexpr (kIsVector<T>) {
            for (int i = 0; i < 2; ++i) fill(value.emplace_back());
        } else if constexpr (kIsMap<T>) {
            for (int i = 0; i < 2; ++i) {
                typename T::key_type key{};
                fill(key);
                fill(value[key]);
            }
        } else if constexpr (kIsPair<T>) {
            fill(value.first);
            fill(value.second);
        } else if constexpr (kIsArray<T>) {
            for (auto& each : value) fill(each);
        } else if constexpr (kIsVariant<T>) {
            fill(value.template emplace<std::variant_size_v<T> - 1>());
        } else if constexpr (IsConverted<T>) {
            auto other = Converted<T>::to(value);
            fill(other);
            value = Converted<T>::from(other);
        } else {
            for_each_field<T>([&](const auto& field) {
                if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(field)>::Type, std::string_view>)
                    value.*field.member = a_word(field.find_word);
                else
                    fill(value.*field.member);
            });
        }
    }

  private:
    std::uint64_t next() { return ++last_; }
    static std::string_view a_word(FindWord find_word) {
        for (const std::string_view word : {failed_call(MS_FAILED_COUNT - 1), failure_reason(MS_REASON_COUNT - 1)})
            if (!find_word(word).empty()) return find_word(word);
        return {};
    }

    std::uint64_t last_ = 0;
};

template <class T>
T filled() {
    T value{};
    Filler().fill(value);
    return value;
}

// Equal in every member; 0 and -0 differ, NaN equals itself, texts are compared by content.
template <class T>
bool is_same(const T& a, const T& b) {
    if constexpr (kIsReal<T>) {
        return is_same_number(a, b);
    } else if constexpr (std::is_same_v<T, SharedText>) {
        return a && b ? *a == *b : !a && !b;
    } else if constexpr (kIsOptional<T>) {
        return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
    } else if constexpr (kIsVector<T> || kIsArray<T> || kIsMap<T>) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return is_same<std::remove_cvref_t<decltype(x)>>(x, y); });
    } else if constexpr (kIsPair<T>) {
        return is_same<std::remove_const_t<typename T::first_type>>(a.first, b.first) && is_same(a.second, b.second);
    } else if constexpr (HasTable<T>) {
        const auto left = members_of(a);
        const auto right = members_of(b);
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
            return (is_same(std::get<i>(left), std::get<i>(right)) && ...);
        }(std::make_index_sequence<kFieldCount<T>>());
    } else {
        return a == b;
    }
}

}  // namespace memscope::record::test
