#pragma once
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// Packs values into bytes, for a message between two processes of the same program. A struct declares its members by
// `auto fields() { return std::tie(a, b); }`. A struct that is trivially copyable needs no declaration. File
// descriptors are sent separately from the bytes.
template <class T>
concept HasFields = requires(T& value) { value.fields(); };

// Converts to a member of any type. Used only in the requires expression that counts members, so the conversion needs
// no definition.
struct AnyMember {
    template <class T>
    operator T() const;
};

// The number of members of a struct: as many initializers as it accepts. No member may be an array of C.
template <class Struct, class... Given>
constexpr std::size_t member_count() {
    if constexpr (requires { Struct{Given{}..., AnyMember{}}; })
        return member_count<Struct, Given..., AnyMember>();
    else
        return sizeof...(Given);
}

// False if fields() lacks a member, which would then be lost without an error. A class with private members is not
// checked.
template <HasFields T>
constexpr bool lists_all_members() {
    return !std::is_aggregate_v<T> || std::tuple_size_v<decltype(std::declval<T&>().fields())> == member_count<T>();
}

class Packer {
  public:
    template <class T>
    void put(const T& value) {
        if constexpr (std::is_same_v<T, Fd>) {
            put(static_cast<bool>(value));
            if (value) fds_.push_back(value.get());  // not owned: the owner must keep it open until the message is sent
        } else if constexpr (HasFields<T>) {
            static_assert(lists_all_members<T>(), "fields() must list all members");
            std::apply([&](const auto&... each) { (put(each), ...); }, const_cast<T&>(value).fields());
        } else if constexpr (std::is_trivially_copyable_v<T>) {
            bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            put_other(value);
        }
    }
    const std::string& bytes() const { return bytes_; }
    const std::vector<int>& fds() const { return fds_; }

  private:
    void put_other(const std::string& text) {
        put(text.size());
        bytes_ += text;
    }
    template <class T>
    void put_other(const std::vector<T>& values) {
        put(values.size());
        if constexpr (std::is_trivially_copyable_v<T> && !HasFields<T>)
            bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        else
            for (const T& value : values) put(value);
    }
    template <class T>
    void put_other(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template <class T>
    void put_other(const std::shared_ptr<T>& value) {
        put(value != nullptr);
        if (value) put(*value);
    }
    template <class Key, class Value>
    void put_other(const std::map<Key, Value>& values) {
        put(values.size());
        for (const auto& [key, value] : values) {
            put(key);
            put(value);
        }
    }
    template <class T>
    void put_other(const Result<T>& result) {
        put(static_cast<bool>(result));
        if (result) return put(*result);
        put(result.error().code.value());
        put(result.error().where);
        put(result.error().advice);
    }

    std::string bytes_{};
    std::vector<int> fds_{};
};

// Unpacks values. If a value is missing, take() returns false for it and for all later values. The values that were
// taken before must not be used then.
class Unpacker {
  public:
    Unpacker(std::string_view bytes, std::vector<Fd> fds) : bytes_(bytes), fds_(std::move(fds)) {}

    template <class T>
    bool take(T& value) {
        if constexpr (std::is_same_v<T, Fd>) {
            bool there = false;
            if (!take(there) || !there) return good_;
            if (next_fd_ >= fds_.size()) return good_ = false;
            value = std::move(fds_[next_fd_++]);
        } else if constexpr (HasFields<T>) {
            std::apply([&](auto&... each) { (void)(take(each) && ...); }, value.fields());
        } else if constexpr (std::is_trivially_copyable_v<T>) {
            if (!has(sizeof value)) return false;
            bytes_.copy(reinterpret_cast<char*>(&value), sizeof value);
            bytes_.remove_prefix(sizeof value);
        } else {
            take_other(value);
        }
        return good_;
    }
    bool is_whole() const { return good_ && bytes_.empty(); }

    template <class T>
    static Result<T> result(std::string_view bytes, std::vector<Fd> fds) {
        Unpacker unpacker(bytes, std::move(fds));
        Result<T> value = plain_error("cannot decode the reply of a helper process");
        unpacker.take(value);
        if (!unpacker.is_whole()) return plain_error("cannot decode the reply of a helper process");
        return value;
    }

  private:
    bool has(std::size_t bytes) { return good_ = good_ && bytes_.size() >= bytes; }
    void take_other(std::string& text) {
        std::size_t size = 0;
        if (!take(size) || !has(size)) return;
        text.assign(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
    }
    template <class T>
    void take_other(std::vector<T>& values) {
        std::size_t count = 0;
        if (!take(count) || !has(count)) return;  // each value has at least one byte
        if constexpr (std::is_trivially_copyable_v<T> && !HasFields<T>) {
            if (count > bytes_.size() / sizeof(T)) {
                good_ = false;
                return;
            }
            values.resize(count);
            bytes_.copy(reinterpret_cast<char*>(values.data()), count * sizeof(T));
            bytes_.remove_prefix(count * sizeof(T));
        } else {
            for (std::size_t i = 0; i < count && good_; ++i) take(values.emplace_back());
        }
    }
    template <class T>
    void take_other(std::optional<T>& value) {
        bool there = false;
        if (take(there) && there) take(value.emplace());
    }
    template <class T>
    void take_other(std::shared_ptr<T>& value) {
        bool there = false;
        if (!take(there) || !there) return;
        auto taken = std::make_shared<std::remove_const_t<T>>();
        if (take(*taken)) value = std::move(taken);
    }
    template <class Key, class Value>
    void take_other(std::map<Key, Value>& values) {
        std::size_t count = 0;
        if (!take(count) || !has(count)) return;  // each pair has at least one byte
        for (std::size_t i = 0; i < count && good_; ++i) {
            Key key{};
            if (take(key)) take(values[std::move(key)]);
        }
    }
    template <class T>
    void take_other(Result<T>& result) {
        bool there = false;
        if (!take(there)) return;
        if (there) {
            T value{};
            if (take(value)) result = std::move(value);
            return;
        }
        int code = 0;
        Error error;
        if (!take(code) || !take(error.where) || !take(error.advice)) return;
        if (code != 0) error.code = std::error_code(code, std::generic_category());
        result = std::move(error);
    }

    std::string_view bytes_;
    std::vector<Fd> fds_;
    std::size_t next_fd_ = 0;
    bool good_ = true;
};

}  // namespace memscope
