package planner

import (
	"fmt"
	"slices"

	"holdfast/engine"
)

// etcdUpdates returns the hosts that boot another version of etcd. The version
// of an OS is known when a member of the cluster has staged this OS.
func (in Input) etcdUpdates(x index, work []engine.HostPlan) []engine.EtcdUpdate {
	var updates []engine.EtcdUpdate
	for _, hp := range work {
		os := in.Desired[hp.Host].OS
		if hp.Cluster == "" || os == nil || !bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			continue
		}
		facts := in.Clusters[hp.Cluster]
		u := engine.EtcdUpdate{Host: hp.Host, Cluster: hp.Cluster, To: in.stagedEtcd(hp.Host, x.members[hp.Cluster], os.Digest()), ClusterVersion: leastEtcdVersion(facts)}
		if i := slices.IndexFunc(facts.Members, func(m engine.Member) bool { return m.Host == hp.Host }); i >= 0 {
			u.From = facts.Members[i].Version
		}
		if u, ok := newEtcdUpdate(u); ok && u.From != u.To {
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
		if in.AnyEtcdVersion && u.Kind != engine.EtcdSupported {
			p.Warnings = append(p.Warnings, u.Text+"; it is booted nevertheless (--any-etcd-version)")
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
		if u.Kind != engine.EtcdSupported && !in.AnyEtcdVersion {
			refused[u.Host] = u
		}
	}
	return refused
}

// newEtcdUpdate compares a version of etcd with the version of a cluster. etcd
// supports updates to the next minor version
// (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd), and does not start if
// the cluster has a newer version (MustDetectDowngrade in etcd's
// server/etcdserver/version/downgrade.go). ok is false if one of the versions
// is not understood.
func newEtcdUpdate(u engine.EtcdUpdate) (_ engine.EtcdUpdate, ok bool) {
	to, ok := parseMinor(u.To)
	runs, okRuns := parseMinor(u.ClusterVersion)
	if !ok || !okRuns {
		return engine.EtcdUpdate{}, false
	}
	has := fmt.Sprintf("%s: the staged OS has etcd %s", u.Host, u.To)
	switch {
	case to.isBefore(runs):
		u.Kind = engine.EtcdDowngrade
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: an older etcd does not start there; stage an OS with etcd %s, or take the cluster down to %s first (etcdctl downgrade)", has, u.Cluster, runs, runs, to)
	case to.major != runs.major || to.minor > runs.minor+1:
		next := minorVersion{runs.major, runs.minor + 1}
		u.Kind = engine.EtcdSkips
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: etcd does not support updates that skip a minor version; update all members to %s first", has, u.Cluster, runs, next)
	default:
		u.Kind = engine.EtcdSupported
		u.Text = fmt.Sprintf("%s; its member runs %s, and cluster %s is at %s", has, orUnknown(u.From), u.Cluster, runs)
	}
	return u, true
}

func orUnknown(version string) string {
	if version == "" {
		return "a version that is not known"
	}
	return version
}

type minorVersion struct{ major, minor int }

func parseMinor(text string) (v minorVersion, ok bool) {
	n, _ := fmt.Sscanf(text, "%d.%d", &v.major, &v.minor)
	return v, n == 2
}

func (v minorVersion) isBefore(w minorVersion) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

func (v minorVersion) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// leastEtcdVersion returns the version below which no member of the cluster may
// be: the cluster version, else the oldest version of a member, or "".
func leastEtcdVersion(c engine.ClusterFacts) string {
	if c.Version != "" {
		return c.Version
	}
	oldest := ""
	for _, m := range c.Members {
		v, ok := parseMinor(m.Version)
		if o, known := parseMinor(oldest); ok && (!known || v.isBefore(o)) {
			oldest = m.Version
		}
	}
	return oldest
}
