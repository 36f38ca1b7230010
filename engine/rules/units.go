package rules

import "holdfast/engine"

func (c *comparison) compareUnits(old, new engine.Config) {
	same := func(a, b engine.Unit) bool { return len(changedUnitParts(a, b)) == 0 }
	walkDifferences(old.Units, new.Units, comparer[engine.Unit]{func(u engine.Unit) string { return u.Name }, same}, func(was, is *engine.Unit) {
		u := newOrOld(was, is)
		why := ""
		if was != nil && is != nil {
			why = joinParts(changedUnitParts(*was, *is))
		}
		c.addChange(Change{Domain: Unit, Name: u.Name, Verb: changeVerb(was, is), Why: why, From: u.From}, c.policy.decideUnit(u.Name))
	})
}

func changedUnitParts(a, b engine.Unit) []string {
	var sides []string
	if a.Contents != b.Contents || a.Observed != b.Observed {
		sides = append(sides, "contents")
	}
	key := func(d engine.Dropin) string { return d.Name }
	walkDifferences(a.Dropins, b.Dropins, comparer[engine.Dropin]{key, func(x, y engine.Dropin) bool { return x == y }}, func(was, is *engine.Dropin) {
		sides = append(sides, "drop-in "+newOrOld(was, is).Name)
	})
	if !sameBool(a.Enabled, b.Enabled) {
		sides = append(sides, "enablement")
	}
	if !sameBool(a.Masked, b.Masked) {
		sides = append(sides, "mask")
	}
	return sides
}

func sameBool(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
