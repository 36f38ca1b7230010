package hostscript

import _ "embed" // embeds ground.sh

// GroundScript defines shell functions for paths that a local account may change
// while root uses them. Scripts enter directories only with them.
//
//go:embed sh/ground.sh
var GroundScript string
