#pragma once
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace memscope {

// Fields of an object out of a file that anybody may have written: what is missing, of another type or out of range is
// absent. A value that is no object has no fields.
class JsonFields {
  public:
    explicit JsonFields(const nlohmann::json& value) : value_(value) {}

    const nlohmann::json* find(const char* name) const {
        if (!value_.is_object()) return nullptr;
        const auto found = value_.find(name);
        return found == value_.end() || found->is_null() ? nullptr : &*found;
    }
    JsonFields object(const char* name) const {
        static const nlohmann::json nothing;
        const nlohmann::json* found = find(name);
        return JsonFields(found ? *found : nothing);
    }
    bool has(const char* name) const { return find(name) != nullptr; }

    std::optional<Bytes> bytes(const char* name) const {
        const nlohmann::json* found = find(name);
        return found && found->is_number_unsigned() ? std::optional(Bytes{found->get<std::uint64_t>()}) : std::nullopt;
    }
    std::uint64_t count(const char* name) const { return bytes(name).value_or(Bytes{}).n; }
    std::optional<std::int64_t> whole(const char* name) const {
        const nlohmann::json* found = find(name);
        if (!found || !found->is_number_integer()) return std::nullopt;
        if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
        return found->get<std::int64_t>();
    }
    std::optional<int> small(const char* name) const {
        const auto number = whole(name);
        return number && *number >= INT32_MIN && *number <= INT32_MAX ? std::optional(static_cast<int>(*number))
                                                                      : std::nullopt;
    }
    // Numbers and times that can be added up and shown: a trillion seconds are enough for anybody.
    std::optional<double> number(const char* name) const {
        constexpr double kMost = 1e18;
        const nlohmann::json* found = find(name);
        if (!found || !found->is_number()) return std::nullopt;
        const double value = found->get<double>();
        return std::abs(value) <= kMost ? std::optional(value) : std::nullopt;
    }
    double time(const char* name) const { return std::min(std::max(number(name).value_or(0), 0.0), 1e12); }
    std::optional<Seconds> seconds(const char* name) const {
        const auto value = number(name);
        return value ? std::optional(Seconds(*value)) : std::nullopt;
    }
    bool flag(const char* name, bool otherwise) const {
        const nlohmann::json* found = find(name);
        return found && found->is_boolean() ? found->get<bool>() : otherwise;
    }
    std::string text(const char* name, std::size_t most = 2000) const {
        const nlohmann::json* found = find(name);
        return found && found->is_string() ? found->get_ref<const std::string&>().substr(0, most) : std::string();
    }
    // The word among `words` whose name stands there.
    template <class Words>
    auto word(const char* name, const Words& words, auto name_of) const
        -> std::optional<std::decay_t<decltype(words[0])>> {
        const std::string given = text(name);
        for (const auto& each : words)
            if (name_of(each) == given) return each;
        return std::nullopt;
    }
    // Calls visit(JsonFields) for each of at most `most` elements.
    void each(const char* name, std::size_t most, auto visit) const {
        const nlohmann::json* found = find(name);
        if (!found || !found->is_array()) return;
        for (std::size_t i = 0; i < std::min(found->size(), most); ++i) visit(JsonFields((*found)[i]));
    }
    const nlohmann::json& value() const { return value_; }

  private:
    const nlohmann::json& value_;
};

}  // namespace memscope
