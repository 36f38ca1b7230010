package termtext

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

// Safe returns v with every text made safe for a terminal. Text from hosts is
// untrusted: it must not control the terminal, or imitate the lines of
// holdfast.
func Safe[T any](v T) T { return wire.RewriteTexts(v, true, safeText) }

// SafeEvent returns an event with every text made safe for a terminal, except the
// steps of its plan. These are most of a plan, and views show only few of them:
// a view makes safe the steps that it shows.
func SafeEvent(e event.Event) event.Event {
	plan := e.Plan
	e.Plan = nil
	e = Safe(e)
	if plan != nil {
		p := safeButSteps(*plan)
		e.Plan = &p
	}
	return e
}

func safeButSteps(p engine.Plan) engine.Plan {
	bare := p
	bare.Start, bare.Before = nil, nil
	bare.Hosts, bare.Batches = slices.Clone(p.Hosts), slices.Clone(p.Batches)
	for i := range bare.Hosts {
		bare.Hosts[i].Stage, bare.Hosts[i].Sequence, bare.Hosts[i].Rollback = nil, nil, nil
	}
	for i := range bare.Batches {
		bare.Batches[i].Before, bare.Batches[i].After = nil, nil
	}
	bare = Safe(bare)
	bare.Start, bare.Before = p.Start, p.Before
	for i, hp := range p.Hosts {
		bare.Hosts[i].Stage, bare.Hosts[i].Sequence, bare.Hosts[i].Rollback = hp.Stage, hp.Sequence, hp.Rollback
	}
	for i, b := range p.Batches {
		bare.Batches[i].Before, bare.Batches[i].After = b.Before, b.After
	}
	return bare
}

// safeText indents all lines except the first by more columns than any line of holdfast.
func safeText(s string) string {
	s = textutil.Printable(s)
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return lineBreaks.Replace(strings.TrimRight(s, "\n"))
}

var lineBreaks = strings.NewReplacer("\n", "\n          ", "\t", " ")
