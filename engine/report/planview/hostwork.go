package planview

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// DescribeWork returns the work of a host in a few words.
func DescribeWork(hp engine.HostPlan) string {
	if len(hp.Changes) == 0 {
		return "adopt the hold of run " + hp.Adopt
	}
	wanted, drift := splitChanges(hp.Changes, isDrift)
	configured, system := splitChanges(wanted, isOS)
	var parts []string
	if len(system) > 0 {
		c := system[0]
		text := c.String()
		if n := len(system) - 1; n > 0 {
			text += fmt.Sprintf(", and %d more", n)
		}
		parts = append(parts, termtext.ShortHashes(text))
	}
	configured, tasks := splitChanges(configured, isTask)
	for _, c := range tasks {
		parts = append(parts, c.Resource)
	}
	if len(configured) > 0 {
		parts = append(parts, "config: "+CountKinds(configured))
	}
	if len(drift) > 0 {
		parts = append(parts, "undo drift: "+CountKinds(drift))
	}
	return strings.Join(parts, "; ")
}

func isTask(c engine.Change) bool { return c.Task }

// longName is the longest name of a change in a table, in bytes.
const longName = 36

// CountKinds counts changes by kind: 12 files, 2 units, 1 user. A single change
// with a short name is named instead; the change of the record is "put on record".
func CountKinds(changes []engine.Change) string {
	if first := changes[0].Resource; len(changes) == 1 && first == engine.RecordResource {
		return "put on record"
	} else if len(changes) == 1 && len(first) <= longName {
		return first
	}
	var kinds textutil.Groups[string, engine.Change]
	for _, c := range changes {
		kinds.Add(cmp.Or(c.Kind.String(), c.Resource), c)
	}
	var parts []string
	for kind, list := range kinds.All() {
		many := map[string]string{"directory": "directories"}[kind]
		parts = append(parts, termtext.FormatCount(len(list), kind, cmp.Or(many, kind+"s")))
	}
	return strings.Join(parts, ", ")
}
