#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/heap/heap_objects.h"
#include "sources/heap/python/object_graph.h"

namespace memscope {

struct ObjectPath {
    std::string text{};
    HolderRoot root = HolderRoot::other;
};

// Finds for each object the path of references that tells a programmer most: through modules and variables of the
// program, by names. Steps that tell little, such as __globals__, have a high cost, and the path with the lowest cost
// is taken. The text has only names: keys of dicts that may be data are left out.
class ObjectPaths {
  public:
    explicit ObjectPaths(ObjectGraph& graph);

    bool has_path(NodeNumber node) const { return node < parent_.size() && parent_[node] != kNoNode; }
    NodeNumber parent(NodeNumber node) const { return parent_[node]; }  // 0: a root
    // A dict that holds the attributes of a module, an instance, a class or a thread.
    bool is_namespace(NodeNumber node) const;
    bool is_lru_cache(NodeNumber node) const;

    // Finds how the objects on the paths of these nodes refer to one another. Needed once, before path_of().
    void prepare(std::span<const NodeNumber> nodes);
    std::optional<ObjectPath> path_of(NodeNumber node);  // none: too long, or it could not be read

  private:
    static constexpr int kMostSteps = 200;
    static constexpr std::size_t kLongestPath = 400;

    struct Rendered {
        std::string text{};
        std::string pending{};  // "._modules", which is left out if a name follows
        bool left_out = false;  // the pending part of the object before it is left out
        std::string last{};     // the last step, to count repetitions
        int again = 0;
        HolderRoot root = HolderRoot::other;
        bool attributes = false;  // the object is a dict of attributes
        bool of_threads = false;  // a dict of dicts of attributes, one for each thread
        Address closure = 0;      // the object is a closure of this code
        bool is_frame = false;    // the object is the frame that the text names
        int steps = 0;
        std::string whole() const;
    };
    const Rendered* render(NodeNumber node);
    Rendered root_of(NodeNumber node);
    std::string step(NodeNumber from, NodeNumber to, const Rendered& before, Rendered& after);
    std::string key_text(Address dict, Address key);
    std::string function_name(Address code);
    std::string place_of(Address code, Address frame);  // "run (train.py:88)"
    std::optional<int> current_line(Address code, Address frame);
    Address frame_in(Address object, const PythonType& type);

    ObjectGraph& graph_;
    ObjectReader& reader_;
    HeapCopy& memory_;
    std::vector<NodeNumber> parent_;
    std::vector<std::uint32_t> distance_;
    std::unordered_map<NodeNumber, Slot> slots_{};  // by child on a path
    std::unordered_map<NodeNumber, Rendered> rendered_{};
    std::unordered_map<NodeNumber, const ObjectRoot*> roots_{};
};

}  // namespace memscope
