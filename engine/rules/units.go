package rules

import (
	"holdfast/engine"
	"holdfast/engine/resource"
)

func (c *comparison) compareUnits(old, new resource.Config) {
	same := func(a, b resource.Unit) bool { return len(changedUnitParts(a, b)) == 0 }
	walkDifferences(old.Units, new.Units, comparer[resource.Unit]{func(u resource.Unit) string { return u.Name }, same}, func(was, is *resource.Unit) {
		u := newOrOld(was, is)
		why := ""
		if was != nil && is != nil {
			why = joinParts(changedUnitParts(*was, *is))
		}
		decided := c.policy.decideUnit(u.Name)
		if changesOnlyKeep(was, is) {
			decided = keepDecision(u.Name)
		}
		c.addChange(Change{Kind: engine.UnitKind, Name: u.Name, Verb: changeVerb(was, is), Reason: why, From: u.From}, decided)
	})
}

// changesOnlyKeep reports whether the only change of a unit is the drop-in with which it survives soft reboots.
func changesOnlyKeep(was, is *resource.Unit) bool {
	var none resource.Unit
	if was == nil {
		was = &none
	}
	if is == nil {
		is = &none
	}
	parts := changedUnitParts(*was, *is)
	return len(parts) == 1 && parts[0] == dropinPart+engine.KeepDropin
}

// dropinPart precedes the name of a drop-in in the parts of a unit.
const dropinPart = "drop-in "

func changedUnitParts(a, b resource.Unit) []string {
	var sides []string
	if a.Contents != b.Contents || a.Observed != b.Observed {
		sides = append(sides, "contents")
	}
	key := func(d resource.Dropin) string { return d.Name }
	walkDifferences(a.Dropins, b.Dropins, comparer[resource.Dropin]{key, func(x, y resource.Dropin) bool { return x == y }}, func(was, is *resource.Dropin) {
		sides = append(sides, dropinPart+newOrOld(was, is).Name)
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
