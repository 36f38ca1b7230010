package hostscript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// Files of the staging unit. The scripts of modules/osimage name them, too.
const (
	paceFile  = "/run/holdfast/stage.pace"
	leverFile = "/run/holdfast/stage.levers"
)

// SilenceTime is the time after which a staging unit that gets no pace uses the safe
// speed. The unit counts whole seconds.
const SilenceTime = 15 * time.Second

// Speed is how fast a host stages. Each lever of the host uses a part of it.
type Speed struct {
	Pace engine.Pace // pace of the freezer
	Rate int64       // limit of the disk, in bytes per second
}

// PaceScript returns the script that sends a speed to the staging unit of a host. The unit uses that speed until one
// with another serial number arrives. If none arrives for SilenceTime, the unit uses the safe speed. The script prints which
// levers are in force, for ReadLevers. Until the unit has written its levers, the script prints and sends nothing.
func PaceScript(serial int64, speed, safe Speed) string {
	text := fmt.Sprint(serial, " ", paceNumbers(speed.Pace), " ", paceNumbers(safe.Pace), " ", speed.Rate, " ", safe.Rate)
	return Assign([][2]string{{"levers", leverFile}, {"pacefile", paceFile}, {"pace", text}}) + paceScript
}

func paceNumbers(p engine.Pace) string {
	return fmt.Sprint(time.Duration(p.Slice).Milliseconds(), " ", time.Duration(p.Pause).Milliseconds())
}

// ReadLevers parses the output of a PaceScript: a line "NAME yes" or "NAME no REASON" for each lever. It returns each
// known lever of a host once.
func ReadLevers(output string) []engine.Lever {
	var levers []engine.Lever
	for line := range strings.Lines(output) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		state, reason, _ := strings.Cut(rest, " ")
		lever := engine.Lever{Name: engine.LeverName(name), InForce: state == "yes", Reason: reason}
		known := lever.Name == engine.FreezeLever || lever.Name == engine.IOLever
		if known && !slices.ContainsFunc(levers, func(l engine.Lever) bool { return l.Name == lever.Name }) {
			levers = append(levers, lever)
		}
	}
	return levers
}
