package restore

import (
	"fmt"
	"slices"
)

// listSources returns the data that a restore may use, those with the highest revision first. checkHistories refuses to compare
// revisions of several histories.
func (s State) listSources() []Source {
	var list []Source
	for _, h := range s.dataHosts() {
		identity := fmt.Sprintf("data-%s-%s-%s-%d", h.Name, h.DataOf, h.DataCluster, h.Data.Revision) // the member may have run again since
		list = append(list, Source{Identity: identity, Host: h.Name, Data: h.Data})
	}
	slices.SortStableFunc(list, func(a, b Source) int { return int(min(1, max(-1, b.Revision-a.Revision))) })
	return list
}

// Source returns the source of the restore. Without a source, its identity is
// "".
func (s State) Source() Source {
	if s.Snapshot != nil {
		return *s.Snapshot
	}
	for _, source := range s.listSources() {
		if s.From == "" || s.From == source.Host {
			return source
		}
	}
	return Source{}
}
