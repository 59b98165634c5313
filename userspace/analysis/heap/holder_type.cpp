#include "analysis/heap/holder_type.h"

namespace memscope {

bool is_type(std::string_view qualified, std::string_view name) {
    if (name.empty() || !qualified.ends_with(name)) return false;
    return qualified.size() == name.size() || qualified[qualified.size() - name.size() - 1] == '.';
}

bool holds_type(const Holder& holder, std::string_view name) {
    const std::string_view element = std::string_view(holder.element).substr(0, holder.element.find(' '));
    return is_type(holder.type, name) || is_type(element, name);
}

}  // namespace memscope
