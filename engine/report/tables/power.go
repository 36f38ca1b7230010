package tables

import (
	"cmp"
	"io"
	"strings"

	"holdfast/engine/power"
	"holdfast/engine/report/termtext"
)

// HostPower is the power of a host.
type HostPower struct {
	Host    string `json:"host"`
	Problem string `json:"problem,omitempty"` // why the power is not known
	power.State
}

// WritePower writes a table of the power of hosts.
func WritePower(w io.Writer, list []HostPower) error {
	rows := [][]string{{"HOST", "POWER", "AFTER A POWER CUT", "LIGHT", "NOTE"}}
	for _, h := range termtext.Safe(list) {
		light := cmp.Or(strings.ToLower(h.Indicator), "?")
		if h.Light != nil {
			light = map[bool]string{true: "on", false: "off"}[*h.Light]
		}
		rows = append(rows, []string{h.Host, cmp.Or(h.Power, "?"), cmp.Or(h.RestorePolicy, "?"), light, h.Problem})
	}
	return termtext.WriteLongTable(w, rows)
}
