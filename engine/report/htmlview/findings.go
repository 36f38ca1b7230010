package htmlview

import (
	"cmp"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/summary"
)

// failureTable has the failures of a run. Hosts that failed alike share one.
type failureTable struct {
	list  []*failureGroup
	byKey map[failureKey]*failureGroup
	more  int // failures that are not kept
}

type failureKey struct {
	subject, step, cause, became, hint string
	rolledBackEarlier                  bool // by an earlier run
}

type failureGroup struct {
	failureKey
	hosts   []string
	at      time.Time // time of the first
	command string
	outputs []failureOutput
}

// failureOutput is the standard error of a failure on a host.
type failureOutput struct {
	Host, Stderr string
}

const (
	maxFailures = 200 // kinds of failure that a page shows
	maxOutputs  = 3   // outputs of one kind of failure
)

func (t *failureTable) add(e event.Event) {
	f := *e.Failure
	k := failureKey{step: cmp.Or(f.Step, e.Step), cause: f.Cause, hint: f.Hint}
	if e.Type == event.HostFailed {
		k.became, k.rolledBackEarlier = e.Message, e.Outcome == event.RolledBackEarlierOutcome
	}
	host := cmp.Or(e.Host, f.Host)
	if host == "" {
		k.subject = cmp.Or(e.Cluster, e.Pool)
	}
	t.addFailure(k, f, host, e.Time)
}

func (t *failureTable) addFailure(k failureKey, f engine.Failure, host string, at time.Time) {
	if t.byKey == nil {
		t.byKey = map[failureKey]*failureGroup{}
	}
	g := t.byKey[k]
	switch {
	case g != nil:
	case len(t.list) == maxFailures:
		t.more++
		return
	default:
		g = &failureGroup{failureKey: k, at: at, command: f.Command}
		t.byKey[k], t.list = g, append(t.list, g)
	}
	if host != "" && !slices.Contains(g.hosts, host) {
		g.hosts = append(g.hosts, host)
	}
	text := f.Stderr
	if len(summary.StderrLines(f)) == 0 || len(g.outputs) == maxOutputs || slices.ContainsFunc(g.outputs, func(o failureOutput) bool { return o.Stderr == text }) {
		return
	}
	g.outputs = append(g.outputs, failureOutput{host, text})
}

// addVerdict adds the failures of which no event has told.
func (t *failureTable) addVerdict(v engine.Verdict, at time.Time) {
	known := slices.Clone(t.list)
	for _, f := range v.Failures {
		told := slices.ContainsFunc(known, func(g *failureGroup) bool {
			sameText := (&engine.Failure{Step: g.step, Cause: g.cause}).Error() == f.Error() || g.cause == f.Cause
			sameHost := slices.ContainsFunc(g.hosts, func(h string) bool {
				return h == f.Host || (&engine.Failure{Host: h, Step: g.step, Cause: g.cause}).Error() == f.Error()
			})
			return sameHost || f.Host == "" && (sameText || len(g.hosts) == 0 && g.step == f.Step)
		})
		if f.Kind != engine.StoppedFailure && !told {
			t.addFailure(failureKey{step: f.Step, cause: f.Cause, hint: f.Hint}, f, f.Host, at)
		}
	}
}

// warningList has each warning once, with the time of the first.
type warningList struct {
	list  []warning
	known map[string]bool
	more  int // warnings that are not kept
}

type warning struct {
	At   time.Time // zero: a warning of the plan
	Text string
}

// maxWarnings is the number of different warnings that a page shows.
const maxWarnings = 500

func (l *warningList) add(at time.Time, text string) {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	switch {
	case text == "" || l.known[text]:
	case len(l.list) == maxWarnings:
		l.more++
	default:
		l.known[text] = true
		l.list = append(l.list, warning{at, text})
	}
}
