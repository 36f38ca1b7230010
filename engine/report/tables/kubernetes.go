package tables

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// writeKubernetes writes a row for each Kubernetes cluster, then the hosts whose node takes no work or is not known,
// and the problems of the APIs.
func writeKubernetes(w io.Writer, s engine.Status, style termtext.Style) error {
	if len(s.Kubernetes) == 0 {
		return nil
	}
	rows := [][]string{{"KUBERNETES", "NODES", "READY", "CORDONED", "KUBELETS"}}
	for _, c := range s.Kubernetes {
		row := []string{c.Name, fmt.Sprint(c.Nodes), fmt.Sprint(c.Ready), fmt.Sprint(c.Cordoned), countKubelets(c.Kubelets)}
		if c.Problem != nil {
			row = []string{c.Name, "not known", "", "", ""}
		}
		rows = append(rows, row)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := termtext.WriteTable(w, rows); err != nil {
		return err
	}
	if err := writeNodes(w, s.Hosts); err != nil {
		return err
	}
	for _, c := range s.Kubernetes {
		var lines []string
		if c.Problem != nil {
			lines = append(lines, style.Red(c.Problem.TextOf("Kubernetes cluster "+c.Name)))
		}
		for _, p := range c.Warnings {
			lines = append(lines, style.Yellow(p.TextOf("Kubernetes cluster "+c.Name)))
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// countKubelets names the versions of kubelets, with the number of nodes of each if there are several.
func countKubelets(kubelets map[string]int) string {
	var list []string
	for _, version := range slices.Sorted(maps.Keys(kubelets)) {
		if len(kubelets) == 1 {
			return version
		}
		list = append(list, fmt.Sprintf("%s (%d)", version, kubelets[version]))
	}
	return strings.Join(list, ", ")
}

func writeNodes(w io.Writer, hosts []engine.HostStatus) error {
	var groups textutil.Groups[string, string]
	for _, h := range hosts {
		switch n := h.Node; {
		case n == nil:
		case n.Problem != "":
			groups.Add(n.Problem, h.Host)
		case n.Absence != "":
			groups.Add(n.Text, h.Host)
		}
	}
	if len(groups.Keys()) == 0 {
		return nil
	}
	rows := [][]string{{"HOST", "NODE"}}
	for text, names := range groups.All() {
		rows = append(rows, []string{strings.Join(textutil.FoldNames(names), ","), text})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return termtext.WriteTableWithNotes(w, rows, func([]string) int { return termtext.MaxTableWidth })
}
