package planner

import (
	"slices"

	"holdfast/engine"
)

// etcdUpdates returns the hosts that boot another version of etcd. A version is known
// once the OS is staged on a member of the cluster.
func (in Input) etcdUpdates(x index, work []engine.HostPlan) []engine.EtcdUpdate {
	var updates []engine.EtcdUpdate
	for _, hp := range work {
		os := in.Desired[hp.Host].OS
		if hp.Cluster == "" || os == nil || !bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			continue
		}
		facts := in.Clusters[hp.Cluster]
		u := engine.EtcdUpdate{Host: hp.Host, Cluster: hp.Cluster, To: in.stagedEtcd(hp.Host, x.members[hp.Cluster], os.Digest()), ClusterVersion: facts.EtcdVersion()}
		if i := slices.IndexFunc(facts.Members, func(m engine.Member) bool { return m.Host == hp.Host }); i >= 0 {
			u.From = facts.Members[i].Version
		}
		if u, ok := engine.NewEtcdUpdate(u); ok && u.From != u.To {
			updates = append(updates, u)
		}
	}
	return updates
}

// stagedEtcd returns the version of etcd in an OS that the host, or another member of its
// cluster, has staged.
func (in Input) stagedEtcd(host string, members []string, digest string) string {
	for _, m := range append([]string{host}, members...) {
		if d := in.Facts[m].Staged(); d != nil && d.Digest == digest && d.Etcd != "" {
			return d.Etcd
		}
	}
	return ""
}

// addEtcdUpdates adds the updates of etcd to a plan, with a warning for each that is only
// allowed by --any-etcd-version.
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

// refusedEtcd returns the updates that etcd does not support, by host, unless the operator
// allows them.
func (in Input) refusedEtcd(updates []engine.EtcdUpdate) map[string]engine.EtcdUpdate {
	refused := map[string]engine.EtcdUpdate{}
	for _, u := range updates {
		if u.Kind != engine.EtcdSupported && !in.AnyEtcdVersion {
			refused[u.Host] = u
		}
	}
	return refused
}
