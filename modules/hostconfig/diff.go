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
	facts           resource.ConfigFacts
	boot            string
	desired         resource.Config  // as in the documents
	want            resource.Config  // desired, with the contents that depend on files of the host
	was             resource.Config  // the state that holdfast has applied, or tried to apply
	hasRecord       bool             // was is from a record; otherwise it is the desired configuration
	repair          bool             // drift is repaired, not only reported
	owned           map[string]bool  // paths that holdfast owns
	ownedBefore     map[string]bool  // paths that holdfast owned before an unfinished write
	followingLinks  map[subject]bool // hard links whose targets are replaced
	notInEffect     map[string]bool  // resources changed by an unfinished write: they may not be in effect
	changedSubjects map[subject]bool // resources that differ between was and the documents
	diff            rules.Diff
	entries         []desiredEntry    // entries of want
	leaving         []desiredEntry    // entries of was that want does not have
	contents        map[string][]byte // contents of files that text is appended to, by digest

	origins     map[string]resource.AccountOrigin // see resource.Record
	noDocuments bool
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
		return nil, errors.New("its boot ID is not known, so a reboot could not be told")
	}
	policy, err := rules.NewPolicy(d.Policy)
	if err != nil {
		return nil, err
	}
	x := &configDiff{facts: *f.Config, boot: f.BootID, desired: *d.Config, repair: repair, changedSubjects: map[subject]bool{}, notInEffect: map[string]bool{}, followingLinks: map[subject]bool{}, owned: map[string]bool{}, contents: map[string][]byte{}, noDocuments: d.NoDocuments}
	x.findBaseline(WithoutOSSettings(*d.Config))
	if d.NoDocuments { // only a new installation can change these settings
		x.desired.Fixed = x.was.Fixed
	}
	x.want = x.fillInherited(WithoutOSSettings(x.desired))
	x.origins = x.findOrigins()
	x.entries = entriesOf(x.want)
	x.leaving = leavingEntries(entriesOf(x.was), x.entries)
	documents, err := rules.Compare(withoutHostDigests(x.was), WithoutOSSettings(x.desired), policy)
	if err != nil {
		return nil, err
	}
	for _, c := range documents.Changes {
		x.changedSubjects[subject{c.Domain, c.Name}] = true
	}
	x.markFollowingLinks()
	if err := x.findObstacles(); err != nil {
		return nil, err
	}
	if x.diff, err = rules.Compare(x.comparedConfig(), x.want, policy); err != nil {
		return nil, err
	}
	if u := x.unfinishedWrite(); u != nil && u.Failed != "" && u.Boot == x.boot && !d.StopOnError {
		x.fallBack(u.Failed)
	}
	return x, nil
}

// WithoutOSSettings returns a configuration without the settings that the OS
// module manages.
func WithoutOSSettings(c resource.Config) resource.Config {
	c.OSImage, c.ExtensionsImage, c.KernelType = "", "", ""
	c.Extensions, c.KernelArgs, c.NoKernelArgs = nil, nil, nil
	return c
}

func (x *configDiff) unfinishedWrite() *resource.UnfinishedWrite {
	if x.facts.Applied == nil {
		return nil
	}
	return x.facts.Applied.Unfinished
}

func leavingEntries(was, want []desiredEntry) []desiredEntry {
	kept := map[string]bool{}
	for _, e := range want {
		kept[e.edit.path] = true
	}
	var gone []desiredEntry
	for _, e := range slices.Backward(was) {
		if !kept[e.edit.path] {
			gone = append(gone, e)
		}
	}
	return gone
}

func (x *configDiff) findObstacles() error {
	var wrong []error
	for _, e := range x.entries {
		n := x.facts.Nodes[e.edit.path]
		isDir, wantDir := n.Type == resource.PathDirectory, e.edit.kind == resource.PathDirectory
		switch {
		case n.Type == resource.PathMissing || e.matchesHost(x.facts.Nodes):
		case e.keep && !x.owned[e.edit.path]:
			wrong = append(wrong, fmt.Errorf("%s is on the host already, and is not to be overwritten (overwrite = false): remove it there, or take it out of the configuration", e.edit.path))
		case isDir && !wantDir:
			wrong = append(wrong, fmt.Errorf("%s is a directory on the host, and is to be a %s: remove it there", e.edit.path, e.edit.kind))
		case wantDir && !isDir:
			wrong = append(wrong, fmt.Errorf("%s is a %s on the host, and is to be a directory: remove it there", e.edit.path, n.Type))
		case n.Type == resource.PathOther:
			wrong = append(wrong, fmt.Errorf("%s is neither a file nor a directory nor a link on the host: remove it there", e.edit.path))
		}
	}
	comes := unitsAmong(x.entries)
	for _, u := range x.want.Units {
		missing := x.facts.Units[u.Name] == "not-found" || x.facts.Units[u.Name] == ""
		if missing && u.Enabled != nil && *u.Enabled && !comes[u.Name] && !comes[unitTemplate(u.Name)] {
			wrong = append(wrong, fmt.Errorf("unit %s is to be enabled, and the host does not have it: add its contents, or take it out of the configuration", u.Name))
		}
	}
	return errors.Join(slices.Concat(wrong, x.findPathProblems(), x.findLockout())...)
}

// markFollowingLinks marks hard links whose targets are replaced. Such a link
// must be replaced, too, because it would still link to the old file.
func (x *configDiff) markFollowingLinks() {
	replaced := map[string]bool{}
	for _, e := range x.entries {
		replaced[e.edit.path] = !e.matchesHost(x.facts.Nodes) && !x.isReportOnly(e.about)
	}
	for _, e := range x.entries {
		if e.edit.hard && replaced[e.edit.data] {
			x.followingLinks[e.about] = true
		}
	}
}

func unitsAmong(entries []desiredEntry) map[string]bool {
	units := map[string]bool{}
	for _, e := range entries {
		if dir, name := path.Split(e.edit.path); strings.HasSuffix(dir, "/systemd/system/") {
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
			changes[i].Rule, changes[i].Actions = rule, reboot
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

// isDrift reports whether a difference was not caused by the documents or by an
// unfinished write.
func (x *configDiff) isDrift(s subject) bool {
	return x.hasRecord && x.unfinishedWrite() == nil && !x.changedSubjects[s] && !x.followingLinks[s]
}

func (x *configDiff) isReportOnly(s subject) bool { return !x.repair && x.isDrift(s) }

func kindOf(c rules.Change) engine.Kind {
	if _, group := rules.GroupOf(c.Name); c.Domain == rules.User && group {
		return engine.GroupKind
	}
	return engine.Kind(c.Domain)
}

// listChanges returns the record as the one change if only the record differs.
func (x *configDiff) listChanges() []engine.Change {
	var list []engine.Change
	for _, c := range x.diff.Changes {
		before, after := x.describeChange(c)
		if before == after {
			before += map[bool]string{true: ", but others", false: ", not in effect"}[c.Domain == rules.User]
		}
		list = append(list, engine.Change{
			Module: engine.ConfigModule, Kind: kindOf(c), Resource: string(c.Domain) + " " + c.Name, Before: before, After: after,
			Rule: c.Rule, Verb: string(c.Verb), Why: c.Why, Drift: x.isDrift(subject{c.Domain, c.Name}), Actions: c.Actions,
			Warnings: x.changeWarnings(c),
		})
	}
	if all := x.removalWarning(); all != "" && len(list) > 0 {
		list[0].Warnings = append([]string{all}, list[0].Warnings...)
	}
	if len(list) > 0 || x.matchesRecord() {
		return list
	}
	before, why := "absent", "the host matches; the record is needed to notice later removals from the configuration"
	if u := x.unfinishedWrite(); u != nil {
		before, why = "unfinished, by run "+u.Run, "the host matches, and that is not on record"
	} else if x.hasRecord {
		before, why = "of another configuration", "the difference concerns no files, units, users or groups"
	}
	return []engine.Change{{
		Module: engine.ConfigModule, Resource: engine.RecordResource, Before: before, After: "of this configuration", Verb: string(rules.Update), Why: why,
		Rule: "built-in: a record changes nothing else", Actions: []engine.Action{{Type: engine.NoAction}},
	}}
}

func (x *configDiff) hasDrift() bool {
	return slices.ContainsFunc(x.diff.Changes, func(c rules.Change) bool { return x.isDrift(subject{c.Domain, c.Name}) })
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
