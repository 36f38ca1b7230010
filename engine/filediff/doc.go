// Package filediff finds the old and new contents of changed files, between two
// configurations or between hosts and a plan, so that they can be shown line by
// line. It withholds contents that are secret, binary or large.
package filediff
