package hostscript

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
)

// Files of the staging unit. The scripts of modules/osimage name them, too.
const (
	paceFile  = "/run/holdfast/stage.pace"
	leverFile = "/run/holdfast/stage.levers"
)

// PaceScript returns the script that sends a pace to the staging unit of a host. The unit uses that pace until a pace
// with another serial number arrives. If none arrives for 15 s, the unit uses the safe pace. The script prints which
// levers are in force, for ReadLevers. Until the unit has written its levers, the script prints and sends nothing.
func PaceScript(serial int64, pace, safe engine.Pace) string {
	text := fmt.Sprint(serial, " ", paceNumbers(pace), " ", paceNumbers(safe))
	return Assign([][2]string{{"levers", leverFile}, {"pacefile", paceFile}, {"pace", text}}) + paceScript
}

func paceNumbers(p engine.Pace) string {
	return fmt.Sprint(time.Duration(p.Slice).Milliseconds(), " ", time.Duration(p.Pause).Milliseconds())
}

// ReadLevers parses the output of a PaceScript: a line "NAME yes" or "NAME no REASON" for each lever.
func ReadLevers(output string) []engine.Lever {
	var levers []engine.Lever
	for line := range strings.Lines(output) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		state, reason, _ := strings.Cut(rest, " ")
		if name := engine.LeverName(name); name == engine.FreezeLever && len(levers) == 0 {
			levers = append(levers, engine.Lever{Name: name, InForce: state == "yes", Reason: reason})
		}
	}
	return levers
}
