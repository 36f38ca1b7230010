//go:build !fault

package hostconfig

// pointScript defines the shell function mark_point, which does nothing here. Only
// programs that are built with the tag "fault" can be stopped halfway.
const pointScript = "mark_point() { :; }\n"
