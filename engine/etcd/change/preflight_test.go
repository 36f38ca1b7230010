package change

import (
	"context"
	"errors"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

// firewalledEtcd answers as if firewalls were between the hosts.
type firewalledEtcd struct {
	Etcd
	out     error            // of connections from the new host
	blocked map[string]error // of connections to it, by host
	unknown map[string]error // why nobody knows, by host
}

func (f firewalledEtcd) CheckPorts(context.Context, string, []string) error { return f.out }

func (f firewalledEtcd) CheckReach(_ context.Context, from, address string) (bool, error) {
	if address != "10.0.0.9:2380" {
		return true, errors.New("asked for " + address)
	}
	if err := f.unknown[from]; err != nil {
		return false, err
	}
	return true, f.blocked[from]
}

// TestPreflightOfThePorts: a new host gets no member if a healthy member does not reach its peer port. It gets one if nobody knows.
func TestPreflightOfThePorts(t *testing.T) {
	t.Parallel()
	dropped, forbidden := errors.New("no answer within 10s"), errors.New("forwarding is not allowed")
	for name, x := range map[string]struct {
		ports  firewalledEtcd
		want   string
		passes bool
	}{
		"open": {firewalledEtcd{}, "p99 of 200 synced writes 1.0 ms; etcd advises less than 10 ms", true},
		"closed for one": {
			firewalledEtcd{blocked: map[string]error{"c": dropped}},
			"10.0.0.9:2380, the peer port of b, is not reached from member m3 on host c (no answer within 10s); open it for the members in the firewall of b and on the way there", false,
		},
		"closed for all": {
			firewalledEtcd{blocked: map[string]error{"a": errors.New("No route\x1b to host"), "c": dropped, "down": errors.New("not asked")}, unknown: map[string]error{"d": forbidden}},
			`10.0.0.9:2380, the peer port of b, is not reached from member m1 on host a (No route\x1b to host), member m3 on host c (no answer within 10s); open it for the members in the firewall of b and on the way there`, false,
		},
		"both directions": {
			firewalledEtcd{out: errors.New("b does not reach 10.0.0.1:2380: refused"), blocked: map[string]error{"c": dropped}},
			"b does not reach 10.0.0.1:2380: refused; 10.0.0.9:2380, the peer port of b, is not reached from member m3 on host c (no answer within 10s); open it for the members in the firewall of b and on the way there", false,
		},
		"not known": {
			firewalledEtcd{unknown: map[string]error{"d": forbidden}},
			"p99 of 200 synced writes 1.0 ms; etcd advises less than 10 ms; not known whether 10.0.0.9:2380, the peer port of b, is reached from member m4 on host d (forwarding is not allowed)", true,
		},
	} {
		r := newFakeRun(&fakeHosts{}, &fakeEtcd{members: []membership.Member{
			{ID: "1", Name: "m1", Host: "a", Healthy: true}, {ID: "2", Name: "m2", Host: "down"}, {ID: "3", Name: "m3", Host: "c", Healthy: true}, {ID: "4", Name: "m4", Host: "d", Healthy: true},
		}})
		r.Members, r.Cluster.Managed.PeerPort = []engine.Host{{Name: "a"}, {Name: "b", Address: "10.0.0.9"}, {Name: "c"}, {Name: "d"}, {Name: "down"}}, 2380
		x.ports.Etcd = r.Etcd
		r.Etcd, r.Hosts = x.ports, clockHosts{}
		_, err := r.Observe(t.Context())
		check(t, err)
		if said := (actions{r}).checkNewHost(t.Context(), "b"); said != x.want || (r.failed["b"] == "") != x.passes {
			t.Errorf("%s: %s\nwant %s", name, said, x.want)
		}
	}
}
