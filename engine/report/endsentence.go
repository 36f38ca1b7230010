package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
)

// Worded is a sink that passes events on to another sink. It adds to the end of
// a run the sentence of EndSentence.
type Worded struct{ To Sink }

// Emit passes an event on.
func (w Worded) Emit(e event.Event) error {
	if e.End != nil {
		end := *e.End
		end.Reason = EndSentence(end.Cause)
		e.End = &end
	}
	return w.To.Emit(e)
}

// EndSentence returns why a run ended, as a sentence.
func EndSentence(c event.EndCause) string {
	if c.Kind == event.UntouchedEnd {
		return c.Journal + "; nothing was touched"
	}
	text := mainClause(c)
	switch others := alsoFailedText(c.AlsoFailed); {
	case others == "" || !tellsAlsoFailed(c):
	case c.Kind == event.FailedEnd:
		text += "; " + others
	default:
		text = others + "; apart from that: " + text
	}
	if c.Journal != "" {
		text = c.Journal + "; apart from that: " + text
	}
	if c.Stopped {
		text = "stopped by the operator; " + text
	}
	return text
}

func mainClause(c event.EndCause) string {
	switch c.Kind {
	case event.DeclinedEnd:
		if c.Play != "" {
			return "not approved: play " + c.Play + " was not begun; the results of earlier plays stay"
		}
		return "not approved; nothing was changed"
	case event.DeclinedBatchEnd:
		return "not approved: the run ends before this batch; the results of earlier batches stay"
	case event.StoppedEnd:
		return "stopped at once by the operator; holds stay, and the next run goes on from here"
	case event.FailedEnd:
		return strings.Join(append([]string{c.Failure.Error() + spentBudgetText(c.Spent)}, slices.Concat(c.Refusals, incompleteParts(c))...), "; ")
	case event.PlayedEnd:
		return "the playbook is done; holdfast status says whether every host matches"
	default:
		if c.Play != "" {
			return "play " + c.Play + ": " + planEndText(c)
		}
		return planEndText(c)
	}
}

func planEndText(c event.EndCause) string {
	switch c.Kind {
	case event.RefusedEnd:
		return "not safe to go on: " + strings.Join(c.Refusals, "; ")
	case event.UnfinishedEnd:
		return "refused: an earlier roll-out has not reached every host, and this run would roll out another OS: " + unfinishedText(c.Unfinished)
	case event.IncompleteEnd:
		return "incomplete: " + cmp.Or(strings.Join(incompleteParts(c), "; "), "hosts are left with work; holdfast plan shows it")
	case event.MatchedEnd:
		if c.Limited {
			return "every host within the limit matches"
		}
		return "every host matches"
	default:
		return "the reason is unknown; holdfast status says whether every host matches"
	}
}

func incompleteParts(c event.EndCause) []string {
	var parts []string
	for _, u := range c.UnhealthyClusters {
		parts = append(parts, u.String())
	}
	if len(c.Excluded) > 0 {
		parts = append(parts, exclusionsText(c.Excluded))
	}
	if len(c.Drift) > 0 {
		parts = append(parts, strings.Join(textutil.FoldNames(c.Drift), ", ")+": drift, which is only reported; holdfast plan shows it")
	}
	return parts
}

// tellsAlsoFailed reports whether EndSentence tells the failures of other hosts.
// A failure that ends the run hides them, unless it is somebody else's hold:
// then they are worse than the end.
func tellsAlsoFailed(c event.EndCause) bool {
	return c.Kind != event.FailedEnd || c.Failure.Exit() == engine.ExitRefused
}

func alsoFailedText(list []engine.Failure) string {
	if len(list) == 1 {
		return fmt.Sprintf("%s has failed (%s)", list[0].Host, list[0].Cause)
	}
	var hosts []string
	for _, f := range list {
		hosts = append(hosts, f.Host)
	}
	if len(hosts) == 0 {
		return ""
	}
	return strings.Join(textutil.FoldNames(hosts), ", ") + " have failed"
}

func spentBudgetText(b *event.SpentBudget) string {
	if b == nil {
		return ""
	}
	owner := "pool " + b.Pool
	if b.Play != "" {
		owner = "play " + b.Play
	}
	return fmt.Sprintf("; %d hosts have failed, which is more than the failure budget of %s allows (--best-effort goes on with the others)", b.Failed, owner)
}

// mostReasons is the highest number of reasons that a sentence names of one
// list.
const mostReasons = 3

func unfinishedText(list []engine.UnfinishedHost) string {
	var parts []string
	for _, u := range list[:min(mostReasons, len(list))] {
		parts = append(parts, u.String())
	}
	return strings.Join(textutil.AndMore(parts, len(list)), "; ")
}

// NamesExclusion reports whether EndSentence tells the reason of an exclusion.
func NamesExclusion(c event.EndCause, x engine.Exclusion) bool {
	told := c.Kind == event.IncompleteEnd || c.Kind == event.FailedEnd
	return told && slices.Contains(c.Excluded, x) && len(groupExclusions(c.Excluded, exclusionText)) <= mostReasons
}

// NamesFailure reports whether EndSentence tells the cause of a failure: that of
// a host, or that of a step without a host (""). The other failures of an
// EndCause are of hosts, and have no step: a host fails once.
func NamesFailure(c event.EndCause, host, step string) bool {
	if c.Kind == event.FailedEnd && c.Failure.Host == host && c.Failure.Step == step {
		return true
	}
	if len(c.AlsoFailed) == 1 && c.AlsoFailed[0].Host == host && tellsAlsoFailed(c) {
		return true
	}
	return slices.ContainsFunc(c.Excluded, func(x engine.Exclusion) bool {
		return x.Kind == engine.Failed && x.Host == host && NamesExclusion(c, x)
	})
}

func exclusionText(x engine.Exclusion) string {
	return fmt.Sprintf("%s (%s)", exclusionKindText(x.Kind), x.Reason)
}

func exclusionsText(list []engine.Exclusion) string {
	if parts := groupExclusions(list, exclusionText); len(parts) <= mostReasons {
		return strings.Join(parts, "; ")
	}
	kind := func(x engine.Exclusion) string { return exclusionKindText(x.Kind) }
	return strings.Join(groupExclusions(list, kind), "; ") + "; holdfast plan says why"
}

func exclusionKindText(kind engine.ExclusionKind) string {
	switch kind {
	case engine.Closed:
		return "waiting for a maintenance window"
	case engine.Failed:
		return "not updated, because of a failure"
	case engine.RolledBack:
		return "rolled back"
	default:
		return string(kind)
	}
}

func groupExclusions(list []engine.Exclusion, describe func(engine.Exclusion) string) []string {
	var order []string
	hosts := map[string][]string{}
	for _, x := range list {
		text := describe(x)
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], x.Host)
	}
	parts := make([]string, len(order))
	for i, text := range order {
		verb := "is"
		if len(hosts[text]) > 1 {
			verb = "are"
		}
		parts[i] = fmt.Sprintf("%s %s %s", strings.Join(textutil.FoldNames(hosts[text]), ", "), verb, text)
	}
	return parts
}
