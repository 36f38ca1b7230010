package planner

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/version"
)

// etcdUpdates returns the updates of etcd that the work brings, as far as they are
// known: holdfast knows the version of etcd in an OS while a host of the cluster
// has staged this OS.
func (in Input) etcdUpdates(x index, work []engine.HostPlan) []engine.EtcdUpdate {
	var updates []engine.EtcdUpdate
	for _, hp := range work {
		os := in.Desired[hp.Host].OS
		if hp.Cluster == "" || os == nil || !bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			continue
		}
		facts := in.Clusters[hp.Cluster]
		u := engine.EtcdUpdate{Host: hp.Host, Cluster: hp.Cluster, To: in.stagedEtcd(hp.Host, x.members[hp.Cluster], os.Digest())}
		if i := slices.IndexFunc(facts.Members, func(m etcdfacts.Member) bool { return m.Host == hp.Host }); i >= 0 {
			u.From = facts.Members[i].Version
		}
		cluster, _ := in.Inventory.Cluster(hp.Cluster)
		if u, ok := newEtcdUpdate(u, facts, cluster.Managed != nil); ok && u.From != u.To {
			updates = append(updates, u)
		}
	}
	return updates
}

func (in Input) stagedEtcd(host string, members []string, digest string) string {
	for _, m := range append([]string{host}, members...) {
		if d := in.Facts[m].Staged(); d != nil && d.Digest == digest && d.Etcd != "" {
			return d.Etcd
		}
	}
	return ""
}

func (in Input) addEtcdUpdates(p *engine.Plan, updates []engine.EtcdUpdate) {
	p.EtcdUpdates, p.AnyEtcdVersion = updates, in.AnyEtcdVersion
	for _, u := range updates {
		switch {
		case in.AnyEtcdVersion && u.Kind.IsRefused():
			p.Warnings = append(p.Warnings, u.Text+"; it is booted nevertheless (--any-etcd-version)")
		case u.Kind == engine.EtcdMayForgetPromotions:
			p.Warnings = append(p.Warnings, u.Text)
		}
	}
	if in.AnyEtcdVersion {
		if p.Settings == nil {
			p.Settings = map[string]string{}
		}
		p.Settings["--any-etcd-version"] = "true"
	}
}

func (in Input) refusedEtcd(updates []engine.EtcdUpdate) map[string]engine.EtcdUpdate {
	refused := map[string]engine.EtcdUpdate{}
	for _, u := range updates {
		if u.Kind.IsRefused() && !in.AnyEtcdVersion {
			refused[u.Host] = u
		}
	}
	return refused
}

// newEtcdUpdate compares the version of etcd in a staged OS with the version of
// the cluster. etcd supports updates to the next minor version
// (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd), and does not start if
// the cluster has a newer version (MustDetectDowngrade in etcd's
// server/etcdserver/version/downgrade.go). ok is false if one of the versions
// is not understood.
func newEtcdUpdate(u engine.EtcdUpdate, facts etcdfacts.ClusterFacts, managed bool) (_ engine.EtcdUpdate, ok bool) {
	u.ClusterVersion = leastEtcdVersion(facts)
	to, ok := version.ParseMinor(u.To)
	runs, okRuns := version.ParseMinor(u.ClusterVersion)
	if !ok || !okRuns {
		return engine.EtcdUpdate{}, false
	}
	has := fmt.Sprintf("%s: the staged OS has etcd %s", u.Host, u.To)
	switch {
	case to.IsBefore(runs):
		u.Kind = engine.EtcdDowngrade
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: an older etcd does not start there; stage an OS with etcd %s, or downgrade the cluster to %s first (etcdctl downgrade)", has, u.Cluster, runs, runs, to)
	case to.SkipsAfter(runs):
		u.Kind = engine.EtcdSkips
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: etcd does not support updates that skip a minor version; update all members to %s first", has, u.Cluster, runs, runs.Next())
	case storesNoPromotions(cmp.Or(u.From, oldestMember(facts))) && runs.IsBefore(to):
		u.Kind = engine.EtcdForgetsPromotions
		grown := fmt.Sprintf("and holdfast adds members of cluster %s as learners, so", u.Cluster)
		if !managed {
			u.Kind = engine.EtcdMayForgetPromotions
			grown = fmt.Sprintf("and if members of cluster %s were added as learners,", u.Cluster)
		}
		u.Text = fmt.Sprintf("%s, and its member runs %s: etcd 3.5 before 3.5.20 does not store that a learner was promoted, %s etcd %s may take voters for learners and not start; "+
			"update all members to the newest etcd 3.5 first", has, orUnknown(u.From), grown, to)
	default:
		u.Kind = engine.EtcdSupported
		u.Text = fmt.Sprintf("%s; its member runs %s, and cluster %s is at %s", has, orUnknown(u.From), u.Cluster, runs)
	}
	return u, true
}

// storesNoPromotions reports whether this version of etcd does not store promotions where etcd 3.6 reads them. A promoted
// member is still a learner there (https://etcd.io/blog/2025/upgrade_from_3.5_to_3.6_issue).
func storesNoPromotions(text string) bool {
	var major, minor, patch int
	n, _ := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch)
	return n == 3 && major == 3 && minor == 5 && patch < 20
}

func orUnknown(version string) string {
	if version == "" {
		return "an unknown version"
	}
	return version
}

// leastEtcdVersion returns the oldest version with which a member may run: the
// cluster version, or else the version of the oldest member, or "".
func leastEtcdVersion(c etcdfacts.ClusterFacts) string {
	if c.Version != "" {
		return c.Version
	}
	return oldestMember(c)
}

func oldestMember(c etcdfacts.ClusterFacts) string {
	var texts []string
	for _, m := range c.Members {
		texts = append(texts, m.Version)
	}
	return version.Oldest(texts)
}
