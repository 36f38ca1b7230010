package htmlview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

const (
	openChanges = 12   // changes of a group that are not folded
	maxChanges  = 2000 // changes of a page
)

type changesPart struct {
	Groups []changeGroup
}

type changeGroup struct {
	Play, Pool, Title string
	Hosts             []string
	Outcomes          string
	Notes             []string
	Changes           []changeRow
	More              []changeRow // further changes, which are closed
}

type changeRow struct{ Verb, Resource, Before, After, Actions, Rule, Reason string }

// buildChanges returns the changes of all plays, and the number of changes that
// are left out.
func (v *View) buildChanges() (*changesPart, int) {
	results := v.resultsByHost()
	part, room, left := &changesPart{}, maxChanges, 0
	for _, play := range v.plans {
		for _, g := range play.groups {
			row := buildChangeGroup(g, results)
			row.Play = play.play
			shown := min(len(g.Changes), room)
			room, left = room-shown, left+len(g.Changes)-shown
			for _, c := range g.Changes[:shown] {
				row.Changes = append(row.Changes, changeRow{
					string(cmp.Or(c.Verb, engine.Update)), c.Resource, termtext.ShortHashes(c.Before), termtext.ShortHashes(c.After),
					planview.ActionNames(c.Actions), c.Rule, changeReason(c),
				})
			}
			if len(row.Changes) > openChanges {
				row.Changes, row.More = row.Changes[:openChanges], row.Changes[openChanges:]
			}
			part.Groups = append(part.Groups, row)
		}
	}
	if len(part.Groups) == 0 {
		return nil, 0
	}
	return part, left
}

func buildChangeGroup(g planview.HostGroup, results map[string]summary.HostResult) changeGroup {
	var list []summary.HostResult
	untouched := 0
	for _, host := range g.Hosts {
		if r, ok := results[host]; ok {
			list = append(list, r)
		} else {
			untouched++
		}
	}
	row := changeGroup{Pool: g.Pool, Hosts: textutil.FoldNames(g.Hosts), Title: termtext.FormatCount(len(g.Hosts), "host", "hosts")}
	row.Outcomes = countOutcomes(list, false)
	if untouched > 0 {
		row.Outcomes = joinParts(", ", row.Outcomes, fmt.Sprintf("%d not touched", untouched))
	}
	if len(g.Actions) > 0 {
		row.Notes = append(row.Notes, "actions: "+planview.ActionNames(g.Actions))
	}
	if g.Adopt != "" {
		row.Notes = append(row.Notes, "adopts the hold of run "+g.Adopt)
	}
	if !g.Disrupts {
		row.Notes = append(row.Notes, "without disruption")
	}
	if g.Reverts {
		row.Notes = append(row.Notes, "boots its previous OS if it fails after its reboot")
	}
	return row
}

func changeReason(c engine.Change) string {
	if c.Drift {
		return joinParts("; ", "drift", c.Reason)
	}
	return c.Reason
}

func (v *View) lastPlan() plannedPlay {
	if len(v.plans) == 0 {
		return plannedPlay{}
	}
	return v.plans[len(v.plans)-1]
}

type exclusionRow struct {
	Kind, Reason string
	Hosts        []string
}

type driftRow struct {
	Hosts   []string
	Changes string
}

// listExclusions returns the hosts that the run left out, also failed ones: by
// the verdict, or for a run without an end by the last plan.
func (v *View) listExclusions() []exclusionRow {
	list := v.lastPlan().excluded
	if v.end != nil {
		list = v.end.Verdict.Excluded
	}
	type key struct{ kind, reason string }
	var groups textutil.Groups[key, string]
	for _, x := range list {
		groups.Add(key{string(x.Kind), x.Reason}, x.Host)
	}
	var rows []exclusionRow
	for k, hosts := range groups.All() {
		rows = append(rows, exclusionRow{k.kind, k.reason, textutil.FoldNames(hosts)})
	}
	return rows
}

func (v *View) listDrift() []driftRow {
	var groups textutil.Groups[string, string]
	for _, d := range v.lastPlan().drift {
		var names []string
		for _, c := range d.Changes {
			names = append(names, c.Resource)
		}
		groups.Add(strings.Join(names, ", "), d.Host)
	}
	var rows []driftRow
	for changes, hosts := range groups.All() {
		rows = append(rows, driftRow{textutil.FoldNames(hosts), changes})
	}
	return rows
}

// listRefusals returns why nothing may start, or the run may not go on.
func (v *View) listRefusals() []string {
	plan := v.lastPlan()
	refusals, unfinished := plan.refusals, plan.unfinished
	var unhealthy []string
	if v.end != nil {
		refusals, unfinished = v.end.Verdict.Refusals, v.end.Verdict.Unfinished
		for _, u := range v.end.Verdict.UnhealthyClusters {
			unhealthy = append(unhealthy, u.String())
		}
	}
	lines := slices.Concat(refusals, unhealthy)
	for _, l := range planview.UnfinishedLines(unfinished, true) {
		lines = append(lines, "unfinished: "+l)
	}
	return lines
}
