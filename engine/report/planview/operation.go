package planview

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// OperationDetail returns the command of a step, its question, or the size of
// its uploads.
func OperationDetail(do engine.Op) string {
	switch {
	case do.Command != nil:
		return ": " + do.Command.Command
	case do.Gate != nil:
		return ": " + gateQuestion(*do.Gate) + gateDemands(*do.Gate)
	case do.Pause != nil:
		return ": waits for " + do.Pause.For.Trimmed()
	case do.Defragment != nil:
		return ": the member of " + do.Defragment.Cluster + " does not answer meanwhile"
	case do.RestartSurvivors != nil && do.RestartSurvivors.Stop:
		return ": stops " + strings.Join(do.RestartSurvivors.Units, ", ")
	case do.RestartSurvivors != nil:
		return ": restarts " + strings.Join(do.RestartSurvivors.Units, ", ")
	case do.Exec != nil && do.Exec.Display != "":
		return ": " + do.Exec.Display
	case do.Exec != nil && len(do.Exec.Uploads) > 0:
		size := 0
		for _, u := range do.Exec.Uploads {
			size += len(u.Data)
		}
		return fmt.Sprintf(", sends %d bytes in %s", size, termtext.FormatCount(len(do.Exec.Uploads), "file", "files"))
	}
	return ""
}

func gateQuestion(g engine.Gate) string {
	switch {
	case g.HTTP != nil:
		return g.HTTP.URL
	case g.PromQL != nil:
		return g.PromQL.Query + " at " + g.PromQL.URL
	case g.HostCommand != "":
		return g.HostCommand + " on the host"
	}
	return g.Command
}

func gateDemands(g engine.Gate) string {
	text := ""
	if g.HTTP != nil && g.HTTP.Status != 0 {
		text += fmt.Sprintf(", status %d", g.HTTP.Status)
	}
	if g.HTTP != nil && g.HTTP.Match != "" {
		text += fmt.Sprintf(", match %q", g.HTTP.Match)
	}
	if g.Successes > 1 {
		text += fmt.Sprintf(", good %d times in a row", g.Successes)
	}
	if g.Retries != nil {
		text += ", " + termtext.FormatCount(*g.Retries, "bad answer", "bad answers") + " allowed"
	}
	return text
}
