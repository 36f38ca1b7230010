package tables

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// WriteStatus writes the counts of each pool with the time since which it is
// complete or not, then the hosts that are not updated, the etcd clusters
// and the Kubernetes clusters.
func WriteStatus(w io.Writer, s engine.Status, style termtext.Style, verbose bool) error {
	s = termtext.Safe(s)
	if err := WriteReservations(w, s.Reserved, style); err != nil {
		return err
	}
	head := []string{"POOL", "TOTAL"}
	used := shownStates(s)
	for _, state := range used {
		head = append(head, strings.ToUpper(string(state)))
	}
	if !s.Limited {
		head = append(head, "COMPLETE")
	}
	rows := [][]string{head}
	for _, p := range s.Pools {
		row := []string{p.Name, fmt.Sprint(p.Total)}
		for _, state := range used {
			row = append(row, fmt.Sprint(p.Counts[state]))
		}
		if !s.Limited {
			row = append(row, yesNo(p.Complete)+sinceText(p.Since))
		}
		rows = append(rows, row)
	}
	if err := termtext.WriteTable(w, rows); err != nil {
		return err
	}
	if err := writeHosts(w, s, verbose); err != nil {
		return err
	}
	if len(s.Clusters) > 0 {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := WriteEtcd(w, s.Clusters, style); err != nil {
			return err
		}
	}
	if err := writeKubernetes(w, s, style); err != nil {
		return err
	}
	if s.Limited {
		_, err := fmt.Fprintf(w, "\nwithin the limit: %s\n", CountUpdated(s.Pools))
		return err
	}
	verdict := style.Green("complete: every host matches")
	if !s.Complete {
		verdict = style.Yellow("not complete") + ": " + CountUpdated(s.Pools)
	}
	if _, err := fmt.Fprintf(w, "\nsite %s is %s\n", s.Site, verdict); err != nil {
		return err
	}
	return WriteUnhealthyClusters(w, s.UnhealthyClusters, style)
}

// WriteUnhealthyClusters writes a line for each unhealthy etcd cluster.
func WriteUnhealthyClusters(w io.Writer, unhealthy []etcdfacts.UnhealthyCluster, style termtext.Style) error {
	for _, s := range unhealthy {
		if _, err := fmt.Fprintln(w, style.Red(s.String())); err != nil {
			return err
		}
	}
	return nil
}

func sinceText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", since " + t.UTC().Format(timeLayout)
}

// CountUpdated returns how many hosts of these pools are updated, in words.
func CountUpdated(pools []engine.PoolStatus) string {
	updated, total := 0, 0
	for _, p := range pools {
		updated += p.Counts[engine.Updated]
		total += p.Total
	}
	return fmt.Sprintf("%d of %s updated", updated, termtext.FormatCount(total, "host", "hosts"))
}

// shownStates returns the states that have a column. The states pending,
// drifted and maintenance have a column only if a host is in them. All other states always have
// a column, so that the table looks the same every day.
func shownStates(s engine.Status) []engine.HostState {
	return slices.DeleteFunc(engine.HostStates(), func(state engine.HostState) bool {
		rare := state == engine.Pending || state == engine.Drifted || state == engine.MaintenanceState
		return rare && !slices.ContainsFunc(s.Pools, func(p engine.PoolStatus) bool { return p.Counts[state] > 0 })
	})
}

func writeHosts(w io.Writer, s engine.Status, verbose bool) error {
	type key struct{ state, version, note string }
	var groups textutil.Groups[key, string]
	for _, h := range s.Hosts {
		k := key{string(h.State), strings.TrimSpace(h.Version + " " + shortDigest(h.Booted)), h.Reason}
		if verbose {
			k.note = h.Host + "\x00" + k.note
		} else if h.State == engine.Updated && h.Reason == "" {
			continue
		}
		groups.Add(k, h.Host)
	}
	if len(groups.Keys()) == 0 {
		return nil
	}
	rows := [][]string{{"HOST", "STATE", "BOOTED", "NOTE"}}
	for k, hosts := range groups.All() {
		_, note, found := strings.Cut(k.note, "\x00")
		if !found {
			note = k.note
		}
		rows = append(rows, []string{strings.Join(textutil.FoldNames(hosts), ","), k.state, k.version, note})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeHostTable(w, rows)
}

// writeHostTable writes a table of hosts. The rows of hosts with changes may be
// less wide, so that longer notes go below the row.
func writeHostTable(w io.Writer, rows [][]string) error {
	return termtext.WriteTableWithNotes(w, rows, func(row []string) int {
		if slices.Contains([]engine.HostState{engine.Pending, engine.Staged, engine.Drifted, engine.PausedState}, engine.HostState(row[1])) {
			return termtext.Width
		}
		return termtext.MaxTableWidth
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func shortDigest(digest string) string {
	return strings.TrimPrefix(engine.ShortDigest(digest), "sha256:")
}

const timeLayout = "2006-01-02 15:04 MST"
