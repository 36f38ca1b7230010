package hoststate

import (
	_ "embed" // for the script
	"strconv"
	"strings"

	"holdfast/engine"
)

//go:embed sh/rebootkinds.sh
var rebootKindsScript string

// readStarter returns the program that has started the kernel, from the number of the boot loader that a kernel of x86 has
// got (kernel.bootloader_type): a kexec sets 0xd0.
func readStarter(number string) engine.KernelStarter {
	n, err := strconv.ParseUint(number, 10, 32)
	switch {
	case err != nil:
		return engine.StarterUnknown
	case n>>4 == kexecLoader:
		return engine.StartedByKexec
	}
	return engine.StartedByLoader
}

// kexecLoader is the number of kexec among the boot loaders, without its version, see Documentation/arch/x86/boot.rst of Linux.
const kexecLoader = 0xd

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
		case name == "loader":
			r.StartedBy = readStarter(value)
		}
	}
	return r
}
