package hoststate

import (
	_ "embed" // for the script
	"strconv"
	"strings"

	"holdfast/engine"
)

//go:embed sh/rebootkinds.sh
var rebootKindsScript string

// readRebootKinds reads the output of rebootkinds.sh. It ignores lines that are
// none of the script.
func readRebootKinds(text string) engine.RebootFacts {
	var r engine.RebootFacts
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind, support := engine.RebootKind(value), engine.KexecSupport(value); {
		case name == "systemd" && value == "counts":
			r.CountsSoft = true
		case name == "systemd":
			if n, err := strconv.ParseUint(value, 10, 16); err == nil {
				r.Systemd = int(n)
			}
		case name == "prepared" && (kind == engine.SoftReboot || kind == engine.KexecReboot) && r.Prepared == "":
			r.Prepared = kind
		case name == "kexec" && support.IsKnown():
			r.Kexec = support
		}
	}
	return r
}
