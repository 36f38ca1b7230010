package hostscript

import (
	_ "embed" // embeds scripts
	"strings"

	"holdfast/engine"
)

var (
	//go:embed sh/survivors.sh
	survivorsText string
	//go:embed sh/restartsurvivors.sh
	restartSurvivorsText string
)

// SurvivorsScript returns the script that defines functions for the services that holdfast lets survive soft reboots.
// Every script that stages, finalizes or removes a deployment calls check_survivors right before that. It ends the script
// with ScriptOldProcess if a service runs from a deployment that may go.
func SurvivorsScript() string {
	return Assign([][2]string{{"unitdir", UnitDir}, {"survivordropins", strings.Join(survivorDropins(), " ")}}) + survivorsText
}

// survivorDropins lists the names of the drop-ins with which a service survives.
func survivorDropins() []string { return []string{SettingsDropin, engine.KeepDropin} }

// RestartSurvivorsScript returns a script that restarts services which have survived a soft reboot, or stops services before
// a reboot, under the hold of the run.
func RestartSurvivorsScript(owner engine.HoldOwner, r engine.RestartSurvivors) string {
	always := ""
	if r.Always {
		always = "yes"
	}
	verb := "restart"
	if r.Stop {
		verb = "stop"
	}
	return "set -eu\n" + Assign([][2]string{{"units", strings.Join(r.Units, " ")}, {"always", always}, {"verb", verb}}) + CheckHoldSnippet(owner).String() + SurvivorsScript() + restartSurvivorsText
}
