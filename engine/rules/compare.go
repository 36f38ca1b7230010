package rules

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// Compare returns the changes from the configuration old to the configuration
// new, and the actions that make these changes take effect. It returns
// an error if a running host cannot be changed in this way.
func Compare(old, new resource.Config, policy Policy) (Diff, error) {
	if err := refuseFixed(old, new); err != nil {
		return Diff{}, err
	}
	c := &comparison{policy: policy, diff: Diff{Changes: []Change{}}}
	c.compareSystem(old, new)
	c.compareFiles(old, new)
	c.compareUnits(old, new)
	c.compareAccounts(old, new)
	c.diff.Actions = sortActions(c.requested)
	return c.diff, nil
}

// comparison collects changes and the actions that they request.
type comparison struct {
	policy    Policy
	diff      Diff
	requested []requestedAction
}

func (c *comparison) addChange(change Change, v decision) {
	change.Rule, change.Actions = v.rule, v.actions
	change.Class = rebootClassOf(change.Kind, c.policy.links.Resolve(change.Name))
	change.Reason = strings.Join(slices.DeleteFunc([]string{change.Reason, v.why}, func(s string) bool { return s == "" }), "; ")
	c.diff.Changes = append(c.diff.Changes, change)
	for i, a := range v.actions {
		c.requested = append(c.requested, requestedAction{action: a, decision: v, index: i})
	}
}

// comparer identifies the elements of a list and compares them.
type comparer[T any] struct {
	key  func(T) string
	same func(a, b T) bool
}

// walkDifferences compares two lists by key. It calls found for each element
// that only one list has, and for each pair of elements that differ.
func walkDifferences[T any](old, new []T, by comparer[T], found func(was, is *T)) {
	key := by.key
	old, new = sortByKey(old, key), sortByKey(new, key)
	for len(old) > 0 || len(new) > 0 {
		switch {
		case len(new) == 0 || len(old) > 0 && key(old[0]) < key(new[0]):
			found(&old[0], nil)
			old = old[1:]
		case len(old) == 0 || key(new[0]) < key(old[0]):
			found(nil, &new[0])
			new = new[1:]
		default:
			if !by.same(old[0], new[0]) {
				found(&old[0], &new[0])
			}
			old, new = old[1:], new[1:]
		}
	}
}

func sortByKey[T any](list []T, key func(T) string) []T {
	by := func(a, b T) int { return strings.Compare(key(a), key(b)) }
	if slices.IsSortedFunc(list, by) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, by)
	return list
}

func changeVerb[T any](was, is *T) engine.Verb {
	switch {
	case was == nil:
		return engine.Create
	case is == nil:
		return engine.Delete
	}
	return engine.Update
}

func newOrOld[T any](was, is *T) T {
	if is != nil {
		return *is
	}
	return *was
}

func (c *comparison) compareFiles(old, new resource.Config) {
	walkDifferences(old.Files, new.Files, comparer[resource.File]{func(f resource.File) string { return f.Path }, sameFile}, func(was, is *resource.File) {
		f := newOrOld(was, is)
		v := c.policy.decidePath(f.Path)
		if v.isRegistriesRule {
			v = v.withDrainIfUnsafe(registriesChange{was: was, is: is, hasDropins: hasRegistriesDropins(old, new)})
		}
		c.addChange(Change{Kind: engine.FileKind, Name: f.Path, Verb: changeVerb(was, is), Reason: changedFileParts(was, is), From: f.From}, v)
	})
	sameDirectory := func(a, b resource.Directory) bool { return sameInt(a.Mode, b.Mode) && a.Owner == b.Owner }
	walkDifferences(old.Directories, new.Directories, comparer[resource.Directory]{func(d resource.Directory) string { return d.Path }, sameDirectory}, func(was, is *resource.Directory) {
		d := newOrOld(was, is)
		c.addChange(Change{Kind: engine.DirectoryKind, Name: d.Path, Verb: changeVerb(was, is), From: d.From}, c.policy.decidePath(d.Path))
	})
	sameLink := func(a, b resource.Link) bool {
		return a.Target == b.Target && a.Observed == b.Observed && a.Hard == b.Hard && a.Owner == b.Owner
	}
	walkDifferences(old.Links, new.Links, comparer[resource.Link]{func(l resource.Link) string { return l.Path }, sameLink}, func(was, is *resource.Link) {
		l := newOrOld(was, is)
		c.addChange(Change{Kind: engine.LinkKind, Name: l.Path, Verb: changeVerb(was, is), From: l.From}, c.policy.decidePath(l.Path))
	})
}

// sameFile ignores Keep, which only decides how to treat an existing file.
func sameFile(a, b resource.File) bool {
	return a.Inherit == b.Inherit && sameInt(a.Mode, b.Mode) && a.Owner == b.Owner && sameContents(a, b)
}

func sameContents(a, b resource.File) bool {
	if a.Sum != "" && b.Sum != "" {
		return a.Sum == b.Sum
	}
	return a.Digest == b.Digest && a.Observed == b.Observed && bytes.Equal(a.Contents, b.Contents) && bytes.Equal(a.Append, b.Append)
}

func sameInt(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// changedFileParts names the changed parts of a file without their values.
func changedFileParts(was, is *resource.File) string {
	if was == nil || is == nil {
		return ""
	}
	var sides []string
	for _, s := range []struct {
		name string
		same bool
	}{
		{"contents", was.Inherit == is.Inherit && sameContents(*was, *is)},
		{"mode", sameInt(was.Mode, is.Mode)},
		{"owner", was.Owner == is.Owner},
	} {
		if !s.same {
			sides = append(sides, s.name)
		}
	}
	return joinParts(sides)
}

func joinParts(sides []string) string {
	switch len(sides) {
	case 0:
		return ""
	case 1:
		return sides[0] + " changed"
	}
	return strings.Join(sides[:len(sides)-1], ", ") + " and " + sides[len(sides)-1] + " changed"
}

// requestedAction is an action that a rule requests.
type requestedAction struct {
	action   engine.Action
	decision decision
	index    int // position in the actions of the rule
}

// sortActions returns each action once, in execution order, with all rules that
// request the action. A reboot replaces all other actions except the drain, and
// any action replaces "none".
func sortActions(list []requestedAction) []Action {
	has := func(t engine.ActionType) bool {
		return slices.ContainsFunc(list, func(w requestedAction) bool { return w.action.Type == t })
	}
	rebooting := has(engine.RebootAction)
	list = slices.DeleteFunc(list, func(w requestedAction) bool {
		return w.action.Type == engine.NoAction || rebooting && w.action.Type != engine.DrainAction && w.action.Type != engine.RebootAction
	})
	slices.SortStableFunc(list, func(a, b requestedAction) int {
		return cmp.Or(cmp.Compare(a.actionPhase(), b.actionPhase()), cmp.Compare(a.decision.rank, b.decision.rank),
			cmp.Compare(a.index, b.index), cmp.Compare(a.decision.rule, b.decision.rule))
	})
	at := map[engine.Action]int{}
	var actions []Action
	for _, w := range list {
		i, ok := at[w.action]
		if !ok {
			i = len(actions)
			at[w.action] = i
			actions = append(actions, Action{Action: w.action})
		}
		a := &actions[i]
		if !slices.Contains(a.Rules, w.decision.rule) {
			a.Rules = append(a.Rules, w.decision.rule)
		}
		a.Timeout = max(a.Timeout, w.decision.timeout)
	}
	if len(actions) == 0 {
		return []Action{{Action: engine.Action{Type: engine.NoAction}}}
	}
	return actions
}

func (w requestedAction) actionPhase() int {
	switch w.action.Type {
	case engine.DrainAction:
		return 0
	case engine.ReloadDaemon:
		return 1
	case engine.ReloadUnit:
		return 3
	case engine.RestartUnit:
		if w.action.Unit == trustUnit {
			return 2
		}
		return 4
	default:
		return 5
	}
}
