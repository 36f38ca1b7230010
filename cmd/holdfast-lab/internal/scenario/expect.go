package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
)

// expectation contains the limits for the report of a watch.
type expectation struct {
	min    int
	failed int
	gap    time.Duration
	away   []string
	order  bool // compare away
}

// shortestReboot is longer than any late answer of a member that did not
// reboot.
const shortestReboot = 1200 * time.Millisecond

func (e *expectation) checkReport(r probe.Report) error {
	var wrong []error
	if r.MinVoters < e.min {
		wrong = append(wrong, fmt.Errorf("only %d voters answered at some moment, not %d", r.MinVoters, e.min))
	}
	if r.Failed > e.failed {
		wrong = append(wrong, fmt.Errorf("%d writes failed, more than %d", r.Failed, e.failed))
	}
	if r.Gap > e.gap {
		wrong = append(wrong, fmt.Errorf("nothing was committed for %s, longer than %s", r.Gap, e.gap))
	}
	if got := awayInOrder(r); e.order && !slices.Equal(got, e.away) {
		wrong = append(wrong, fmt.Errorf("away were %s, not %s", strings.Join(got, ","), strings.Join(e.away, ",")))
	}
	return errors.Join(wrong...)
}

// awayInOrder lists the members that did not answer for long enough to reboot,
// once for each time, in order.
func awayInOrder(r probe.Report) []string {
	type leave struct {
		name string
		at   time.Time
	}
	var leaves []leave
	for _, m := range r.Members {
		for _, span := range m.Away {
			if span.To.Sub(span.From) > shortestReboot {
				leaves = append(leaves, leave{m.Name, span.From})
			}
		}
	}
	slices.SortFunc(leaves, func(a, b leave) int { return a.at.Compare(b.at) })
	names := []string{}
	for _, l := range leaves {
		names = append(names, l.name)
	}
	return names
}
