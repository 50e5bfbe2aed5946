// The providers there are, each in a file of its own.
#pragma once

#include "layout/provider.h"

namespace pmio {

const LayoutProvider& lustre_layouts();
const LayoutProvider& ceph_layouts();
const LayoutProvider& beegfs_layouts();
const LayoutProvider& orangefs_layouts();
const LayoutProvider& moosefs_layouts();
const LayoutProvider& glusterfs_layouts();
const LayoutProvider& hinted_layouts();

}  // namespace pmio
