package membersview

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/report/termtext"
)

// nameMember returns NAME (ID) for a member, or only the ID if the member has never started and so has no name.
func nameMember(s membership.State, id string) string {
	for _, m := range s.Members {
		if m.ID == id && m.Name != "" {
			return m.Name + " (" + id + ")"
		}
	}
	return id
}

// WriteForecast writes the steps with the number of voters after each change.
func WriteForecast(w io.Writer, s membership.State, f membership.Forecast) error {
	var b strings.Builder
	for _, warning := range f.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", termtext.SafeLine(warning)) // it may quote the hold of a host
	}
	for i, step := range f.Steps {
		text := stepText(step.Action.String(), step.Host, nameMember(s, step.Member))
		if step.Action.ChangesMembership() || step.Action == membership.Create {
			text += fmt.Sprintf(": then %d of %d voters healthy, quorum %d", step.After.Healthy, step.After.Voters, step.After.Quorum())
		}
		if step.Reason != "" {
			text += " (" + step.Reason + ")"
		}
		fmt.Fprintf(&b, "%2d. %s\n", i+1, termtext.SafeLine(text))
	}
	if len(f.Steps) == 0 && f.Refusal == nil {
		fmt.Fprintf(&b, "etcd cluster %s has the members that it should have\n", termtext.SafeLine(s.Cluster))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
