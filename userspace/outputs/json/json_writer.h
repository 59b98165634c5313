#pragma once
#include <cmath>
#include <optional>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/units.h"

namespace memscope {

// rapidjson's writer for the types of the model. Sizes are exact, an absent value is null, text is always valid UTF-8.
class JsonWriter {
  public:
    void value(std::uint64_t n) { writer_.Uint64(n); }
    void value(std::int64_t n) { writer_.Int64(n); }
    void value(int n) { writer_.Int(n); }
    void value(bool b) { writer_.Bool(b); }
    void value(Bytes bytes) { writer_.Uint64(bytes.n); }
    void value(Seconds seconds) { value(seconds.count()); }
    void value(double d) { std::isfinite(d) ? writer_.Double(d) : writer_.Null(); }  // JSON has no NaN
    void value(std::string_view text) {
        const std::string utf8 = valid_utf8(text);
        writer_.String(utf8.data(), static_cast<rapidjson::SizeType>(utf8.size()));
    }
    void value(const char* text) { value(std::string_view(text)); }
    void value(std::nullptr_t) { writer_.Null(); }
    template <class T>
    void value(const std::optional<T>& maybe) {
        maybe ? value(*maybe) : value(nullptr);
    }

    void key(std::string_view name) { value(name); }  // rapidjson writes a key as it writes a string
    template <class T>
    void field(std::string_view name, const T& content) {
        key(name);
        value(content);
    }

    // body() writes the members; the braces cannot be forgotten.
    template <class Body>
    void object(Body body) {
        writer_.StartObject();
        body();
        writer_.EndObject();
    }
    template <class Body>
    void object(std::string_view name, Body body) {
        key(name);
        object(body);
    }
    template <class Body>
    void list(std::string_view name, Body body) {
        key(name);
        writer_.StartArray();
        body();
        writer_.EndArray();
    }

    // Inserts the JSON object of another writer.
    void raw_object(std::string_view name, std::string_view json) {
        key(name);
        writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
    }

    std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

  private:
    rapidjson::StringBuffer buffer_{};
    rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace memscope
