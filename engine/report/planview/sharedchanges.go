package planview

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// ownContents stands for contents that differ from host to host.
const ownContents = "(differs from host to host)"

// mayDifferByHost reports whether a plan may show several hosts together
// although the contents in this change differ. It may do so for a file, because
// one template may make it for all hosts.
func mayDifferByHost(c engine.Change) bool {
	return c.Module == engine.ConfigModule && c.Kind == engine.FileKind
}

func changeShape(c engine.Change) string {
	text := fmt.Sprintf("%q %q %q %q %t %q", c.Module, c.Resource, c.Verb, c.Rule, c.Drift, actionNames(c.Actions))
	if !mayDifferByHost(c) {
		text += fmt.Sprintf(" %q %q %q", c.Before, c.After, c.Reason)
	}
	return text
}

func changeShapes(changes []engine.Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, changeShape(c))
	}
	return strings.Join(lines, "\n")
}

// mergeChanges merges the changes of hosts of one shape. Contents that differ become ownContents.
func mergeChanges(lists [][]engine.Change) []engine.Change {
	out := slices.Clone(lists[0])
	for _, other := range lists[1:] {
		for i, c := range other {
			if c.Before != out[i].Before {
				out[i].Before = ownContents
			}
			if c.After != out[i].After {
				out[i].After = ownContents
			}
			if c.Reason != out[i].Reason {
				out[i].Reason = ""
			}
		}
	}
	return out
}
