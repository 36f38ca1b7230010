//go:build fault

package hostconfig

import _ "embed" // the script

// pointScript defines point(), which lets the lab stop a write half way.
//
//go:embed sh/fault.sh
var pointScript string
