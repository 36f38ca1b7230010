package change

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

// clockHosts answer with their clock: b late, and with a clock that is ahead by that much.
type clockHosts struct{ late, ahead time.Duration }

func (h clockHosts) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	if script.Purpose == CheckNewHost {
		return engine.Output{Stdout: "sync 0.001 200\n"}, nil
	}
	now := time.Now()
	if host.Name == "b" {
		time.Sleep(h.late)
		now = time.Now().Add(h.ahead)
	}
	return engine.Output{Stdout: fmt.Sprintf("clock %d\n", now.Unix())}, nil
}

// openPorts lets hosts connect to all members.
type openPorts struct{ Etcd }

func (openPorts) CheckPorts(context.Context, string, []string) error { return nil }

func (openPorts) CheckReach(context.Context, string, string) (bool, error) { return true, nil }

// TestClocks: the clock of a new host must be right. A host that answers late is not blamed for the time of its answer.
func TestClocks(t *testing.T) {
	for _, x := range []struct {
		hosts clockHosts
		wrong bool
	}{
		{clockHosts{}, false},
		{clockHosts{late: 20 * time.Second}, false},
		{clockHosts{ahead: time.Minute}, true},
		{clockHosts{ahead: -time.Minute}, true},
		{clockHosts{20 * time.Second, time.Minute}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newFakeRun(&fakeHosts{}, &fakeEtcd{members: []membership.Member{{ID: "1", Name: "a", Host: "a", Healthy: true}}})
			r.Etcd = openPorts{r.Etcd}
			r.Hosts = x.hosts
			_, err := r.Observe(t.Context())
			check(t, err)
			if said := (actions{r}).checkNewHost(t.Context(), "b"); strings.Contains(said, "its clock and the clock of a are") != x.wrong {
				t.Errorf("%+v: %s", x.hosts, said)
			}
		})
	}
}
