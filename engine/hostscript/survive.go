package hostscript

import (
	_ "embed" // embeds the script
	"strings"

	"holdfast/engine"
)

//go:embed sh/restartsurvivors.sh
var restartSurvivorsText string

// RestartSurvivorsScript returns a script that restarts services which have survived a soft reboot, under the hold of
// the run.
func RestartSurvivorsScript(owner engine.HoldOwner, r engine.RestartSurvivors) string {
	always := ""
	if r.Always {
		always = "yes"
	}
	return "set -eu\n" + Assign([][2]string{{"units", strings.Join(r.Units, " ")}, {"always", always}}) + CheckHoldSnippet(owner).String() + restartSurvivorsText
}
