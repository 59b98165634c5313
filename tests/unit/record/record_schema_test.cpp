// The format of records is written down in schema.txt. If a number, a type or a default changes, or if two members swap
// their numbers, older records are read wrongly.
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "record/fields_snapshot.h"
#include "record/shapes.h"

namespace memscope::record {
namespace record_schema_test {

constexpr const char* kFile = MEMSCOPE_SOURCE_DIR "/tests/unit/record/schema.txt";

// The name of a type or enumerator as the compiler spells it, without the namespace.
std::string short_name(std::string_view pretty, std::string_view before) {
    std::string_view rest = pretty.substr(pretty.rfind(before) + before.size());
    rest = rest.substr(0, rest.find_first_of(";],"));
    constexpr std::string_view kNamespace = "memscope::";
    if (rest.starts_with(kNamespace)) rest.remove_prefix(kNamespace.size());
    return std::string(rest);
}
template <class Named>
std::string type_name() {
    return short_name(__PRETTY_FUNCTION__, "Named = ");
}
template <auto named>
std::string value_name() {
    const std::string whole = short_name(__PRETTY_FUNCTION__, "named = ");
    return whole.substr(whole.rfind(':') + 1);
}

class Schema {
  public:
    template <class T>
    void add() {
        if (!known_.insert(type_name<T>()).second) return;
        std::string lines;
        [&]<std::size_t... i>(std::index_sequence<i...>) {
            ((lines += line<T, i>()), ...);
        }(std::make_index_sequence<kFieldCount<T>>());
        text_ += type_name<T>() + "\n" + lines;
    }
    const std::string& text() const { return text_; }

  private:
    // Number, name, type and default of a member.
    template <class T, std::size_t i>
    std::string line() {
        constexpr auto kField = std::get<i>(Fields<T>::kList);
        return fmt::format("  {} {}: {} = {}\n", kField.kNumber, value_name<kField.member>(),
                           type<typename decltype(kField)::Type>(), default_text(T{}.*kField.member));
    }
    template <class T>
    std::string enumerators_of() {
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
            std::string all;
            ((all += " " + value_name<static_cast<T>(i)>()), ...);
            return all;
        }(std::make_index_sequence<enumerators<T>()>());
    }
    template <class T>
    std::string type() {
        if constexpr (std::is_enum_v<T>)
            return enumerators<T>() == 0 ? "number" : type_name<T>() + ":" + enumerators_of<T>();
        else if constexpr (std::is_same_v<T, bool>)
            return "flag";
        else if constexpr (std::is_integral_v<T>)
            return fmt::format("{} {} bits", std::is_signed_v<T> ? "signed" : "unsigned", sizeof(T) * 8);
        else if constexpr (std::is_same_v<T, Bytes>)
            return "bytes";
        else if constexpr (kIsReal<T>)
            return std::is_same_v<T, Seconds> ? "seconds" : "double";
        else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, SharedText>)
            return std::is_same_v<T, SharedText> ? "optional text" : "text";
        else if constexpr (std::is_same_v<T, std::string_view>)
            return "word";
        else if constexpr (kIsOptional<T>)
            return "optional " + type<typename T::value_type>();
        else if constexpr (kIsVector<T>)
            return "list of " + type<typename T::value_type>();
        else if constexpr (kIsMap<T>)
            return "map of " + type<typename T::key_type>() + " to " + type<typename T::mapped_type>();
        else if constexpr (kIsPair<T>)
            return "pair of " + type<typename T::first_type>() + " and " + type<typename T::second_type>();
        else if constexpr (kIsArray<T>)
            return fmt::format("{} times {}", std::tuple_size_v<T>, type<typename T::value_type>());
        else if constexpr (kIsVariant<T>)
            return "variant of " + type<std::variant_alternative_t<0, T>>() + " and " +
                   type<std::variant_alternative_t<1, T>>();
        else if constexpr (IsConverted<T>)
            return type<decltype(Converted<T>::to(std::declval<T>()))>();
        else
            return add<T>(), type_name<T>();
    }
    template <class T>
    std::string default_text(const T& value) {
        if constexpr (std::is_enum_v<T>)
            return fmt::format("{}", static_cast<std::int64_t>(value));
        else if constexpr (std::is_integral_v<T>)
            return fmt::format("{}", value);
        else if constexpr (std::is_same_v<T, Bytes>)
            return fmt::format("{}", value.n);
        else if constexpr (kIsReal<T>)
            return fmt::format("{}", as_double(value));
        else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
            return fmt::format("\"{}\"", value);
        else if constexpr (kIsVector<T> || kIsMap<T>) {
            EXPECT_TRUE(value.empty()) << "a list that is not empty by default could never be decoded as empty";
            return "empty";
        } else if constexpr (kIsOptional<T> || std::is_same_v<T, SharedText>) {
            EXPECT_FALSE(value) << "a value that is there by default could never be decoded as absent";
            return "none";
        } else if constexpr (kIsPair<T>)
            return fmt::format("({}, {})", default_text(value.first), default_text(value.second));
        else if constexpr (kIsArray<T>) {
            std::string all;
            for (const auto& each : value) all += (all.empty() ? "" : ", ") + default_text(each);
            return "[" + all + "]";
        } else if constexpr (kIsVariant<T>)
            return std::visit(
                [&](const auto& held) { return fmt::format("{}: {}", value.index(), default_text(held)); }, value);
        else if constexpr (IsConverted<T>)
            return default_text(Converted<T>::to(value));
        else
            return members_text(value) == members_text(T{}) ? "default" : members_text(value);
    }
    template <class T>
    std::string members_text(const T& value) {
        std::string all;
        for_each_field<T>(
            [&](const auto& field) { all += (all.empty() ? "" : ", ") + default_text(value.*field.member); });
        return "{" + all + "}";
    }

    std::set<std::string> known_{};
    std::string text_{};
};

TEST(RecordSchema, FieldsKeepTheirNumberNameTypeAndDefault) {
    Schema schema;
    schema.add<DeathReport>();
    schema.add<WholeCensus>();
    if (std::getenv("MEMSCOPE_UPDATE_DOCS")) std::ofstream(kFile) << schema.text();
    std::stringstream written;
    written << std::ifstream(kFile).rdbuf();
    EXPECT_EQ(written.str(), schema.text())
        << "New fields, new enumerators at the end and new names of the same members are fine: run unit_record with "
           "MEMSCOPE_UPDATE_DOCS=1. Any other "
           "change makes older records unreadable: see userspace/record/fields.h.";
}

}  // namespace record_schema_test
}  // namespace memscope::record
