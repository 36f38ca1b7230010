package change

import (
	"context"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
)

func (o observer) compareSettings(hosts []probedHost, members []membership.Member) {
	for i := range hosts {
		h := &hosts[i].host
		listed := slices.IndexFunc(members, func(m membership.Member) bool { return m.Host == h.Name })
		found, known := o.tuned[h.Name]
		if !known || listed < 0 {
			continue
		}
		j := setting.NewWanted(o.Cluster, o.Members[i]).Compare(found, members[listed].Database)
		h.Settings = membership.Settings{Change: j.Change, Clash: j.Clash, Fixed: j.Fixed, Unread: found.Unread}
	}
}

// userOf returns the account that holdfast sets for the unit of a host; "": the unit keeps its own.
func (r *Run) userOf(h engine.Host) string {
	wanted := setting.NewWanted(r.Cluster, h)
	if found, known := r.tuned[h.Name]; known {
		return wanted.On(found).User
	}
	return wanted.User
}

func (a actions) startEtcd(ctx context.Context, host string, settings settingsText) error {
	h, _ := a.findHost(host)
	return a.runScript(ctx, host, startScript(a.Owner, settings, setting.NewWanted(a.Cluster, h)))
}

// startRestored starts etcd with restored data, which have their write-ahead log in the data directory.
func (a actions) startRestored(ctx context.Context, host string, settings settingsText) error {
	h, _ := a.findHost(host)
	return a.runScript(ctx, host, startScript(a.Owner, settings, setting.NewWanted(a.Cluster, h).WithWAL("")))
}

// configureMember does not wait until the member is healthy: the next step does.
func (a actions) configureMember(ctx context.Context, step membership.MemberStep) error {
	h, _ := a.findHost(step.Host)
	wanted := setting.NewWanted(a.Cluster, h).On(a.tuned[step.Host])
	return a.runScript(ctx, step.Host, configureScript(a.Owner, *a.Cluster.Managed, wanted))
}

// tunedVariables returns the variables of putsettings.sh.
func tunedVariables(w setting.Wanted) [][2]string {
	return [][2]string{{"tunedtext", w.Values.File()}, {"tuningtext", w.Dropin(tunedPath)}}
}

// giveKeys makes the keys of certificates readable for the account that etcd runs as.
func giveKeys(m engine.ManagedMembers) string {
	if m.CA == nil {
		return ""
	}
	return "(\n" + placeOf(m).OwnScript() + ")\n"
}

// configureScript writes other settings and restarts etcd.
func configureScript(owner engine.HoldOwner, m engine.ManagedMembers, w setting.Wanted) Script {
	variables := append(tunedVariables(w), [2]string{"logdir", w.WAL()})
	return heldScript(owner, m, "configure etcd", body{ConfigureEtcd, variables, putSettingsText + configureText})
}
