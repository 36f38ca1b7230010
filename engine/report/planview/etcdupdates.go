package planview

import (
	"fmt"

	"holdfast/engine/report/termtext"
)

func (v *planView) writeEtcdUpdates() {
	var order []string
	hosts := map[string][]string{}
	for _, u := range v.p.EtcdUpdates {
		if u.Kind.IsRefused() {
			continue
		}
		versions := u.To
		if u.From != "" {
			versions = u.From + " → " + u.To
		}
		text := fmt.Sprintf("etcd %s, with the OS; cluster %s is at %s", versions, u.Cluster, u.ClusterVersion)
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], u.Host)
	}
	for _, text := range order {
		v.writeLine("%s: %s", v.style.Bold(termtext.FoldHosts(hosts[text])), text)
	}
	if len(order) > 0 {
		v.writeLine("")
	}
}
