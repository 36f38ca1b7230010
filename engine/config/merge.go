package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/ignition"
)

// baseRole is the role whose documents all other roles override.
const baseRole = "worker"

// orderDocuments sorts the documents of one source as the Machine Config
// Operator does (MergeMachineConfigs in its pkg/controller/common): by name,
// but documents of the role worker come before documents of other roles.
func orderDocuments(docs []*document) {
	others := slices.ContainsFunc(docs, func(d *document) bool { return d.role != "" && d.role != baseRole })
	rank := func(d *document) int {
		if others && d.role != baseRole {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(docs, func(a, b *document) int {
		if c := rank(a) - rank(b); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.sortedName(), b.sortedName()), a.order-b.order)
	})
}

// sortedName returns the name without the number that documents of one file without names have.
func (d *document) sortedName() string {
	if d.order == 0 {
		return d.name
	}
	return strings.TrimSuffix(d.name, fmt.Sprintf("#%d", d.order))
}

// mergeIgnition lets later documents win. Files that only one document has need no merging.
func mergeIgnition(docs []*document) types.Config {
	said := map[string]int{}
	for _, d := range docs {
		for _, e := range listEntries(d.ignition) {
			if e.at[0] == "storage" {
				said[e.key]++
			}
		}
	}
	merged := types.Config{Ignition: types.Ignition{Version: ignition.LatestVersion}}
	var alone []types.File
	for _, d := range docs {
		c := d.ignition
		c.Storage.Files = nil
		for _, f := range d.ignition.Storage.Files {
			if said["node "+f.Path] == 1 {
				alone = append(alone, f)
			} else {
				c.Storage.Files = append(c.Storage.Files, f)
			}
		}
		merged = v3_6.Merge(merged, c)
	}
	merged.Storage.Files = append(merged.Storage.Files, alone...)
	return merged
}

// mergeSpecs merges the MachineConfig settings outside of Ignition. The last
// OS image wins, but any image overrides one that a controller generated. The
// last kernel type other than the default wins; the default is kept only if a
// document sets it. FIPS is on if any document
// enables it. Kernel arguments and extensions accumulate.
func mergeSpecs(docs []*document) machineSpec {
	var m machineSpec
	for _, generated := range []bool{true, false} {
		for _, d := range docs {
			if d.generated != generated {
				continue
			}
			m.OSImageURL = cmp.Or(d.spec.OSImageURL, m.OSImageURL)
			m.BaseOSExtensionsContainerImage = cmp.Or(d.spec.BaseOSExtensionsContainerImage, m.BaseOSExtensionsContainerImage)
		}
	}
	for _, d := range docs {
		if d.spec.hasOtherKernel() || m.KernelType == "" {
			m.KernelType = d.spec.KernelType
		}
		m.FIPS = m.FIPS || d.spec.FIPS
		m.KernelArguments = append(m.KernelArguments, d.spec.KernelArguments...)
		m.Extensions = append(m.Extensions, d.spec.Extensions...)
	}
	return m
}
