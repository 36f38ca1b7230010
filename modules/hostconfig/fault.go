//go:build fault

package hostconfig

import _ "embed" // embeds fault.sh

// pointScript defines the shell function mark_point, which lets the lab stop a write
// halfway.
//
//go:embed sh/fault.sh
var pointScript string
