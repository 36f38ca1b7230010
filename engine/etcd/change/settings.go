package change

import (
	"context"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/hostscript"
)

// compareSettings compares the settings on the hosts of members with those of the inventory.
func (r *Run) compareSettings(hosts []probedHost, members []membership.Member) {
	for i := range hosts {
		h := &hosts[i].host
		listed := slices.IndexFunc(members, func(m membership.Member) bool { return m.Host == h.Name })
		found, known := r.tuned[h.Name]
		if !known || listed < 0 {
			continue
		}
		j := setting.NewWanted(r.Cluster, r.Members[i]).Compare(found, members[listed].Database)
		h.Settings = membership.Settings{Change: j.Change, Clash: j.Clash, Fixed: j.Fixed, Unread: found.Unread}
	}
}

// userOf returns the account that holdfast sets for the unit of a host; "": it keeps that of the unit.
func (r *Run) userOf(h engine.Host) string {
	wanted := setting.NewWanted(r.Cluster, h)
	if found, known := r.tuned[h.Name]; known {
		return wanted.On(found).User
	}
	return wanted.User
}

// startEtcd sets etcd up on a host and starts it.
func (r *Run) startEtcd(ctx context.Context, host string, settings settingsText) error {
	h, _ := r.findHost(host)
	return r.runScript(ctx, host, startScript(r.Owner, settings, setting.NewWanted(r.Cluster, h)))
}

// startRestored starts etcd with restored data, which have their write-ahead log in the data directory.
func (r *Run) startRestored(ctx context.Context, host string, settings settingsText) error {
	h, _ := r.findHost(host)
	return r.runScript(ctx, host, startScript(r.Owner, settings, setting.NewWanted(r.Cluster, h).WithWAL("")))
}

// configureMember writes the settings of the inventory to the host of a member, and restarts its etcd. It does not wait until
// the member is healthy: the next step does.
func (r *Run) configureMember(ctx context.Context, step membership.MemberStep) error {
	h, _ := r.findHost(step.Host)
	wanted := setting.NewWanted(r.Cluster, h).On(r.tuned[step.Host])
	return r.runScript(ctx, step.Host, configureScript(r.Owner, *r.Cluster.Managed, wanted))
}

// writeSettings writes the settings and the drop-in that names them, or removes them if there are none. With the drop-in alone etcd
// would not start, so it is written last and removed first.
func writeSettings(w setting.Wanted) string {
	if w.Dropin(tunedPath) == "" {
		return "rm -f \"$tuning\" \"$tuned\"\n"
	}
	text := `mkdir -p "${tuning%/*}"
chmod 0755 "${tuning%/*}"
`
	for _, file := range []struct{ variable, text, mode string }{{"tuned", w.Values.File(), "0600"}, {"tuning", w.Dropin(tunedPath), "0644"}} {
		path := `"$` + file.variable
		text += `printf '%s' ` + hostscript.Quote(file.text) + ` >` + path + `.new"
chmod ` + file.mode + ` ` + path + `.new"
sync ` + path + `.new"
mv -fT ` + path + `.new" ` + path + `"
`
	}
	return text
}

// giveKeys makes the keys of certificates readable for the account that etcd runs as.
func giveKeys(m engine.ManagedMembers) string {
	if m.CA == nil {
		return ""
	}
	return "(\n" + placeOf(m).OwnScript() + ")\n"
}

// configureScript writes other settings and restarts etcd. It first copies the old files and makes the file unreadPath. If etcd does
// not start with the new settings, it gets the old ones again. If the start takes too long, the script ends, and etcd continues to
// start.
func configureScript(owner engine.HoldOwner, m engine.ManagedMembers, w setting.Wanted) string {
	return underHold(owner, m, "configure etcd", checkLog(w)+`if [ ! -e "$unread" ]; then # else they are copies already
	for file in "$tuned" "$tuning"; do
		rm -f "$file.old"
		if [ -e "$file" ]; then
			cp -p "$file" "$file.old"
			sync "$file.old"
		fi
	done
	: >"$unread"
	sync "$state"
fi
`+writeSettings(w)+`systemctl daemon-reload 9>&-
systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
status=0
timeout 80 systemctl restart "$unit" 2>/dev/null 9>&- || status=$?
if [ "$status" != 0 ] && [ "$status" != 124 ]; then
	if [ -e "$tuning.old" ]; then
		for file in "$tuned" "$tuning"; do
			[ -e "$file.old" ] || continue
			cp -p "$file.old" "$file.new"
			mv -fT "$file.new" "$file"
		done
	else
		rm -f "$tuning" "$tuned"
	fi
	systemctl daemon-reload 9>&-
	systemctl reset-failed "$unit" 2>/dev/null 9>&- || :
	systemctl restart --no-block "$unit" 9>&-
fi
rm -f "$unread" "$tuned.old" "$tuning.old"
sync "$state"
if [ "$status" != 0 ] && [ "$status" != 124 ]; then
	echo "$unit does not start with these settings, and was started with the old ones: journalctl -u $unit" >&2
	exit 1
fi
`)
}
