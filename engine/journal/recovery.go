package journal

import (
	"slices"

	"holdfast/engine"
)

// EarlierRuns has the data of earlier runs of a bastion that the next run
// needs.
type EarlierRuns struct {
	Dead      []string                   // dead runs, whose holds this run may adopt
	Rebooting map[string]string          // hosts that may be rebooting, and the ID of the run that was interrupted
	Lost      map[string]engine.LostHost // hosts that a run changed, and that no run has seen updated or matching since
	Runs      []Run                      // all runs, also runs of other sites

	History
}

// SummarizeRuns finds the dead runs of a site, and the reboots that they may
// have left. All other runs of this bastion must be over: the caller has the
// lock of the site, or checks it as ObserveSite does. Runs of other bastions,
// whose journals came with a copied folder, may still be active.
func SummarizeRuns(runs []Run, site string, self engine.HoldOwner) EarlierRuns {
	left := EarlierRuns{Runs: runs, Rebooting: map[string]string{}, Lost: findLostHosts(runs, site, self), History: foldRuns(runs, site, self.Run)}
	latest := true
	for _, r := range runs {
		if !r.isEarlierRun(site, self) {
			continue
		}
		if r.Maintenance != "" { // its holds are of a person, and no run adopts them
			continue
		}
		if r.End == nil || r.End.Exit != engine.ExitOK { // a successful run leaves no holds
			left.Dead = append(left.Dead, r.ID)
		}
		if r.Cluster != "" {
			continue // a change of members reboots no host
		}
		if latest = latest && r.wasCutShort(); !latest {
			continue
		}
		for host, rebooted := range r.RebootedHosts {
			if rebooted && left.Rebooting[host] == "" {
				left.Rebooting[host] = r.ID
			}
		}
	}
	return left
}

func (r Run) isEarlierRun(site string, self engine.HoldOwner) bool {
	return r.ID != self.Run && (r.Site == site || r.Site == "") && (r.Bastion == self.Bastion || r.Bastion == "")
}

// findLostHosts returns the hosts that a run changed and that no run saw well again. The runs are ordered from new to old: a
// newer run that has seen the host decides. A person who ended the hold of a host has seen it, too.
func findLostHosts(runs []Run, site string, self engine.HoldOwner) map[string]engine.LostHost {
	lost := map[string]engine.LostHost{}
	for _, r := range slices.Backward(runs) {
		if !r.isEarlierRun(site, self) {
			continue
		}
		if len(lost) > 0 {
			for _, host := range r.hostsSeenWell() {
				delete(lost, host)
			}
		}
		for host, aim := range r.Aims {
			lost[host] = engine.LostHost{Run: r.ID, Aim: aim}
		}
	}
	return lost
}

func (r Run) hostsSeenWell() []string {
	switch {
	case r.Maintenance == engine.ReleaseHosts && r.End != nil:
		return r.End.Updated
	case r.hasPlays: // such as a play that has only run a command on the host
		return r.Regained
	default:
		return slices.Concat(r.Done, r.Regained)
	}
}

// DeadMemberRuns returns the runs of a bastion that changed the members of an etcd cluster and ended without releasing
// their holds. The caller must hold the lock of the site.
func DeadMemberRuns(runs []Run, cluster string, self engine.HoldOwner, site string) []string {
	var dead []string
	for _, r := range runs {
		if r.Cluster == cluster && r.ID != self.Run && r.Site == site && r.Bastion == self.Bastion && (r.End == nil || r.End.Exit != engine.ExitOK) {
			dead = append(dead, r.ID)
		}
	}
	return dead
}

func (r Run) wasCutShort() bool { return r.End == nil || r.End.Exit == engine.ExitStopped }
