package hostconfig

import (
	"errors"
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// configDiff is the difference between a host and its desired configuration.
type configDiff struct {
	facts       resource.ConfigFacts
	boot        resource.BootID
	desired     resource.Config // as in the documents
	want        resource.Config // desired, with the contents that depend on files of the host
	was         resource.Config // the state that holdfast has applied, or tried to apply
	entries     []desiredEntry  // entries of want
	leaving     []desiredEntry  // entries of was that want does not have
	diff        rules.Diff
	contents    map[string][]byte // contents of files that text is appended to, by digest
	noDocuments bool
	names       map[string]string // see resolvedInput

	base     *baseline
	subjects *subjectStates
	texts    appendedTexts
	accounts *accountDiff
	units    *unitDiff
	args     argDiff
}

// Diff compares the host with its desired configuration. Its changes include
// drift, also for a pool that only reports drift.
func (module) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if d.Config == nil || hasNothing(d, f) {
		return engine.Difference{}, nil
	}
	x, err := newConfigDiff(d, f, true)
	if err != nil {
		return engine.Difference{}, err
	}
	list := x.listChanges()
	isDrift := func(c engine.Change) bool { return c.Drift }
	hasDrift := slices.ContainsFunc(list, isDrift)
	return engine.Difference{Changes: list, Steps: func(t engine.Target, changes []engine.Change) engine.Steps {
		t.Desired = d
		if !hasDrift || slices.ContainsFunc(changes, isDrift) {
			return x.buildSteps(t)
		}
		onlyWanted, err := newConfigDiff(d, f, false)
		if err != nil { // the comparison above would have failed, too
			return engine.Steps{}
		}
		return onlyWanted.buildSteps(t)
	}}, nil
}

func hasNothing(d engine.Desired, f engine.Facts) bool {
	return d.NoDocuments && f.Config != nil && f.Config.Problem == "" && f.Config.Applied == nil
}

// newConfigDiff compares a host with its desired configuration. Drift counts only
// with repair.
//
// A change leads from the observed state to the desired state. A resource counts
// as not observed if an unfinished write may have changed it without effect.
func newConfigDiff(d engine.Desired, f engine.Facts, repair bool) (*configDiff, error) {
	switch {
	case f.Config == nil:
		return nil, errors.New("its configuration was not gathered")
	case f.Config.Problem != "":
		return nil, errors.New(f.Config.Problem)
	case f.BootID == "":
		return nil, errors.New("its boot ID is unknown, so a reboot could not be recognised")
	}
	policy, err := rules.NewPolicy(d.Policy)
	if err != nil {
		return nil, err
	}
	r, err := resolvePaths(*d.Config, *f.Config)
	if err != nil {
		return nil, err
	}
	policy = policy.WithLinks(r.links)
	x := &configDiff{facts: r.facts, names: r.names, boot: f.BootID, desired: r.config, noDocuments: d.NoDocuments}
	x.setSides()
	desired := WithoutOSSettings(x.desired)
	desired.Fixed = x.want.Fixed
	documents, err := rules.Compare(withoutHostDigests(x.was), desired, policy)
	if err != nil {
		return nil, err
	}
	x.args = argDiff{desired: x.desired, applied: x.facts.Applied, cmdLine: f.KernelArgs}
	compared := x.comparedConfig(documents, repair)
	if err := x.findObstacles(); err != nil {
		return nil, err
	}
	if x.diff, err = rules.Compare(compared, x.want, policy); err != nil {
		return nil, err
	}
	if u := unfinishedWrite(x.facts.Applied); u != nil && u.FailedAction != "" && !hasTakenEffect(u, x.boot) && !d.StopOnError {
		x.fallBack(u.FailedAction)
	}
	return x, nil
}

// setSides sets the two configurations that are compared, and their entries.
func (x *configDiff) setSides() {
	x.texts = appendedTexts{x.facts}
	x.base = newBaseline(x.facts, x.boot, WithoutOSSettings(x.desired))
	x.was = x.base.config
	if x.noDocuments { // only a new installation can change these settings
		x.desired.Fixed = x.was.Fixed
	}
	x.want, x.contents = x.texts.fillInherited(WithoutOSSettings(x.desired))
	x.was.Fixed, x.want.Fixed = withoutFIPS(x.was.Fixed), withoutFIPS(x.want.Fixed)
	x.entries = entriesOf(x.want)
	x.leaving = leavingEntries(entriesOf(x.was), x.entries)
}

// withoutFIPS returns settings without FIPS mode: the kernel of the host decides about it, and not the record (see
// findObstacles).
func withoutFIPS(settings []resource.Fixed) []resource.Fixed {
	return dropMatching(settings, func(f resource.Fixed) bool { return f.IsFIPS() })
}

func unfinishedWrite(a *resource.Record) *resource.UnfinishedWrite {
	if a == nil {
		return nil
	}
	return a.Unfinished
}

func (x *configDiff) fallBack(failed string) {
	if len(x.diff.Changes) == 0 {
		return
	}
	rule := "fallback: " + failed + " did not work"
	reboot := []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
	changes := slices.Clone(x.diff.Changes)
	for i := range changes {
		if hasEffect(changes[i].Actions) {
			changes[i].Rule, changes[i].Actions, changes[i].Class = rule, reboot, rules.FailedActionClass
		}
	}
	x.diff.Changes, x.diff.Actions = changes, nil
	for _, a := range reboot {
		x.diff.Actions = append(x.diff.Actions, rules.Action{Action: a, Rules: []string{rule}})
	}
}

func hasEffect(actions []engine.Action) bool {
	return slices.ContainsFunc(actions, func(a engine.Action) bool { return a.Type != engine.NoAction })
}

func leavingEntries(was, want []desiredEntry) []desiredEntry {
	kept := map[string]bool{}
	for _, e := range want {
		kept[e.path] = true
	}
	var gone []desiredEntry
	for _, e := range slices.Backward(was) {
		if !kept[e.path] {
			gone = append(gone, e)
		}
	}
	return gone
}
