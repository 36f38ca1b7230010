package shell

import _ "embed" // embeds ground.sh

// GroundScript defines shell functions for paths that a local account may change
// while root uses them.
//
//go:embed sh/ground.sh
var GroundScript string
