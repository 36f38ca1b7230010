package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

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
	documents, err := rules.Compare(withoutHostDigests(x.was), WithoutOSSettings(x.desired), policy)
	if err != nil {
		return nil, err
	}
	x.subjects = newSubjectStates(x.base, documents, repair)
	x.setParts(f.KernelArgs)
	x.markFollowingLinks()
	if err := x.findObstacles(); err != nil {
		return nil, err
	}
	if x.diff, err = rules.Compare(x.comparedConfig(), x.want, policy); err != nil {
		return nil, err
	}
	if u := unfinishedWrite(x.facts.Applied); u != nil && u.Failed != "" && !hasTakenEffect(u, x.boot) && !d.StopOnError {
		x.fallBack(u.Failed)
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
	x.entries = entriesOf(x.want)
	x.leaving = leavingEntries(entriesOf(x.was), x.entries)
}

func (x *configDiff) setParts(cmdLine []string) {
	x.accounts = newAccountDiff(accountDiff{facts: x.facts, was: x.was, want: x.want, subjects: x.subjects})
	x.units = &unitDiff{facts: x.facts, was: x.was, want: x.want, entries: x.entries, leaving: x.leaving, hasRecord: x.base.hasRecord, subjects: x.subjects}
	x.args = argDiff{desired: x.desired, applied: x.facts.Applied, cmdLine: cmdLine}
}

// subjectStates tells how differences of resources count.
type subjectStates struct {
	repair         bool             // drift is repaired, not only reported
	onRecord       bool             // the host has a record, and no unfinished write
	changed        map[subject]bool // resources that differ between the baseline and the documents
	followingLinks map[subject]bool // hard links whose targets are replaced
	notInEffect    map[string]bool  // resources changed by an unfinished write: they may not be in effect
}

func newSubjectStates(b *baseline, documents rules.Diff, repair bool) *subjectStates {
	s := &subjectStates{repair: repair, changed: map[subject]bool{}, followingLinks: map[subject]bool{}, notInEffect: setOf(b.touched)}
	s.onRecord = b.hasRecord && unfinishedWrite(b.facts.Applied) == nil
	for _, c := range documents.Changes {
		s.changed[subject{c.Kind, c.Name}] = true
	}
	return s
}

// isDrift reports whether a difference was not caused by the documents or by an
// unfinished write.
func (s *subjectStates) isDrift(of subject) bool {
	return s.onRecord && !s.changed[of] && !s.followingLinks[of]
}

func (s *subjectStates) isReportOnly(of subject) bool { return !s.repair && s.isDrift(of) }

func (s *subjectStates) needsRedo(of subject) bool {
	return s.followingLinks[of] || len(s.notInEffect) > 0 && s.notInEffect[of.String()]
}

func unfinishedWrite(a *resource.Record) *resource.UnfinishedWrite {
	if a == nil {
		return nil
	}
	return a.Unfinished
}

func (x *configDiff) findObstacles() error {
	var wrong []error
	for _, e := range x.entries {
		n, name := x.facts.Nodes[e.path], x.nameOf(e.path)
		isDir, wantDir := n.Type == resource.PathDirectory, e.kind == resource.PathDirectory
		switch {
		case n.Type == resource.PathMissing || e.matchesHost(x.facts.Nodes):
		case e.keep && !x.base.owned[e.path]:
			wrong = append(wrong, fmt.Errorf("%s is on the host already, and is not to be overwritten (overwrite = false): remove it there, or take it out of the configuration", name))
		case isDir && !wantDir:
			wrong = append(wrong, fmt.Errorf("%s is a directory on the host, and is to be a %s: remove it there", name, e.kind))
		case wantDir && !isDir:
			wrong = append(wrong, fmt.Errorf("%s is a %s on the host, and is to be a directory: remove it there", name, n.Type))
		case n.Type == resource.PathOther:
			wrong = append(wrong, fmt.Errorf("%s is neither a file nor a directory nor a link on the host: remove it there", name))
		}
	}
	for _, u := range x.want.Units {
		if problem := x.units.unitProblem(u); problem != "" && !x.subjects.isReportOnly(subject{engine.UnitKind, u.Name}) {
			wrong = append(wrong, fmt.Errorf("unit %s %s", u.Name, problem))
		}
	}
	return errors.Join(slices.Concat(wrong, x.findPathProblems(), x.findMissingAccounts(), x.accounts.findLockout())...)
}

// markFollowingLinks marks hard links whose targets are replaced. Such a link
// must be replaced, too, because it would still link to the old file.
func (x *configDiff) markFollowingLinks() {
	replaced := map[string]bool{}
	for _, e := range x.entries {
		replaced[e.path] = !e.matchesHost(x.facts.Nodes) && !x.subjects.isReportOnly(e.about)
	}
	for _, e := range x.entries {
		if e.hard && replaced[e.data] {
			x.subjects.followingLinks[e.about] = true
		}
	}
}

func unitsAmong(entries []desiredEntry) map[string]bool {
	units := map[string]bool{}
	for _, e := range entries {
		if dir, name := path.Split(e.path); strings.HasSuffix(dir, "/systemd/system/") {
			units[name] = true
		}
	}
	return units
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

// listChanges returns the record as the one change if only the record differs.
func (x *configDiff) listChanges() []engine.Change {
	var list []engine.Change
	for _, c := range x.diff.Changes {
		before, after := x.describeChange(c)
		if before == after {
			before += map[bool]string{true: ", but others", false: ", not in effect"}[c.Kind == engine.UserKind || c.Kind == engine.GroupKind]
		}
		list = append(list, engine.Change{
			Module: engine.ConfigModule, Kind: c.Kind, Resource: c.Kind.String() + " " + x.nameOf(c.Name), Before: before, After: after,
			Rule: c.Rule, Verb: c.Verb, Reason: c.Reason, Drift: x.subjects.isDrift(subject{c.Kind, c.Name}), Actions: c.Actions,
			Warnings: x.changeWarnings(c), Login: x.touchesLogin(c), RebootClass: c.Class,
		})
	}
	if len(list) > 0 {
		list[0].Warnings = slices.Concat(x.removalWarnings(), x.args.stayingArgs(), list[0].Warnings)
	}
	if len(list) > 0 || x.matchesRecord() {
		return list
	}
	before, why := "absent", "the host matches; the record is needed to notice later removals from the configuration"
	if u := unfinishedWrite(x.facts.Applied); u != nil {
		before, why = "unfinished, by run "+u.Run, "the host matches, and that is not on record"
	} else if x.base.hasRecord {
		before, why = "of another configuration", "the difference concerns no files, units, users or groups"
	}
	return []engine.Change{{
		Module: engine.ConfigModule, Resource: engine.RecordResource, Before: before, After: "of this configuration", Verb: engine.Update, Reason: why, Warnings: x.args.stayingArgs(),
		Rule: "built-in: a record changes nothing else", Actions: []engine.Action{{Type: engine.NoAction}},
	}}
}

func (x *configDiff) hasDrift() bool {
	return slices.ContainsFunc(x.diff.Changes, func(c rules.Change) bool { return x.subjects.isDrift(subject{c.Kind, c.Name}) })
}

func (x *configDiff) matchesRecord() bool {
	a := x.facts.Applied
	return a != nil && a.Unfinished == nil && sameRecord(withoutHostDigests(a.Config), x.desired)
}

// sameRecord reports whether two configurations have the same JSON. It compares
// files field by field, because encoding thousands of files takes long.
func sameRecord(a, b resource.Config) bool {
	if !slices.EqualFunc(a.Files, b.Files, sameRecordedFile) {
		return false
	}
	a.Files, b.Files = nil, nil
	x, _ := json.Marshal(a) // strings, numbers and lists always marshal
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func sameRecordedFile(a, b resource.File) bool {
	sameMode := a.Mode == nil && b.Mode == nil || a.Mode != nil && b.Mode != nil && *a.Mode == *b.Mode
	return sameMode && a.Path == b.Path && a.Digest == b.Digest && a.Owner == b.Owner && a.Inherit == b.Inherit && a.Keep == b.Keep &&
		bytes.Equal(a.Contents, b.Contents) && bytes.Equal(a.Append, b.Append)
}
