// The attribute lustre.lov: plain layouts (version 1, version 3 with a pool, specific OSTs) and composite
// ones (progressive, self-extending and mirrored files, data on the MDT).
//
// A mirrored file is read as the mirror that is written. An extension component belongs to the component that
// will grow into it. A component without objects (nothing was written there yet) has as many servers as it
// asks for, numbered from 0. Nobody knows yet which they will be. Released files and foreign layouts have no
// servers. Source: Lustre, lustre/include/uapi/linux/lustre/lustre_user.h (lov_user_md_v1, lov_user_md_v3,
// lov_user_ost_data_v1, lov_comp_md_v1, lov_comp_md_entry_v1); little-endian, as on the wire.
#pragma once

#include <string>
#include <string_view>

#include "layout/layout.h"

namespace pmio {

// bytes: any. Nothing: they are no layout that says where bytes are.
std::optional<Layout> parse_lustre_attribute(std::string_view bytes);

// The attribute that asks for a plain layout; 0: the default of the directory.
std::string lustre_attribute(uint32_t stripe_bytes, uint32_t stripes);

}  // namespace pmio
