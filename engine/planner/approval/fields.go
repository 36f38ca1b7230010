package approval

import (
	"cmp"
	"reflect"
	"strings"

	"holdfast/engine"
)

// notCompared lists the fields of the inventory that addFields leaves out, each
// with the reason. All other fields are compared, so a new field is, too.
var notCompared = map[string]string{
	"Host.Name":          "part of the key",
	"Host.Paused":        "its work is gone, which is compared",
	"Host.SSH":           "compared field by field",
	"Host.Configs":       "the changes of the host show them",
	"SSH.ConnectTimeout": "decides only how long to wait",
	"SSH.KeepAlive":      "decides only how soon a lost connection is noticed",

	"Cluster.Name":        "part of the key",
	"Cluster.Timeout":     "decides only how long to wait",
	"Cluster.AllowOutage": "compared by Settings",
	"Cluster.NoSnapshot":  "compared by Settings",

	"Mirror.BytesPerSecond":     "decides only how fast hosts fetch",
	"Mirror.HostBytesPerSecond": "decides only how fast hosts fetch",

	"Inventory.Pools":          "those with work are compared by addPoolSettings",
	"Inventory.Hosts":          "those with work, and the members of their clusters, are compared field by field",
	"Inventory.Clusters":       "those of hosts with work are compared field by field",
	"Inventory.Mirror":         "compared field by field",
	"Inventory.MaxUnavailable": "compared by Settings",
}

// addFields adds each field of a struct that is set, except those in notCompared.
func addFields(t map[string]string, subject string, v any) {
	s := reflect.ValueOf(v)
	for i := range s.NumField() {
		f := s.Type().Field(i)
		if _, out := notCompared[s.Type().Name()+"."+f.Name]; out || s.Field(i).IsZero() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := s.Field(i).String()
		if f.Type.Kind() != reflect.String {
			value = strings.Trim(encodeForComparison(s.Field(i).Interface()), `"`)
		}
		t[subject+cmp.Or(name, f.Name)] = value
	}
}

// addSites adds the settings that decide which machines a plan reaches, and how:
// of the hosts with work, of their etcd clusters with all members, and of the
// mirror.
func addSites(t map[string]string, inv engine.Inventory, work []engine.HostPlan) {
	addFields(t, "", inv)
	if inv.Mirror != nil {
		addFields(t, "mirror: ", *inv.Mirror)
	}
	hosts, clusters := map[string]bool{}, map[string]bool{}
	for _, hp := range work {
		hosts[hp.Host] = true
	}
	for _, h := range inv.Hosts {
		if hosts[h.Name] {
			clusters[h.EtcdNearby()] = true
		}
	}
	members := map[string][]string{}
	for _, h := range inv.Hosts {
		members[h.Cluster] = append(members[h.Cluster], h.Name)
		if !hosts[h.Name] && (h.Cluster == "" || !clusters[h.Cluster]) {
			continue
		}
		addFields(t, "host "+h.Name+": ", h)
		addFields(t, "host "+h.Name+": ssh ", h.SSH)
	}
	for _, c := range inv.Clusters {
		if clusters[c.Name] {
			t["cluster "+c.Name+": members"] = strings.Join(members[c.Name], ", ")
			addFields(t, "cluster "+c.Name+": ", c)
		}
	}
}
