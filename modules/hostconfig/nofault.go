//go:build !fault

package hostconfig

// pointScript defines point(), which does nothing: only programs built with the
// tag "fault" can be stopped half way.
const pointScript = "point() { :; }\n"
