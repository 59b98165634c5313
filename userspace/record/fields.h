#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

// The tables that say which members of the model a record has, and under which numbers. The encoder and the decoder are
// generic over these tables (codec.h), so that they cannot differ.
//
// Rules for a change:
// - A new member gets a new number. Its default must mean "not known", because older records do not have it.
// - A number is never given to another member, and a member never changes its type or its default value: a member that
//   has its default value is not written. tests/unit/record/schema.txt lists all three and fails on a change.
// - A member that is removed leaves its number unused.
// - Enumerators are written as their numbers: new ones go to the end.
namespace memscope::record {

// The table of a struct: `list` is a tuple of Field, in the order of the members.
template <class T>
struct Fields;

template <class T>
concept HasTable = requires { Fields<T>::kList; };

// A class with private members is recorded as another value that has the same content.
template <class T>
struct Converted;

template <class T>
concept IsConverted = requires(const T& value) { Converted<T>::to(value); };

// The word of a fixed list that equals `text`. Empty: the list does not contain it.
using FindWord = std::string_view (*)(std::string_view text);

template <std::uint32_t Number, class Struct, class Member>
struct Field {
    static constexpr std::uint32_t kNumber = Number;
    using Type = Member;
    Member Struct::* member;
    FindWord find_word = nullptr;  // of a string_view
};

// The wire format has 29 bits for a number. Below 16 the number and the type take one byte together.
constexpr std::uint32_t kMostNumber = 1000;

template <std::uint32_t Number, class Struct, class Member>
constexpr auto field(Member Struct::* member) {
    static_assert(Number >= 1 && Number <= kMostNumber, "numbers of fields are 1 to 1000");
    static_assert(!std::is_same_v<Member, std::string_view>, "use word_field: a string_view owns nothing");
    return Field<Number, Struct, Member>{member};
}

template <std::uint32_t Number, class Struct>
constexpr auto word_field(std::string_view Struct::* member, FindWord find_word) {
    static_assert(Number >= 1 && Number <= kMostNumber, "numbers of fields are 1 to 1000");
    return Field<Number, Struct, std::string_view>{member, find_word};
}

template <class... Field>
constexpr auto fields(Field... field) {
    std::array<std::uint32_t, sizeof...(Field)> numbers{Field::kNumber...};
    std::ranges::sort(numbers);
    // Not a constant expression if two numbers are equal, so that the table does not compile.
    if (std::ranges::adjacent_find(numbers) != numbers.end()) throw "two fields have the same number";
    return std::tuple(field...);
}

template <class T>
constexpr std::size_t kFieldCount = std::tuple_size_v<std::remove_cvref_t<decltype(Fields<T>::kList)>>;

// All members of a struct, as references. A structured binding needs exactly as many names as the struct has members,
// so this does not build for a struct that has a member without a field.
template <class T>
constexpr auto members_of(T& value) {
    constexpr std::size_t kCount = kFieldCount<std::remove_const_t<T>>;
    static_assert(kCount <= 28, "add a line below for a struct of so many members");
    if constexpr (kCount == 0) {
        static_assert(std::is_empty_v<T>, "a member of this struct is missing in its table of fields");
        return std::tuple<>();
    }
#define MEMSCOPE_BIND(count, ...)         \
    else if constexpr (kCount == count) { \
        auto& [__VA_ARGS__] = value;      \
        return std::tie(__VA_ARGS__);     \
    }
    // clang-format off
    MEMSCOPE_BIND(1, a)
    MEMSCOPE_BIND(2, a, b)
    MEMSCOPE_BIND(3, a, b, c)
    MEMSCOPE_BIND(4, a, b, c, d)
    MEMSCOPE_BIND(5, a, b, c, d, e)
    MEMSCOPE_BIND(6, a, b, c, d, e, f)
    MEMSCOPE_BIND(7, a, b, c, d, e, f, g)
    MEMSCOPE_BIND(8, a, b, c, d, e, f, g, h)
    MEMSCOPE_BIND(9, a, b, c, d, e, f, g, h, i)
    MEMSCOPE_BIND(10, a, b, c, d, e, f, g, h, i, j)
    MEMSCOPE_BIND(11, a, b, c, d, e, f, g, h, i, j, k)
    MEMSCOPE_BIND(12, a, b, c, d, e, f, g, h, i, j, k, l)
    MEMSCOPE_BIND(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
    MEMSCOPE_BIND(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
    MEMSCOPE_BIND(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
    MEMSCOPE_BIND(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
    MEMSCOPE_BIND(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
    MEMSCOPE_BIND(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
    MEMSCOPE_BIND(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
    MEMSCOPE_BIND(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
    MEMSCOPE_BIND(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
    MEMSCOPE_BIND(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
    MEMSCOPE_BIND(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
    MEMSCOPE_BIND(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
    MEMSCOPE_BIND(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
    MEMSCOPE_BIND(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
    MEMSCOPE_BIND(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa)
    MEMSCOPE_BIND(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb)
    // clang-format on
#undef MEMSCOPE_BIND
}

template <class... Field>
std::tuple<typename Field::Type&...> types_of(const std::tuple<Field...>& list);

// True if the table lists every member of the struct, each in its place. Used in a static_assert by the codec.
template <class T>
constexpr bool lists_every_member() {
    return std::is_same_v<decltype(members_of(std::declval<T&>())), decltype(types_of(Fields<T>::kList))>;
}

// The number of enumerators of an enum that counts from 0. The compiler prints a value without an enumerator as a cast.
// 0 for an enum without enumerators: a number with a type of its own, such as CgroupId.
template <class Enum, Enum value>
constexpr bool is_enumerator() {
    constexpr std::string_view kAll = __PRETTY_FUNCTION__;
    constexpr std::string_view kBefore = "value = ";
    return kAll[kAll.rfind(kBefore) + kBefore.size()] != '(';
}
template <class Enum, std::size_t from = 0>
constexpr std::size_t enumerators() {
    if constexpr (is_enumerator<Enum, static_cast<Enum>(from)>())
        return enumerators<Enum, from + 1>();
    else
        return from;
}

}  // namespace memscope::record
