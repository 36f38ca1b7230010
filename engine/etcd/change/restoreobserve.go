package change

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/textutil"
)

// Observe gathers all facts for the next step.
func (r *Restore) Observe(ctx context.Context) (restore.State, error) {
	probed, err := observer{r.Run}.probeHosts(ctx)
	if err != nil {
		return restore.State{}, err
	}
	list := observer{r.Run}.listMembers(ctx, probed)
	if ctx.Err() != nil {
		return restore.State{}, context.Cause(ctx)
	}
	s := restore.State{
		Cluster: r.Run.Cluster.Name, Problem: list.Problem, Answers: list.Members, Lost: r.Lost, From: r.From, SameCluster: r.SameCluster,
	}
	uncertified := observer{r.Run}.judgeFounder(probed)
	for _, p := range probed {
		h := restore.Host{
			Name: p.host.Name, Retired: p.host.Retired, Unreachable: p.host.Unreachable, Leaving: p.host.Leaving, HasData: p.host.HasData, DataOf: p.host.DataOf,
			DataCluster: p.found.dataCluster, Replaced: r.Run.replaced.hasCluster(p.found.dataCluster), Running: p.host.Running,
			Record: p.host.Record, Phase: p.found.phase, Of: p.found.of, Failed: r.failed[p.host.Name], Cleaned: r.cleaned[p.host.Name],
			Uncertified: uncertified(p.host), Unmounted: p.found.unmounted,
		}
		h.Checked = r.checked[h.Name]
		if h.HasData && h.Unreachable == "" && !h.Replaced {
			h.Data, h.Unread = r.readData(ctx, h)
		}
		s.Hosts = append(s.Hosts, h)
	}
	if r.Snapshot != nil {
		s.Snapshot = &restore.Source{
			Identity: "sha256-" + r.Snapshot.SHA256, Path: r.Snapshot.Path,
			Data: r.dataOf(r.Snapshot.Contents, r.Snapshot.Time),
		}
	}
	r.placeMembers(s)
	r.findForks(ctx, s)
	r.noteReplaced(probed)
	if err := r.addLineage(&s); err != nil {
		return restore.State{}, err
	}
	r.replaced.lineage = r.lineage
	return s, r.checkNamed(s)
}

// readData reads the database of a host, once for the data of each member.
func (r *Restore) readData(ctx context.Context, h restore.Host) (data restore.Data, problem string) {
	key := h.Name + " " + h.DataOf + " " + h.DataCluster
	if known, ok := r.data[key]; ok {
		return known, ""
	}
	file := &hostFile{ctx: ctx, run: r.Run, host: h.Name}
	contents, err := file.readContents()
	if err != nil {
		return restore.Data{}, err.Error()
	}
	r.data[key] = r.dataOf(contents, file.modified)
	return r.data[key], ""
}

func (r *Restore) dataOf(contents database.Contents, at time.Time) restore.Data {
	data := restore.Data{Revision: contents.Revision}
	if !at.IsZero() {
		data.Time = describeTime(at)
	}
	for _, m := range contents.Members {
		data.Members = append(data.Members, membership.Member{ID: m.ID, Name: m.Name, Learner: m.Learner})
		r.peerURLs[m.ID] = m.PeerURLs
	}
	for _, id := range contents.Removed {
		data.Removed = append(data.Removed, membership.Member{ID: id})
	}
	return data
}

// placeMembers finds the hosts of all members in databases: by the data that a host has, else by the name, else by the
// address in a peer URL.
func (r *Restore) placeMembers(s restore.State) {
	place := func(list []membership.Member) {
		for i, m := range list {
			list[i].Host = r.hostOf(s, m)
		}
	}
	for i := range s.Hosts {
		s.Hosts[i].Data.Members = slices.Clone(s.Hosts[i].Data.Members)
		place(s.Hosts[i].Data.Members)
	}
	if s.Snapshot != nil {
		place(s.Snapshot.Members)
	}
}

func (r *Restore) hostOf(s restore.State, m membership.Member) string {
	for _, h := range s.Hosts {
		if h.DataOf == m.ID {
			return h.Name
		}
	}
	for _, isHost := range []func(engine.Host) bool{
		func(h engine.Host) bool { return textutil.IsSameAddress(h.Name, m.Name) },
		func(h engine.Host) bool {
			return etcd.HasAddress(r.peerURLs[m.ID], h.Address) || etcd.HasAddress(r.peerURLs[m.ID], h.Name)
		},
	} {
		if i := slices.IndexFunc(r.Run.Members, isHost); i >= 0 {
			return r.Run.Members[i].Name
		}
	}
	return ""
}

// noteReplaced finds the clusters that the new cluster replaces: all clusters whose data this run has seen, and the clusters
// of earlier restores. The hosts record them only when the new data are in their place.
func (r *Restore) noteReplaced(probed []probedHost) {
	newCluster := ""
	for _, p := range probed {
		if p.found.dataCluster != "" {
			r.seen.addLine("cluster " + p.found.dataCluster)
		}
		if p.host.Record == membership.Restoring && p.found.newCluster != "" {
			newCluster = p.found.newCluster
		}
	}
	r.replaced = replacedClusters{}
	r.replaced.mergeLines(r.seen)
	for _, a := range r.Run.replaced.away {
		r.replaced.addLine("cluster " + a.newCluster) // otherwise all data of a host that was away then would count as replaced for ever
	}
	r.replaced.mergeLines(r.Run.replaced)
	r.replaced.clusters = slices.DeleteFunc(r.replaced.clusters, func(c string) bool { return c == newCluster })
	for _, p := range probed {
		if p.host.Unreachable != "" && newCluster != "" {
			r.replaced.addLine("host " + p.host.Name + " " + newCluster)
		}
	}
}

// findForks distinguishes data that have the IDs of the same cluster and different contents.
func (r *Restore) findForks(ctx context.Context, s restore.State) {
	first := map[string][]int{} // hosts with the first data of each history, by cluster
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Unreachable != "" || h.DataCluster == "" || h.Unread != "" || h.Data.Revision == 0 {
			continue
		}
		known := slices.IndexFunc(first[h.DataCluster], func(other int) bool { return r.compareData(ctx, s.Hosts[other], *h) != database.Unlike })
		switch {
		case known >= 0:
			h.Data.Fork = s.Hosts[first[h.DataCluster][known]].Data.Fork
			continue
		case len(first[h.DataCluster]) > 0:
			h.Data.Fork = h.Name
		}
		first[h.DataCluster] = append(first[h.DataCluster], i)
	}
}

// compareData compares the databases of two hosts, once. Databases that cannot be read prove nothing.
func (r *Restore) compareData(ctx context.Context, a, b restore.Host) database.Relation {
	key := [2]string{a.Name + " " + a.DataOf, b.Name + " " + b.DataOf}
	if known, ok := r.relations[key]; ok {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	open := func(h restore.Host) (database.File, error) {
		file := &hostFile{ctx: ctx, run: r.Run, host: h.Name}
		size, _, err := file.readPart(0, 0)
		return database.File{Data: file, Size: size}, err
	}
	fileA, errA := open(a)
	fileB, errB := open(b)
	if errA != nil || errB != nil {
		return database.Unproven
	}
	relation, err := database.Compare(fileA, fileB)
	if err == nil {
		r.relations[key] = relation
	}
	return relation
}

// checkNamed refuses a name that no host and no member has.
func (r *Restore) checkNamed(s restore.State) error {
	if r.From != "" && !slices.ContainsFunc(s.Hosts, func(h restore.Host) bool { return h.Name == r.From }) {
		return fmt.Errorf("--from %s: etcd cluster %s has no such host", r.From, s.Cluster)
	}
	for _, name := range r.Lost {
		known := slices.ContainsFunc(s.Hosts, func(h restore.Host) bool {
			return h.Name == name || slices.ContainsFunc(h.Data.Members, func(m membership.Member) bool { return m.Name == name || m.ID == name })
		})
		known = known || s.Snapshot != nil && slices.ContainsFunc(s.Snapshot.Members, func(m membership.Member) bool { return m.Name == name || m.ID == name })
		if !known {
			return fmt.Errorf("--lost %s: etcd cluster %s has no such host or member", name, s.Cluster)
		}
	}
	return nil
}

// hostFile is a database on a host.
type hostFile struct {
	ctx      context.Context
	run      *Run
	host     string
	built    bool // the one that a restore has built
	modified time.Time
}

// readTime bounds the time for reading a database on a host.
const readTime = time.Minute

func (f *hostFile) readContents() (database.Contents, error) {
	ctx, cancel := context.WithTimeout(f.ctx, readTime)
	defer cancel()
	f.ctx = ctx
	size, _, err := f.readPart(0, 0)
	if err != nil {
		return database.Contents{}, err
	}
	return database.Read(f, size)
}

// ReadAt reads a part of the file.
func (f *hostFile) ReadAt(p []byte, offset int64) (int, error) {
	_, part, err := f.readPart(offset, int64(len(p)))
	n := copy(p, part)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *hostFile) readPart(offset, length int64) (size int64, part []byte, err error) {
	h, _ := f.run.findHost(f.host)
	reply, err := f.run.Hosts.Run(f.ctx, h, readScript(*f.run.Cluster.Managed, f.built, offset, length))
	if _, err = replyText(f.host, engine.Output{Stderr: reply.Stderr, Code: reply.Code}, err); err != nil {
		return 0, nil, err
	}
	first, rest, _ := strings.Cut(reply.Stdout, "\n")
	sizeText, timeText, _ := strings.Cut(first, " ")
	size, sizeErr := strconv.ParseInt(sizeText, 10, 64)
	seconds, timeErr := strconv.ParseInt(timeText, 10, 64)
	part, partErr := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	f.modified = time.Unix(seconds, 0)
	return size, part, errors.Join(sizeErr, timeErr, partErr)
}
