package tables

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcdfacts"
)

func versionsText(c etcdfacts.ClusterFacts) string {
	var parts, versions []string
	if c.Version != "" {
		parts = append(parts, "cluster version "+c.Version)
	}
	members := map[string][]string{}
	for _, m := range c.Members {
		if m.StorageVersion == "" {
			continue
		}
		if members[m.StorageVersion] == nil {
			versions = append(versions, m.StorageVersion)
		}
		members[m.StorageVersion] = append(members[m.StorageVersion], m.Name)
	}
	slices.Sort(versions)
	for _, v := range versions {
		text := "storage version " + v
		if len(members[v]) < len(c.Members) {
			text += fmt.Sprintf(" (%s)", strings.Join(members[v], ", "))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "cluster " + c.Name + ": " + strings.Join(parts, ", ")
}
