package hoststate

import (
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

var inhibitorsScript = hostscript.InhibitorsScript + "print_inhibitors\n"

// maxInhibitors is the largest number of inhibitors in the facts.
const maxInhibitors = 4

func readInhibitors(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && len(list) < maxInhibitors {
			list = append(list, textutil.Printable(strings.Join(words, " ")))
		}
	}
	return list
}
