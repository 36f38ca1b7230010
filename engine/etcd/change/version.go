package change

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/version"
)

// versionScript prints the version of the etcd of the unit. This etcd runs as nobody, without a network and without other processes in
// sight. The script prints nothing if the unit runs another program, such as podman.
func versionScript(m engine.ManagedMembers) string {
	return "set -eu\nexport LC_ALL=C\nunit=" + hostscript.Quote(m.Unit) + "\n" + hostscript.AskVersionScript + `set -f
path=''
for word in $(systemctl show --property=ExecStart "$unit"); do
	case $word in
	path=/*/etcd) path=${word#path=} ;;
	esac
done
[ -n "$path" ] && [ -x "$path" ] || exit 0
askversion setpriv --no-new-privs --reuid=65534 --regid=65534 --clear-groups "$path" --version || :
`
}

// askVersions asks each host that may get a member for the version of its etcd, once in a run.
func (r *Run) askVersions(ctx context.Context, probed []probedHost) {
	answers := make([]string, len(probed))
	asked := make([]bool, len(probed))
	forEachHost(probed, func(i int) {
		h := probed[i].host
		if _, known := r.versions[h.Name]; known || h.Unreachable != "" || h.HasData || h.Retired {
			return
		}
		limited, cancel := context.WithTimeout(ctx, scriptTime)
		defer cancel()
		reply, err := r.Hosts.Run(limited, r.Members[i], versionScript(*r.Cluster.Managed))
		answers[i], asked[i] = version.ReadEtcd(reply.Stdout), err == nil
	})
	for i := range probed {
		h := &probed[i].host
		if asked[i] {
			r.versions[h.Name] = answers[i]
		}
		if !h.HasData {
			h.Etcd = r.versions[h.Name]
		}
	}
}
