package hostscript

import _ "embed" // embeds askversion.sh

// AskVersionScript defines askversion, which runs a program that prints its version and is not trusted.
//
//go:embed sh/askversion.sh
var AskVersionScript string
