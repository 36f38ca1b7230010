package carotation

import (
	"fmt"
	"slices"
	"testing"
)

func stateKey(hosts []HostTrust) string {
	text := ""
	for _, h := range hosts {
		text += fmt.Sprint(h.File, h.Loaded, h.Issuers, ";")
	}
	return text
}

func cloneHosts(hosts []HostTrust) []HostTrust {
	copied := slices.Clone(hosts)
	for i := range copied {
		copied[i].File, copied[i].Loaded, copied[i].Issuers = slices.Clone(hosts[i].File), slices.Clone(hosts[i].Loaded), slices.Clone(hosts[i].Issuers)
	}
	return copied
}

// partsOf returns the states in which a step can leave the hosts: it may be cut short anywhere, also between the
// certificates of a host. The last is the whole step. A member that restarts for another reason reads its file.
func partsOf(s Step, goal CA, hosts []HostTrust) [][]HostTrust {
	i := slices.IndexFunc(hosts, func(h HostTrust) bool { return h.Host == s.Host })
	var parts [][]HostTrust
	add := func(change func(*HostTrust)) {
		last := hosts
		if len(parts) > 0 {
			last = parts[len(parts)-1]
		}
		next := cloneHosts(last)
		change(&next[i])
		parts = append(parts, next)
	}
	if s.Kind == Reissue {
		for k := range hosts[i].Issuers {
			add(func(h *HostTrust) { h.Issuers[k] = goal })
		}
		return parts
	}
	add(func(h *HostTrust) { h.File = slices.Clone(s.CAs) })
	add(func(h *HostTrust) { h.Loaded = slices.Clone(s.CAs) })
	return parts
}

// findRefusal returns a pair of hosts of which one refuses a certificate of the other, now or once it has restarted.
func findRefusal(hosts []HostTrust) string {
	for _, a := range hosts {
		for _, b := range hosts {
			for _, issuer := range b.Issuers {
				if !slices.Contains(a.Loaded, issuer) {
					return a.Host + " refuses " + b.Host
				}
				if !slices.Contains(a.File, issuer) {
					return a.Host + " would refuse " + b.Host + " after a restart"
				}
			}
		}
	}
	return ""
}

// TestRotationIsSafeAndEnds: from every state that a rotation, or one back, can be cut short in, the steps lead to the
// goal, and no member ever refuses another. A restart for another reason changes nothing of that.
func TestRotationIsSafeAndEnds(t *testing.T) {
	for n := 1; n <= 3; n++ {
		var start []HostTrust
		for i := range n {
			start = append(start, HostTrust{Host: fmt.Sprintf("etcd-%d", i), File: []CA{"old"}, Loaded: []CA{"old"}, Issuers: []CA{"old", "old", "old"}})
		}
		seen := map[string]bool{stateKey(start): true}
		queue := [][]HostTrust{start}
		visit := func(hosts []HostTrust) {
			if bad := findRefusal(hosts); bad != "" {
				t.Fatalf("%d hosts: %s in %+v", n, bad, hosts)
			}
			if key := stateKey(hosts); !seen[key] {
				seen[key] = true
				queue = append(queue, hosts)
			}
		}
		for len(queue) > 0 {
			hosts := queue[0]
			queue = queue[1:]
			for i := range hosts { // a power cut: etcd reads its file again
				restarted := cloneHosts(hosts)
				restarted[i].Loaded = slices.Clone(restarted[i].File)
				visit(restarted)
			}
			for _, goal := range []CA{"old", "new"} {
				endsAt(t, goal, hosts)
				s, more := NextStep(Wanted{Issuer: goal}, hosts)
				if !more {
					continue
				}
				for _, part := range partsOf(s, goal, hosts) {
					visit(part)
				}
			}
		}
		t.Logf("%d hosts: %d states", n, len(seen))
	}
}

// endsAt checks that the steps lead to the goal, without a step that changes nothing.
func endsAt(t *testing.T, goal CA, hosts []HostTrust) {
	t.Helper()
	for range 3 * len(hosts) {
		s, more := NextStep(Wanted{Issuer: goal}, hosts)
		if !more {
			for _, h := range hosts {
				if !slices.Equal(h.File, []CA{goal}) || !slices.Equal(h.Loaded, []CA{goal}) || slices.ContainsFunc(h.Issuers, func(ca CA) bool { return ca != goal }) {
					t.Fatalf("it ends with %+v", hosts)
				}
			}
			return
		}
		parts := partsOf(s, goal, hosts)
		if stateKey(parts[len(parts)-1]) == stateKey(hosts) {
			t.Fatalf("step %+v changes nothing of %+v", s, hosts)
		}
		hosts = parts[len(parts)-1]
	}
	if _, more := NextStep(Wanted{Issuer: goal}, hosts); more {
		t.Fatalf("no end: %+v", hosts)
	}
}
