#include "sources/heap/python/object_paths.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sources/python/python_code.h"

namespace memscope {
namespace {

constexpr std::size_t kLongestName = 100;

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::none_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        return !letter && byte < 0x80;
    });
}

// Dotted, for modules.
bool is_dotted_name(std::string_view text) {
    std::string plain(text);
    std::erase(plain, '.');
    return is_name(plain);
}

bool is_short_identifier(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    if (text.empty() || text.size() > kLongest) return false;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return is_letter(text[0]) && std::ranges::all_of(text, [&](char c) {
               return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
           });
}

std::string_view last_part(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// Whether `name` is the last name of the path: "__main__.note" ends with "note".
bool ends_with_name(std::string_view path, std::string_view name) {
    if (!path.ends_with(name)) return false;
    path.remove_suffix(name.size());
    return path.empty() || path.back() == '.' || path.back() == ' ';
}

}  // namespace

ObjectPaths::ObjectPaths(ObjectGraph& graph)
    : graph_(graph),
      reader_(graph.reader()),
      memory_(graph.reader().memory()),
      parent_(graph.count(), kNoNode),
      distance_(graph.count(), kNoNode) {
    constexpr std::uint32_t kBuckets = 64;  // more than any step or root costs
    const ObjectEdges& edges = graph.edges();
    std::array<std::vector<NodeNumber>, kBuckets> buckets;
    std::size_t waiting = 0;
    const auto offer = [&](NodeNumber node, NodeNumber from, std::uint32_t cost) {
        if (cost >= distance_[node]) return;
        distance_[node] = cost;
        parent_[node] = from;
        buckets[cost % kBuckets].push_back(node);
        ++waiting;
    };
    for (const ObjectRoot& root : graph.roots()) {
        const ObjectRoot*& known = roots_[root.node];
        if (known == nullptr || root.cost < known->cost) known = &root;
        offer(root.node, 0, root.cost);
    }
    for (std::uint32_t cost = 0; waiting > 0; ++cost) {
        std::vector<NodeNumber>& bucket = buckets[cost % kBuckets];
        for (std::size_t i = 0; i < bucket.size(); ++i) {
            const NodeNumber node = bucket[i];
            if (distance_[node] != cost) continue;
            for (std::uint32_t e = edges.begin(node), end = edges.end(node); e < end; ++e)
                offer(edges.target(e), node, cost + edges.cost(e));
        }
        waiting -= bucket.size();
        bucket = {};  // gives its memory back
    }
}

bool ObjectPaths::is_namespace(NodeNumber node) const {
    const NodeNumber above = parent_[node];
    if (graph_.type(node).kind != ObjectKind::dict || above == 0 || above == kNoNode) return false;
    const ObjectKind kind = graph_.type(above).kind;
    if (kind == ObjectKind::type || kind == ObjectKind::function || kind == ObjectKind::thread_data) return true;
    const NodeNumber owner = parent_[above];
    if (owner != 0 && owner != kNoNode && graph_.type(owner).kind == ObjectKind::thread_data) return true;
    return distance_[node] == distance_[above];  // only __dict__ costs nothing
}

bool ObjectPaths::is_lru_cache(NodeNumber node) const {
    const NodeNumber above = parent_[node];
    return above != 0 && above != kNoNode && graph_.type(above).kind == ObjectKind::lru_cache &&
           graph_.type(node).kind == ObjectKind::dict;
}

void ObjectPaths::prepare(std::span<const NodeNumber> nodes) {
    // Each referrer is read once, for all objects on a path to which it refers.
    std::unordered_map<NodeNumber, std::vector<NodeNumber>> wanted;
    std::unordered_map<NodeNumber, bool> seen;
    for (NodeNumber node : nodes)
        for (int i = 0; i < kMostSteps && has_path(node) && parent_[node] != 0; ++i, node = parent_[node]) {
            if (!seen.try_emplace(node, true).second) break;
            wanted[parent_[node]].push_back(node);
        }
    std::vector<NodeNumber> referrers;
    referrers.reserve(wanted.size());
    for (const auto& [node, children] : wanted) referrers.push_back(node);
    std::ranges::sort(referrers);  // by address, more or less
    for (const NodeNumber from : referrers) {
        if (memory_.late()) return;
        const std::vector<NodeNumber>& children = wanted[from];
        const bool one = children.size() == 1;
        graph_.references_of(from, [&](NodeNumber target, Slot slot) {
            if (one ? target != children[0] : parent_[target] != from || !seen.contains(target)) return;
            const auto [known, is_new] = slots_.try_emplace(target, slot);
            if (!is_new && ObjectGraph::cost_of(slot.kind) < ObjectGraph::cost_of(known->second.kind))
                known->second = slot;
        });
    }
}

std::string ObjectPaths::Rendered::whole() const {
    constexpr int kShown = 3;
    std::string all = text;
    for (int i = 0; i < again && again <= kShown; ++i) all += last;
    if (again > kShown) all += " ×" + std::to_string(again + 1);
    return all + pending;
}

std::optional<ObjectPath> ObjectPaths::path_of(NodeNumber node) {
    const Rendered* rendered = render(node);
    if (rendered == nullptr) return std::nullopt;
    std::string text = rendered->whole();
    if (text.size() > kLongestPath) return std::nullopt;
    return ObjectPath{std::move(text), rendered->root};
}

const ObjectPaths::Rendered* ObjectPaths::render(NodeNumber node) {
    std::vector<NodeNumber> chain;
    const Rendered* before = nullptr;
    for (NodeNumber at = node;; at = parent_[at]) {
        if (const auto known = rendered_.find(at); known != rendered_.end()) {
            before = &known->second;
            break;
        }
        if (!has_path(at) || chain.size() >= kMostSteps) return nullptr;
        chain.push_back(at);
        if (parent_[at] == 0) break;
    }
    for (; !chain.empty(); chain.pop_back()) {
        const NodeNumber at = chain.back();
        Rendered next;
        if (parent_[at] == 0) {
            next = root_of(at);
        } else {
            if (before == nullptr || before->text.size() > kLongestPath || before->steps >= kMostSteps ||
                !slots_.contains(at))
                return nullptr;
            next.root = before->root;
            next.steps = before->steps + 1;
            const std::string added = step(parent_[at], at, *before, next);
            if (!added.empty() && added == before->last && before->pending.empty() && next.pending.empty()) {
                next.text = before->text;
                next.last = before->last;
                next.again = before->again + 1;
            } else if (added.empty() && before->pending.empty()) {
                next.text = before->text;
                next.last = before->last;
                next.again = before->again;
            } else {
                Rendered shown = *before;
                if (next.left_out) shown.pending.clear();
                next.text = shown.whole() + added;
                next.last = added;
            }
        }
        before = &(rendered_[at] = std::move(next));
    }
    return before;
}

ObjectPaths::Rendered ObjectPaths::root_of(NodeNumber node) {
    Rendered result;
    const ObjectRoot& root = *roots_.at(node);
    const std::string type = ".<" + graph_.type(node).name + ">";
    switch (root.kind) {
        case ObjectRoot::module: {
            const std::string name = reader_.data().text(root.detail, kLongestName);
            result.text = is_dotted_name(name) ? name : "<module>";
            result.root = HolderRoot::module;
            break;
        }
        case ObjectRoot::frame:
        case ObjectRoot::temporary:
            result.text = place_of(reader_.frame_code(root.detail), root.detail);
            result.root = HolderRoot::frame;
            result.is_frame = root.kind == ObjectRoot::frame;
            if (root.kind == ObjectRoot::temporary) result.text += " <temporary>";
            break;
        case ObjectRoot::interpreter:
            result.text = "<interpreter>" + type;
            break;
        case ObjectRoot::library:
        case ObjectRoot::native:
            result.text = "<C code>" + type;
            break;
        case ObjectRoot::garbage:
        case ObjectRoot::cpp:
            result.text = "<garbage>" + type;
            break;
    }
    return result;
}

// A key may be data. It is shown only if it looks like a name in a small dict.
std::string ObjectPaths::key_text(Address dict, Address key) {
    constexpr std::uint64_t kSmall = 64;
    constexpr std::size_t kMost = 41;
    const std::string text = reader_.data().length(dict) < kSmall ? reader_.data().text(key, kMost) : std::string();
    return is_short_identifier(text) ? "['" + text + "']" : "[…]";
}

std::string ObjectPaths::function_name(Address code) {
    if (!reader_.is_code(code)) return "function";
    const std::string name = reader_.data().text(memory_.word(code + reader_.layout().stack.code_name), kLongestName);
    return name.empty() ? "function" : name;
}

std::optional<int> ObjectPaths::current_line(Address code, Address frame) {
    const ms_python& stack = reader_.layout().stack;
    const int version = reader_.layout().version;
    constexpr std::uint64_t kInstruction = 2;  // bytes
    std::uint64_t at = 0;
    if (version == 310) {
        const auto index = memory_.get<std::int32_t>(frame + stack.frame_instruction);
        if (index < 0) return std::nullopt;
        at = static_cast<std::uint64_t>(index) * kInstruction;
    } else {
        const Address pointer = memory_.word(frame + stack.frame_instruction);
        if (pointer < code + stack.code_bytecode) return std::nullopt;
        at = pointer - (code + stack.code_bytecode);
    }
    constexpr std::uint64_t kMostCode = std::uint64_t{1} << 24;
    const Address table = memory_.word(code + stack.code_line_table);
    const std::uint64_t size = memory_.word(table + stack.bytes_size);
    if (at > kMostCode || table < ObjectData::kLowest || size > kLineTableLimit) return std::nullopt;
    std::vector<std::byte> lines(size);
    memory_.read(table + stack.bytes_data, lines);
    return line_of(version, lines, memory_.get<std::int32_t>(code + stack.code_first_line),
                   static_cast<std::uint32_t>(at));
}

std::string ObjectPaths::place_of(Address code, Address frame) {
    constexpr std::size_t kLongestFile = 250;
    if (!reader_.is_code(code)) return "<frame>";
    const ms_python& stack = reader_.layout().stack;
    std::string file = reader_.data().text(memory_.word(code + stack.code_file), kLongestFile);
    file = file.substr(file.rfind('/') + 1);
    std::optional<int> line = frame != 0 ? current_line(code, frame) : std::nullopt;
    if (!line) line = memory_.get<std::int32_t>(code + stack.code_first_line);
    return function_name(code) + " (" + file + ":" + std::to_string(*line) + ")";
}

// The frame of a generator or of a frame object. 0: none.
Address ObjectPaths::frame_in(Address object, const PythonType& type) {
    const bool old = reader_.layout().version == 310;
    switch (type.kind) {
        case ObjectKind::running:
            return object;
        case ObjectKind::frame:
            return old ? object : memory_.word(object + 24);
        case ObjectKind::generator:
            return old ? memory_.word(object + reader_.layout().generator_frame)
                       : object + reader_.layout().generator_frame;
        default:
            return 0;
    }
}

std::string ObjectPaths::step(NodeNumber from, NodeNumber to, const Rendered& before, Rendered& after) {
    const Slot slot = slots_.at(to);
    const Address object = graph_.address(from);
    const PythonType& type = graph_.type(from);
    ObjectData& data = reader_.data();
    const auto attribute = [&](Address name) {
        const std::string text = data.text(name, kLongestName);
        return is_name(text) ? "." + text : ".<…>";
    };
    const auto frame_text = [&]() -> std::string {
        if (before.is_frame) return "";
        const Address frame = frame_in(object, type);
        return frame == 0 ? "" : ": " + place_of(reader_.frame_code(frame), frame);
    };
    switch (slot.kind) {
        case Slot::item: {
            if (before.closure == 0) return "[" + std::to_string(slot.detail) + "]";
            // The names of a closure are the last names of its function.
            const ObjectLayout& layout = reader_.layout();
            Address names = memory_.word(before.closure + layout.code_local_names);
            std::uint64_t index = slot.detail;
            constexpr std::uint64_t kFreeNames = 80;
            if (layout.version == 310)
                names = memory_.word(before.closure + kFreeNames);
            else
                index += memory_.get<std::uint32_t>(before.closure + layout.code_locals) - data.length(object);
            const std::string name = data.text(memory_.word(names + layout.tuple_items + 8 * index), kLongestName);
            return is_name(name) ? ".<" + name + ">" : ".<closure>";
        }
        case Slot::value: {
            if (before.of_threads) {
                after.attributes = true;
                after.root = HolderRoot::thread;
                return "";
            }
            if (!before.pending.empty()) {
                const std::string text = data.text(slot.detail, kLongestName);
                if (is_name(text)) {
                    after.left_out = true;
                    return "." + text;
                }
            }
            if (!before.attributes) return key_text(object, slot.detail);
            std::string text = attribute(slot.detail);
            const NodeNumber owner = parent_[from];
            const bool of_module = owner != 0 && owner != kNoNode && graph_.type(owner).module_of_torch;
            if (of_module && (text == "._modules" || text == "._parameters" || text == "._buffers")) {
                after.pending = text;
                return "";
            }
            return text;
        }
        case Slot::attribute: {
            std::string text = attribute(memory_.word(slot.detail));
            if (type.module_of_torch && (text == "._modules" || text == "._parameters" || text == "._buffers")) {
                after.pending = text;
                return "";
            }
            return text;
        }
        case Slot::key:
            return ".<key>";
        case Slot::member:
            return ".<member>";
        case Slot::type_dict:
            after.root = HolderRoot::type;
            after.attributes = true;
            return "";
        case Slot::dict_of:
        case Slot::function_dict:
            after.attributes = true;
            return "";
        case Slot::field: {
            if (type.kind == ObjectKind::thread_data) {
                after.of_threads = true;
                return "";
            }
            if (type.kind == ObjectKind::context_node) {  // pairs of a variable and its value
                const Address variable = memory_.word(object + slot.detail - 8);
                const std::string name = slot.detail >= type.basic + 8
                                             ? data.text(memory_.word(variable + 16), kLongestName)
                                             : std::string();
                return is_name(name) ? ".<" + name + ">" : "";
            }
            if (graph_.type(to).kind == ObjectKind::frame && type.kind == ObjectKind::generator) return "";
            const auto named = type.members.find(static_cast<std::uint32_t>(slot.detail));
            if (named != type.members.end() && is_name(named->second)) return "." + named->second;
            if (type.kind == ObjectKind::generator || type.kind == ObjectKind::frame) return "";
            return ".<" + std::string(last_part(type.name)) + ">";
        }
        case Slot::closure: {
            after.closure = memory_.word(object + object_offsets::kFunctionCode);
            const std::string function = function_name(after.closure);
            const std::string_view name = last_part(function);
            return ends_with_name(before.whole(), name) ? "" : ".<" + std::string(name) + ">";
        }
        case Slot::content:
        case Slot::impl:
        case Slot::python:
            return "";
        case Slot::local: {
            const std::string name = data.text(slot.detail, kLongestName);
            return frame_text() + " " + (is_name(name) ? name : "<local>");
        }
        case Slot::maybe_stack:
        case Slot::stack:
            return frame_text() + (graph_.type(to).kind == ObjectKind::generator ? " await" : " <temporary>");
        case Slot::cache: {
            std::string function;
            reader_.references_of(object, type, [&](Address target, Slot each) {
                if (each.kind == Slot::wrapped)
                    function = function_name(memory_.word(target + object_offsets::kFunctionCode));
            });
            const std::string_view name = last_part(function);
            return name.empty() || ends_with_name(before.whole(), name) ? ".<lru_cache>"
                                                                        : ".<lru_cache of " + std::string(name) + ">";
        }
        case Slot::wrapped:
            return ".__wrapped__";
        case Slot::defaults:
            return ".__defaults__";
        case Slot::code:
            return ".__code__";
        case Slot::globals:
            return ".__globals__";
        case Slot::function_other:
            return ".<function>";
        case Slot::type_of:
            return ".__class__";
        case Slot::type_other:
            return ".__mro__";
        case Slot::callback:
            return ".<callback>";
        case Slot::module_state:
            return ".<state>";
        case Slot::base:
            return ".base";
        case Slot::storage:
            return ".untyped_storage()";
        case Slot::gradient:
            return ".grad";
        case Slot::grad_fn:
            return ".grad_fn";
        case Slot::saved: {
            const std::size_t colon = type.name.rfind(':');
            return ".<" + type.name.substr(colon == std::string::npos ? 0 : colon + 1) + ">";
        }
    }
    return "";
}

}  // namespace memscope
