#pragma once
#include <exception>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "record/shapes.h"

// Encodes and decodes values in the wire format of Protocol Buffers:
// - unsigned numbers, enumerators, flags, Bytes: varint
// - signed numbers: zigzag varint
// - double, Seconds: 8 bytes
// - string, word: bytes
// - struct, pair, array, variant: message; an element of an array or variant has its index + 1 as its number
// - vector: its field, once for each element
// - map: its field, once for each entry: message {1: key, 2: value}
// - optional, shared_ptr: the value, or no field
// - optional vector: message {1: the vector}
//
// A member that has the default value of its struct is left out. All types here are trees of known depth, so a decoded
// value cannot nest deeper than the tables do.
namespace memscope::record {

// Thrown by the decoder and caught in record.cpp, as are the exceptions of protozero.
struct Refusal : std::exception {
    explicit Refusal(const char* why) : reason(why) {}
    const char* what() const noexcept override { return reason; }
    const char* reason;
};

// Limits of decoding, because a record can be forged.
struct Bounds {
    // As much as http_get_unix() accepts from a watcher. A snapshot of 5,000 processes has 1 to 2 MB.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
    // Elements of all lists and maps together: twice as many as 5,000 targets with 100 entries each.
    static constexpr std::size_t kMostElements = 1'000'000;
    // The kernel's longest path has 4 KiB, and command lines are cut. Sentences can name several of them.
    static constexpr std::size_t kMostText = std::size_t{1} << 20U;
    // An empty element takes two bytes of a record, but a TargetSnapshot takes more than 1 KiB of memory. Therefore the
    // memory that decoding allocates is limited by the size of the record. 16 MiB hold 5,000 targets that have only a
    // name.
    static constexpr std::size_t kMostExpansion = 32;
    static constexpr std::size_t kAlwaysAllowed = std::size_t{16} << 20U;
};

class Budget {
  public:
    explicit Budget(std::size_t record_bytes)
        : bytes_(Bounds::kAlwaysAllowed + Bounds::kMostExpansion * record_bytes) {}

    void add_element(std::size_t bytes) {
        if (elements_ == 0) throw Refusal("has more elements than a record may have");
        --elements_;
        add_bytes(bytes);
    }
    void add_text(std::size_t bytes) {
        if (bytes > Bounds::kMostText) throw Refusal("has a longer text than a record may have");
        add_bytes(bytes);
    }

  private:
    void add_bytes(std::size_t bytes) {
        if (bytes > bytes_) throw Refusal("would take more memory than a record of its size may take");
        bytes_ -= bytes;
    }

    std::size_t bytes_;
    std::size_t elements_ = Bounds::kMostElements;
};

// ---- encoder

struct Sink {
    protozero::pbf_writer& writer;
    const std::string& bytes;  // the output of the writer so far, in all messages
};

template <class Body>
void put_message(Sink& sink, std::uint32_t number, bool required, Body body) {
    const std::size_t before = sink.bytes.size();
    {
        protozero::pbf_writer writer(sink.writer, number);
        Sink inner{writer, sink.bytes};
        body(inner);
    }
    // protozero removes an empty message again.
    if (required && sink.bytes.size() == before) sink.writer.add_bytes(number, "", 0);
}

template <class T>
const T& default_of() {
    static const T value{};
    return value;
}

template <class T>
void put_number(Sink& sink, std::uint32_t number, const T& value) {
    if constexpr (kIsReal<T>)
        sink.writer.add_double(number, as_double(value));
    else if constexpr (std::is_same_v<T, Bytes>)
        sink.writer.add_uint64(number, value.n);
    else if constexpr (std::is_enum_v<T>)
        sink.writer.add_uint64(number, static_cast<std::uint64_t>(value));
    else if constexpr (std::is_signed_v<T>)
        sink.writer.add_sint64(number, value);
    else
        sink.writer.add_uint64(number, value);
}

// `otherwise`: the value that the decoder uses if there is no field, so an equal value is left out. Null: the field is
// always written, because its presence is information.
template <class T>
void put(Sink& sink, std::uint32_t number, const T& value, const T* otherwise) {
    const bool required = otherwise == nullptr;
    if constexpr (kIsWhole<T> || kIsReal<T>) {
        if (required || !is_same_number(value, *otherwise)) put_number(sink, number, value);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        if (required || value != *otherwise) sink.writer.add_bytes(number, value.data(), value.size());
    } else if constexpr (kIsOptional<T> || kIsVector<T> || kIsMap<T> || std::is_same_v<T, SharedText>) {
        if (required)
            return put_message(sink, number, true, [&](Sink& inner) { put(inner, 1, value, &default_of<T>()); });
        if constexpr (kIsVector<T>)
            for (const auto& each : value) put<typename T::value_type>(sink, number, each, nullptr);
        else if constexpr (kIsMap<T>)
            for (const auto& [key, each] : value)
                put_message(sink, number, true, [&](Sink& entry) {
                    put(entry, 1, key, &default_of<typename T::key_type>());
                    put(entry, 2, each, &default_of<typename T::mapped_type>());
                });
        else if (value)
            put(sink, number, *value, static_cast<decltype(&*value)>(nullptr));
    } else if constexpr (kIsPair<T>) {
        const T& fallback = required ? default_of<T>() : *otherwise;
        put_message(sink, number, required, [&](Sink& inner) {
            put(inner, 1, value.first, &fallback.first);
            put(inner, 2, value.second, &fallback.second);
        });
    } else if constexpr (kIsArray<T>) {
        const T& fallback = required ? default_of<T>() : *otherwise;
        put_message(sink, number, required, [&](Sink& inner) {
            for (std::size_t i = 0; i < value.size(); ++i)
                put(inner, static_cast<std::uint32_t>(i + 1), value[i], &fallback[i]);
        });
    } else if constexpr (kIsVariant<T>) {
        std::visit(
            [&]<class Each>(const Each& each) {
                if (!required && std::is_empty_v<Each> && value.index() == otherwise->index()) return;
                put_message(sink, number, true, [&](Sink& inner) {
                    put<Each>(inner, static_cast<std::uint32_t>(value.index() + 1), each, nullptr);
                });
            },
            value);
    } else if constexpr (IsConverted<T>) {
        const auto counts = Converted<T>::to(value);
        const auto fallback = Converted<T>::to(required ? default_of<T>() : *otherwise);
        put(sink, number, counts, required ? nullptr : &fallback);
    } else {
        put_message(sink, number, required,
                    [&](Sink& inner) { put_members(inner, value, required ? default_of<T>() : *otherwise); });
    }
}

template <class T>
void put_members(Sink& sink, const T& value, const T& otherwise) {
    static_assert(lists_every_member<T>(), "the table of fields does not list the members in their order");
    for_each_field<T>(
        [&](const auto& field) { put(sink, field.kNumber, value.*field.member, &(otherwise.*field.member)); });
}

// ---- decoder

using Reader = protozero::pbf_reader;
using WireType = protozero::pbf_wire_type;

// protozero asserts the type instead of checking it.
inline void expect(const Reader& reader, WireType type) {
    if (!reader.has_wire_type(type)) throw Refusal("has a field of another type");
}

template <class T>
void take_number(Reader& reader, T& value) {
    if constexpr (kIsReal<T>) {
        expect(reader, WireType::fixed64);
        value = T(reader.get_double());
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        expect(reader, WireType::varint);
        const std::int64_t number = reader.get_sint64();
        if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
            throw Refusal("has a number that is out of range");
        value = static_cast<T>(number);
    } else {
        expect(reader, WireType::varint);
        const std::uint64_t number = reader.get_uint64();
        if constexpr (std::is_same_v<T, Bytes>) {
            value.n = number;
        } else if constexpr (std::is_enum_v<T>) {
            // An enumerator of a later version must not be shown as another one.
            constexpr std::size_t kCount = enumerators<T>();
            using Base = std::underlying_type_t<T>;
            if (kCount > 0 ? number >= kCount : number > std::numeric_limits<Base>::max())
                throw Refusal("has a value that this version of memscope does not know");
            value = static_cast<T>(number);
        } else {
            if (number > std::numeric_limits<T>::max()) throw Refusal("has a number that is out of range");
            value = static_cast<T>(number);
        }
    }
}

inline std::string_view take_text(Reader& reader, Budget& budget) {
    expect(reader, WireType::length_delimited);
    const auto view = reader.get_view();
    budget.add_text(view.size());
    return {view.data(), view.size()};
}

// Calls visit(number, reader) for each field. If visit returns false, the field is unknown and is skipped.
template <class Visit>
void take_message(Reader& reader, Visit visit) {
    expect(reader, WireType::length_delimited);
    for (Reader inner = reader.get_message(); inner.next();)
        if (!visit(inner.tag(), inner)) inner.skip();
}

constexpr std::size_t kNodeBytes = 64;   // of a node of a map or the block of a shared_ptr, without the value
constexpr std::size_t kVectorSpare = 2;  // a vector has room for up to twice its elements

template <class T>
void take(Reader& reader, T& value, Budget& budget);

// Like take(), but an optional, vector or map is wrapped into a message of its own.
template <class T>
void take_required(Reader& reader, T& value, Budget& budget) {
    if constexpr (kIsOptional<T> || kIsVector<T> || kIsMap<T> || std::is_same_v<T, SharedText>)
        take_message(reader, [&](std::uint32_t number, Reader& inner) {
            if (number != 1) return false;
            take(inner, value, budget);
            return true;
        });
    else
        take(reader, value, budget);
}

template <class T>
void take_members(Reader& reader, T& value, Budget& budget);

template <class T, std::size_t... index>
bool take_alternative(std::uint32_t number, Reader& reader, T& value, Budget& budget, std::index_sequence<index...>) {
    return ((number == index + 1 && (take_required(reader, value.template emplace<index>(), budget), true)) || ...);
}

// Decodes one field into a value, or appends one element to a vector or map.
template <class T>
void take(Reader& reader, T& value, Budget& budget) {
    if constexpr (kIsWhole<T> || kIsReal<T>) {
        take_number(reader, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        value = take_text(reader, budget);
    } else if constexpr (std::is_same_v<T, SharedText>) {
        const auto text = take_text(reader, budget);
        budget.add_element(kNodeBytes);
        value = std::make_shared<const std::string>(text);
    } else if constexpr (kIsOptional<T>) {
        take_required(reader, value.emplace(), budget);
    } else if constexpr (kIsVector<T>) {
        budget.add_element(kVectorSpare * sizeof(typename T::value_type));
        take_required(reader, value.emplace_back(), budget);
    } else if constexpr (kIsMap<T>) {
        budget.add_element(sizeof(typename T::value_type) + kNodeBytes);
        typename T::key_type key{};
        typename T::mapped_type mapped{};
        take_message(reader, [&](std::uint32_t number, Reader& inner) {
            if (number == 1)
                take(inner, key, budget);
            else if (number == 2)
                take(inner, mapped, budget);
            return number <= 2;
        });
        value.insert_or_assign(std::move(key), std::move(mapped));
    } else if constexpr (kIsPair<T>) {
        take_message(reader, [&](std::uint32_t number, Reader& inner) {
            if (number == 1)
                take(inner, value.first, budget);
            else if (number == 2)
                take(inner, value.second, budget);
            return number <= 2;
        });
    } else if constexpr (kIsArray<T>) {
        take_message(reader, [&](std::uint32_t number, Reader& inner) {
            if (number > value.size()) return false;  // of a later version
            take(inner, value[number - 1], budget);
            return true;
        });
    } else if constexpr (kIsVariant<T>) {
        take_message(reader, [&](std::uint32_t number, Reader& inner) {
            if (!take_alternative(number, inner, value, budget, std::make_index_sequence<std::variant_size_v<T>>()))
                throw Refusal("has a value that this version of memscope does not know");
            return true;
        });
    } else if constexpr (IsConverted<T>) {
        auto counts = Converted<T>::to(value);
        take(reader, counts, budget);
        value = Converted<T>::from(counts);
    } else {
        expect(reader, WireType::length_delimited);
        Reader inner = reader.get_message();
        take_members(inner, value, budget);
    }
}

template <class Field>
void take_word(Reader& reader, std::string_view& value, const Field& field, Budget& budget) {
    const std::string_view text = take_text(reader, budget);
    value = field.find_word(text);
    if (value.empty() && !text.empty()) throw Refusal("has a value that this version of memscope does not know");
}

template <class T>
void take_members(Reader& reader, T& value, Budget& budget) {
    while (reader.next()) {
        const std::uint32_t number = reader.tag();
        const auto take_if = [&](const auto& field) {
            if (number != field.kNumber) return false;
            if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(field)>::Type, std::string_view>)
                take_word(reader, value.*field.member, field, budget);
            else
                take(reader, value.*field.member, budget);
            return true;
        };
        const bool known = std::apply([&](const auto&... each) { return (take_if(each) || ...); }, Fields<T>::kList);
        if (!known) reader.skip();
    }
}

}  // namespace memscope::record
