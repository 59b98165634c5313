#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/sharing.h"

namespace memscope {

// What people are told about un-sharing: of those forked processes of one kind that copied most.
class UnsharingStory {
  public:
    struct Copier {
        Role role = Role::other;
        Role parent = Role::other;
        Bytes copied{};
        bool since_fork = true;
        bool confirmed = true;
    };
    void add(const Copier& process);
    // Enough to speak of, in a target of that size.
    bool is_material(Bytes target) const;
    std::string tell() const;  // one sentence
    std::optional<Copiers> copiers() const;

  private:
    struct Kind {
        Role role = Role::other;
        Role parent = Role::other;
        auto operator<=>(const Kind&) const = default;
    };
    struct Sum {
        Bytes copied{};
        std::uint64_t processes = 0;
        bool since_fork = true;  // all of them were seen from their fork on
        bool confirmed = true;   // all of them
    };
    std::map<Kind, Sum> kinds_{};

    std::map<Kind, Sum>::const_iterator most() const;
};

}  // namespace memscope
