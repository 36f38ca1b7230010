package restore

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcd/membership"
)

// A history is the sequence of changes of one cluster. Only revisions of one history can be compared: two clusters count
// them independently, and a restore begins another cluster.

// History returns the history of the data of a host. Data of the same history have the same cluster, and no revision with
// different contents. Data of an unknown cluster have a history of their own.
func (h Host) History() string {
	if h.DataCluster == "" {
		return "of host " + h.Name
	}
	return h.DataCluster + " " + h.Data.Fork
}

// isOfOther reports whether data are known to be of another history. Contents that cannot be read may be those of any data with the
// same cluster ID.
func (h Host) isOfOther(history string) bool {
	if history == "" || h.DataCluster == "" || h.Unread != "" && strings.HasPrefix(history, h.DataCluster+" ") {
		return false
	}
	return h.History() != history
}

// sharesMember reports whether two member lists have a member in common. IDs of members are unique, except in clusters
// that were made by hand with the names, addresses and token of another one.
func sharesMember(a, b []membership.Member) bool {
	return slices.ContainsFunc(a, func(m membership.Member) bool {
		return slices.ContainsFunc(b, func(other membership.Member) bool { return m.ID == other.ID })
	})
}

func (s State) hasAncestor(list []membership.Member) bool {
	return slices.ContainsFunc(list, func(m membership.Member) bool { return slices.Contains(s.Ancestors, m.ID) })
}

// dataHosts returns the hosts whose data a restore may use.
func (s State) dataHosts() []Host {
	var list []Host
	for _, h := range s.Hosts {
		if s.mayHaveMember(h) && h.Unread == "" && h.Data.Revision > 0 {
			list = append(list, h)
		}
	}
	return list
}

// HasUnlikeHistories reports whether the hosts have data of several histories.
func (s State) HasUnlikeHistories() bool {
	list := s.dataHosts()
	return slices.ContainsFunc(list, func(h Host) bool { return h.History() != list[0].History() })
}

// checkHistories refuses to choose between data of several histories: nothing in the data tells which cluster is the one
// that lived last.
func (s State) checkHistories() error {
	if s.Snapshot != nil {
		return nil
	}
	list := s.dataHosts()
	if s.From != "" {
		if !slices.ContainsFunc(list, func(h Host) bool { return h.Name == s.From }) {
			return s.refuseRestore(NoSource, fmt.Sprintf("host %s, which --from names, has no data that can be used%s", s.From, s.unreadText()))
		}
		return nil
	}
	var texts, ways []string
	for _, h := range list {
		text := fmt.Sprintf("%s has cluster %s, revision %d", h.Name, orUnknown(h.DataCluster), h.Data.Revision)
		if h.Data.Time != "" {
			text += ", last written " + h.Data.Time
		}
		if h.Data.Fork != "" {
			text += ", with other contents"
		}
		texts = append(texts, text)
		ways = append(ways, "--from "+h.Name)
	}
	switch {
	case s.HasUnlikeHistories():
		return s.refuseRestore(UnlikeHistories, fmt.Sprintf("the hosts have data of different clusters, whose revisions cannot be compared: %s; "+
			"find out which cluster is the right one, and name a host with its data: %s", strings.Join(texts, "; "), strings.Join(ways, " or ")))
	case len(list) > 0 && !s.isKnown(list):
		return s.refuseRestore(UnlikeHistories, fmt.Sprintf("the data on the hosts are of another cluster than the snapshots that runs have saved: %s; "+
			"the members of the data are %s, the members of the snapshots %s; if the data are the right ones, use %s",
			strings.Join(texts, "; "), listMembers(list[0].Data.Members), listMembers(s.Known), strings.Join(ways, " or ")))
	}
	return nil
}

// isKnown reports whether data of one history are of the cluster of the saved snapshots, or of one that a restore has made of it.
// Without snapshots, nothing is known against the data.
func (s State) isKnown(list []Host) bool {
	return len(s.Known) == 0 || s.hasAncestor(s.Known) || slices.ContainsFunc(list, func(h Host) bool {
		return sharesMember(h.Data.Members, s.Known) || sharesMember(h.Data.Removed, s.Known)
	})
}

func orUnknown(cluster string) string {
	if cluster == "" {
		return "(unknown)"
	}
	return cluster
}

// checkOrigin refuses a snapshot of another cluster. A snapshot does not contain the ID of its cluster, so its members
// decide: one of them must be, or have been, a member of this cluster. That is known from the data on the hosts, else from the snapshots
// that runs have saved, else from the names of the hosts; and from the records of restores, because a restore makes a
// cluster with other IDs.
func (s State) checkOrigin(source Source) error {
	if s.Snapshot == nil || s.SameCluster || s.hasAncestor(source.Members) {
		return nil
	}
	var known, former []membership.Member
	for _, h := range s.Hosts {
		if s.mayHaveMember(h) && h.Unread == "" {
			known, former = append(known, h.Data.Members...), append(former, h.Data.Removed...)
		}
	}
	from := "those of the data on the hosts"
	if len(known) == 0 {
		known, from = s.Known, "those in the snapshots that runs have saved of this cluster"
	}
	switch own := listMembers(source.Members); {
	case sharesMember(source.Members, known) || sharesMember(source.Members, former):
		return nil
	case len(known) > 0:
		return s.refuseRestore(Foreign, fmt.Sprintf("the snapshot is of another cluster: its members are %s; %s are %s; "+
			"if you know that it is a snapshot of this cluster, from before a restore that was not recorded, use --same-cluster", own, from, listMembers(known)))
	case !slices.ContainsFunc(source.Members, func(m membership.Member) bool { return m.Host != "" }):
		return s.refuseRestore(Foreign, fmt.Sprintf("the snapshot is of another cluster: none of its members %s is on a host of the inventory that names the cluster", own))
	}
	return nil
}

func listMembers(list []membership.Member) string {
	var texts []string
	for _, m := range list {
		if text := m.DisplayName() + " (" + m.ID + ")"; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return joinOr(texts, "none")
}

// areComparable reports whether the revisions of two sources can be compared. Unknown members prove nothing.
func (s State) areComparable(a, b Source) bool {
	if a.Host != "" && b.Host != "" {
		return s.historyOf(a.Host) == s.historyOf(b.Host)
	}
	return len(a.Members) == 0 || len(b.Members) == 0 || sharesMember(a.Members, b.Members)
}

func (s State) historyOf(host string) string {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == host })
	if i < 0 {
		return ""
	}
	return s.Hosts[i].History()
}

// Freshest returns the source with the highest revision among source, and the data directories and saved snapshots with
// the same history.
func (s State) Freshest(source Source, saved []Source) Source {
	best := source
	for _, other := range slices.Concat(s.listSources(), saved) {
		if s.areComparable(source, other) && other.Revision > best.Revision {
			best = other
		}
	}
	return best
}

// OtherHistories returns the data directories and saved snapshots whose revisions cannot be compared with those of source.
func (s State) OtherHistories(source Source, saved []Source) []Source {
	return slices.DeleteFunc(slices.Concat(s.listSources(), saved), func(other Source) bool {
		return other.Path != "" && other.Path == source.Path || s.areComparable(source, other)
	})
}

// HighestRevision returns the highest revision that clients may know, of any history: also from a cluster that another
// restore has made since.
func (s State) HighestRevision(source Source, saved []Source) int64 {
	highest := max(source.Revision, s.Restored)
	for _, other := range slices.Concat(s.listSources(), saved) {
		highest = max(highest, other.Revision)
	}
	return highest
}

// Kin returns the IDs of the members of a source, and of the members whose cluster the restore replaces. A later restore takes
// snapshots of all of them for snapshots of this cluster.
func (s State) Kin(source Source) []string {
	var ids []string
	add := func(list []membership.Member) {
		for _, m := range list {
			if !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
	}
	add(source.Members)
	list := s.dataHosts()
	for _, h := range list {
		related := func(other Host) bool {
			data := slices.Concat(other.Data.Members, other.Data.Removed)
			return other.History() == h.History() && (sharesMember(data, source.Members) || s.hasAncestor(data))
		}
		if source.Host != "" && h.History() == s.historyOf(source.Host) ||
			source.Host == "" && (!s.HasUnlikeHistories() || slices.ContainsFunc(list, related)) {
			add(h.Data.Members)
			add(h.Data.Removed)
		}
	}
	return ids
}
