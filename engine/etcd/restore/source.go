package restore

import "slices"

// sources returns the data that a restore may use, the freshest first.
func (s State) sources() []Source {
	var list []Source
	for _, h := range s.Hosts {
		if s.mayHaveMember(h) && h.Unread == "" && h.Data.Revision > 0 {
			list = append(list, Source{Identity: "data-" + h.Name + "-" + h.DataOf + "-" + h.DataCluster, Host: h.Name, Data: h.Data})
		}
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
	if list := s.sources(); len(list) > 0 {
		return list[0]
	}
	return Source{}
}

// Freshest returns the source with the highest revision among source, the data directories and the saved snapshots.
func (s State) Freshest(source Source, saved []Source) Source {
	for _, other := range slices.Concat(s.sources(), saved) {
		if other.Revision > source.Revision {
			source = other
		}
	}
	return source
}
