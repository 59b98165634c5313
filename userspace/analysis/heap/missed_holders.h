#pragma once
#include <memory>

#include "analysis/heap/container_curves.h"
#include "model/heap/heap.h"

namespace memscope {

// The objects of a census, with the large containers that earlier censuses have and this one has missed: the process
// changed the container, or what leads to it, while it was read, or there was no room for it. If its length was polled
// since then and shows that it is the same container, its size is estimated from its length (HolderReading::estimated).
// If it may still be there, but was not polled, how it has changed is not known (HolderReading::missed). A container
// that is gone is not added. The size of a container that changed while it was read (HolderReading::torn) is estimated
// likewise. So the container around it is not given the growth of a container that the census could not read.
//
// `before`: the latest earlier census with objects; `first`: the first one. Null if there is none. `lengths`: null if
// they are not known; then nothing is added. Returns the objects of `now` if there is nothing to add.
std::shared_ptr<const ObjectCensus> with_missed_holders(const HeapCensus& now, const HeapCensus* before,
                                                        const HeapCensus* first, const ContainerCurves* lengths);

// Bytes that one more item adds. Measured between two censuses if both list the container, because old items can have
// another size. `before`: null if there is no earlier census with the container.
double bytes_per_item(const Holder& now, const Holder* before, Bytes Holder::* memory);

}  // namespace memscope
