package engine

import "fmt"

// EtcdUpdate is another version of etcd on a host that the staged OS brings.
type EtcdUpdate struct {
	Host           string         `json:"host"`
	Cluster        string         `json:"cluster"`         // etcd cluster of which it is a member
	From           string         `json:"from,omitempty"`  // version that its member runs; missing: not known
	To             string         `json:"to"`              // version in the staged OS
	ClusterVersion string         `json:"cluster_version"` // cluster version of etcd
	Kind           EtcdUpdateKind `json:"kind"`            // whether etcd supports it
	Text           string         `json:"text"`            // as a sentence
}

// EtcdUpdateKind says whether etcd supports an update.
type EtcdUpdateKind string

// The kinds of updates of etcd.
const (
	EtcdSupported EtcdUpdateKind = "supported" // the minor version of the cluster, or the next
	EtcdDowngrade EtcdUpdateKind = "downgrade" // older than the cluster: etcd does not start
	EtcdSkips     EtcdUpdateKind = "skips"     // skips a minor version
)

// NewEtcdUpdate compares a version of etcd with the one that a cluster runs. etcd
// supports updates to the next minor version, and does not start where the
// cluster is newer (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd; for the
// latter MustDetectDowngrade in etcd's server/etcdserver/version/downgrade.go).
// ok is false if one of the versions is not understood.
func NewEtcdUpdate(u EtcdUpdate) (_ EtcdUpdate, ok bool) {
	to, ok := parseMinor(u.To)
	runs, okRuns := parseMinor(u.ClusterVersion)
	if !ok || !okRuns {
		return EtcdUpdate{}, false
	}
	has := fmt.Sprintf("%s: the staged OS has etcd %s", u.Host, u.To)
	switch {
	case to.isBefore(runs):
		u.Kind = EtcdDowngrade
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: an older etcd does not start there; stage an OS with etcd %s, or take the cluster down to %s first (etcdctl downgrade)", has, u.Cluster, runs, runs, to)
	case to.major != runs.major || to.minor > runs.minor+1:
		next := minorVersion{runs.major, runs.minor + 1}
		u.Kind = EtcdSkips
		u.Text = fmt.Sprintf("%s, and etcd cluster %s is at %s: etcd does not support updates that skip a minor version; update all members to %s first", has, u.Cluster, runs, next)
	default:
		u.Kind = EtcdSupported
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

// EtcdVersion returns the version that members of the cluster must not be older than: the
// cluster version, else the oldest version of a member, or "".
func (c ClusterFacts) EtcdVersion() string {
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
