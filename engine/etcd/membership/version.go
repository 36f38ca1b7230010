package membership

import (
	"fmt"

	"holdfast/engine/version"
)

// versionProblem returns why the etcd of a host does not fit the cluster, or "" if it fits or a version is not known. etcd
// does not start in a cluster whose version is newer than its own. The members of a cluster may have two consecutive minor
// versions (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd).
func (s State) versionProblem(h Host) string {
	has, ok := version.ParseMinor(h.Etcd)
	runs, known := version.ParseMinor(s.Version)
	switch {
	case !ok || !known || s.AnyVersion:
		return ""
	case has.IsBefore(runs):
		return fmt.Sprintf("its etcd is %s, and the cluster is at %s: an older etcd does not start there; install etcd %s or %s", h.Etcd, runs, runs, runs.Next())
	case has.SkipsAfter(runs):
		return fmt.Sprintf("its etcd is %s, and the cluster is at %s: a member may be at most one minor version newer, that is %s; "+
			"install etcd %s or %s, or add it nevertheless with --any-etcd-version", h.Etcd, runs, runs.Next(), runs, runs.Next())
	}
	return ""
}

func (s State) describeVersions(h Host) string {
	if h.Etcd == "" || s.Version == "" {
		return ""
	}
	return fmt.Sprintf("its etcd is %s, the cluster is at %s", h.Etcd, s.Version)
}
