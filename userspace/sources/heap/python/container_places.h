#pragma once
#include <functional>
#include <vector>

#include "model/heap/container_places.h"
#include "sources/heap/python/object_paths.h"

namespace memscope {

// Where the lengths of the lists, dicts, sets and deques of a process are: of those that retain most, at most
// kMostContainerPlaces, in the order of their addresses. Namespaces, small containers and deques with a maximum length
// are left out.
std::vector<ContainerPlace> find_container_places(ObjectGraph& graph, const ObjectPaths& paths,
                                                  const std::function<std::uint64_t(NodeNumber)>& retained);

}  // namespace memscope
