package rollout

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/kubefacts"
	"holdfast/engine/resource"
)

// answers are the answers about one node, one after the other. The last one stays.
type answers []func() (kubefacts.Node, *kubefacts.Problem)

// nodeAnswers are Kubernetes clusters with one node.
type nodeAnswers struct {
	Nodes
	list answers
}

func (a *nodeAnswers) ReadNode(context.Context, string, string) (kubefacts.Node, *kubefacts.Problem) {
	answer := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	return answer()
}

// hostAhead is how far the clocks of clockHosts are ahead.
const hostAhead = time.Hour

// clockHosts are hosts that tell only the time of their clocks.
type clockHosts struct{ Hosts }

func (c clockHosts) Connect(context.Context, engine.Host) (Conn, error) { return c, nil }

func (clockHosts) Run(context.Context, Script) (Reply, error) { return Reply{}, nil }

func (clockHosts) Probe(engine.Desired) []engine.Command { return nil }

func (clockHosts) Read(_ engine.Desired, _ engine.Outputs, f engine.Facts) engine.Facts {
	f.Clock = time.Now().Add(hostAhead)
	return f
}

// TestAwaitNode waits through an API that is away, a node that is not Ready, and one that still tells of the boot before.
func TestAwaitNode(t *testing.T) {
	node := func(n kubefacts.Node) func() (kubefacts.Node, *kubefacts.Problem) {
		return func() (kubefacts.Node, *kubefacts.Problem) { return n, nil }
	}
	away := func() (kubefacts.Node, *kubefacts.Problem) {
		return kubefacts.Node{}, &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: "connection refused", Hint: "start it"}
	}
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	beat := func(after time.Duration) func() (kubefacts.Node, *kubefacts.Problem) {
		return node(kubefacts.Node{Name: "n", Ready: true, BootID: "b1", HeartbeatAt: began.Add(hostAhead + after)})
	}
	before, since := beat(-time.Minute), beat(2*time.Second)
	old := node(kubefacts.Node{Name: "n", Ready: true, BootID: "b1"})
	for name, x := range map[string]struct {
		answers answers
		want    engine.AwaitNode
		fails   string
		soft    resource.BootID // of the host before; "": its kernel has booted, and nothing has rebooted since
	}{
		"Ready at once":                        {answers{old}, engine.AwaitNode{}, "", ""},
		"all of it, then Ready":                {answers{away, old, node(kubefacts.Node{BootID: "b2"}), node(kubefacts.Node{Ready: true, BootID: "b2"})}, engine.AwaitNode{Rebooted: true}, "", ""},
		"still the old boot":                   {answers{old}, engine.AwaitNode{Rebooted: true}, "not done within 1m0s: the kubelet of node n has not reported its new boot", ""},
		"old, after soft reboots":              {answers{old}, engine.AwaitNode{Rebooted: true}, "not done within 1m0s: the kubelet of node n has not reported its new boot", "b1+2"},
		"never Ready":                          {answers{node(kubefacts.Node{Name: "n", NotReady: "NetworkNotReady: x"})}, engine.AwaitNode{}, "node n is not Ready (NetworkNotReady: x)", ""},
		"the API stays away":                   {answers{away}, engine.AwaitNode{}, "connection refused; start it", ""},
		"gone, and back":                       {answers{node(kubefacts.Node{Name: "n", Gone: true}), node(kubefacts.Node{Ready: true, BootID: "b2"})}, engine.AwaitNode{Rebooted: true}, "", ""},
		"gone":                                 {answers{node(kubefacts.Node{Name: "n", Gone: true})}, engine.AwaitNode{Rebooted: true}, "node n is gone, and its kubelet has not registered it again", ""},
		"Ready of the process before":          {answers{before}, engine.AwaitNode{SoftRebooted: true}, "not done within 1m0s: the kubelet of node n has not reported since the soft reboot", ""},
		"Ready of the process before, and now": {answers{before, away, before, since}, engine.AwaitNode{SoftRebooted: true}, "", ""},
		"no heartbeat":                         {answers{old}, engine.AwaitNode{SoftRebooted: true}, "", ""},
		"deleted in the meantime":              {answers{node(kubefacts.Node{Deleted: true})}, engine.AwaitNode{Rebooted: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := &Run{Ports: Ports{Nodes: &nodeAnswers{list: x.answers}, Hosts: clockHosts{}, Clock: clock.Real{}, Sink: silentSink{}, Soft: t.Context()}}
				run.Inventory.Hosts = []engine.Host{{Name: "h"}}
				run.Modules = []engine.Module{{Observer: clockHosts{}}}
				hp := engine.HostPlan{Host: "h", BootID: cmp.Or(x.soft, "b1")}
				r := &stepRunner{gatherer: newGatherer(run)}
				step := engine.Step{Name: "wait for node", Do: engine.Op{AwaitNode: &x.want}, Timeout: engine.Duration(time.Minute)}
				r.ordered.Store("h", time.Now())
				failure := r.runUndoStep(t.Context(), hp, step)
				if (failure == nil) != (x.fails == "") || failure != nil && !strings.Contains(failure.Cause, x.fails) {
					t.Errorf("%+v, want %q", failure, x.fails)
				}
			})
		})
	}
}
