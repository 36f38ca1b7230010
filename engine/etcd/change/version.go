package change

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/version"
)

// versionScript prints the version of the etcd of the unit, or nothing if the unit runs another program, such as podman.
func versionScript(m engine.ManagedMembers) Script {
	text := "set -eu\nexport LC_ALL=C\n" + hostscript.Assign([][2]string{{"unit", m.Unit}}) + hostscript.AskVersionScript + versionText
	return Script{AskVersion, text}
}

// askVersions asks each host that may get a member for the version of its etcd, once in a run.
func (o observer) askVersions(ctx context.Context, probed []probedHost) {
	answers := make([]string, len(probed))
	asked := make([]bool, len(probed))
	forEachHost(probed, func(i int) {
		h := probed[i].host
		if _, known := o.versions[h.Name]; known || h.Unreachable != "" || h.HasData || h.Retired {
			return
		}
		limited, cancel := context.WithTimeout(ctx, scriptTime)
		defer cancel()
		reply, err := o.Hosts.Run(limited, o.Members[i], versionScript(*o.Cluster.Managed))
		answers[i], asked[i] = version.ReadEtcd(reply.Stdout), err == nil
	})
	for i := range probed {
		h := &probed[i].host
		if asked[i] {
			o.versions[h.Name] = answers[i]
		}
		if !h.HasData {
			h.Etcd = o.versions[h.Name]
		}
	}
}
