package change

import (
	"context"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

// answerAll answers each script of each host with the same text.
type answerAll string

func (a answerAll) Run(context.Context, engine.Host, string) (engine.Output, error) {
	return engine.Output{Stdout: string(a)}, nil
}

// TestForeignRecord: a record that no run of holdfast wrote is reported, and decides nothing.
func TestForeignRecord(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{"adding": "", "removing": "", "aside\x1b[2J": `"aside\x1b[2J", which is not a record`} {
		r := &Run{Cluster: engine.Cluster{Managed: &engine.ManagedMembers{DataDir: "/var/lib/etcd/default"}}, Hosts: answerAll("clock 1700000000\nrecord " + record + "\ndata\n")}
		r.Prepare()
		h := r.observeHost(context.Background(), engine.Host{Name: "a"}).host
		if want == "" && (h.Unreachable != "" || h.Record != membership.Record(record)) || !strings.Contains(h.Unreachable, want) || want != "" && h.Record != membership.NoRecord {
			t.Errorf("%q: %+v", record, h)
		}
	}
}
