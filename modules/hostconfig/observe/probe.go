package observe

import (
	_ "embed" // embeds probe.sh
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/shell"
)

//go:embed sh/probe.sh
var configProbeScript string

// ProbeName is the name of the command that probes the configuration.
const ProbeName = "configuration"

const fipsProbeName = "FIPS mode"

// IgnitionPresets is the file in which Ignition enables and disables the units of the installation. Its presets win over those
// of the OS. It is probed, with its contents, if a configuration has units.
const IgnitionPresets = "/etc/systemd/system-preset/20-ignition.preset"

// maxContents is the largest size, in bytes, of a file whose contents are read.
const maxContents = 1 << 20

// Probe returns the commands that probe every resource of the desired
// configuration and of the record on the host. It returns no command if no
// configuration is desired.
func Probe(d engine.Desired) []engine.Command {
	if d.Config == nil {
		return nil
	}
	look := shell.Script{Text: engine.NewScript(hostscript.GroundScript + configProbeScript), Vars: map[string]string{
		"root":      "",
		"record":    record.Path,
		"originals": record.OriginalsDir,
		"wanted":    strings.Join(record.Subjects(*d.Config), "\n"),
		"maxrecord": strconv.Itoa(record.MaxSize + 1),
		"limit":     strconv.Itoa(maxContents + 1),
	}}
	commands := []engine.Command{{Name: ProbeName, Script: look.String()}}
	if d.Config.DemandsFIPS() {
		commands = append(commands, engine.Command{Name: fipsProbeName, Script: "cat /proc/sys/crypto/fips_enabled"})
	}
	return commands
}
