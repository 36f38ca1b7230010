package planview

import (
	"fmt"

	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

func (v *planView) writeEtcdUpdates() {
	var groups textutil.Groups[string, string]
	for _, u := range v.p.EtcdUpdates {
		if u.Kind.IsRefused() {
			continue
		}
		versions := u.To
		if u.From != "" {
			versions = u.From + " → " + u.To
		}
		groups.Add(fmt.Sprintf("etcd %s, with the OS; cluster %s is at %s", versions, u.Cluster, u.ClusterVersion), u.Host)
	}
	for text, hosts := range groups.All() {
		v.writeLine("%s: %s", v.style.Bold(termtext.FoldHosts(hosts)), text)
	}
	if len(groups.Keys()) > 0 {
		v.writeLine("")
	}
}
