package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/kubernetes"
)

// takeCluster returns the cluster that the first argument names as @CLUSTER, and the other arguments.
func takeCluster(ts *testscript.TestScript, args []string) (kubernetes.Cluster, []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "@") {
		return kubernetes.Main, args
	}
	c := kubernetes.Cluster(args[0][1:])
	if !slices.Contains(kubernetes.Clusters(), c) {
		ts.Fatalf("there is no cluster %s", c)
	}
	return c, args[1:]
}

// cmdCluster starts another cluster, and writes its kubeconfig into the site.
func cmdCluster(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "cluster @CLUSTER")
	c, _ := takeCluster(ts, args)
	if c == kubernetes.Main {
		ts.Fatalf("usage: cluster @CLUSTER")
	}
	s := stageOf(ts)
	ts.Check(s.Lab.StartCluster(s.ctx, c))
	text, err := os.ReadFile(s.Lab.KubernetesFolder(c).Kubeconfig(kubernetes.Holdfast))
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("site"), string(c)+".kubeconfig"), text, 0o600))
}

// cmdKubectl runs kubectl as administrator of a cluster. It takes no "!", because kubectl also returns 1 if the API does not
// answer.
func cmdKubectl(ts *testscript.TestScript, neg bool, args []string) {
	c, args := takeCluster(ts, args)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: kubectl [@CLUSTER] ARGUMENT…")
	}
	s := stageOf(ts)
	programs, err := kubernetes.FindPrograms()
	ts.Check(err)
	argv := []string{"--dir", s.Lab.Dir(), "exec", "--", programs.Kubectl(), "--kubeconfig=" + s.Lab.KubernetesFolder(c).Kubeconfig(kubernetes.Admin)}
	ts.Check(ts.Exec(s.Self, append(argv, args...)...))
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	c, args := takeCluster(ts, args)
	if neg || len(args) == 0 || len(args) > 2 || (args[0] != string(kubernetes.On)) != (len(args) == 1) {
		ts.Fatalf("usage: api [@CLUSTER] stop|start|freeze|thaw, or: api [@CLUSTER] on HOST")
	}
	s := stageOf(ts)
	control := s.Lab.Kubernetes(c)
	ts.Check(control.ChangeAPI(s.ctx, kubernetes.Action(args[0]), strings.Join(args[1:], "")))
	if args[0] == string(kubernetes.Stop) || args[0] == string(kubernetes.Freeze) {
		return
	}
	ts.Check(s.waitUntilOK(3*time.Minute, func() error { return control.CheckAPI(s.ctx) }))
}

func cmdKubelet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: kubelet stop|start HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		ts.Check(s.Lab.Kubernetes(kubernetes.Main).ChangeKubelet(s.ctx, kubernetes.Action(args[0]), name))
	}
}

// cmdBudgets watches the PodDisruptionBudgets of a cluster, or ends the watch and demands that none had fewer ready pods than it needs.
func cmdBudgets(ts *testscript.TestScript, neg bool, args []string) {
	c, args := takeCluster(ts, args)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: budgets [@CLUSTER] watch|end")
	}
	s := stageOf(ts)
	switch w := s.budgets[c]; {
	case args[0] == "watch" && w == nil:
		w, err := kubernetes.WatchBudgets(s.ctx, s.Lab.KubernetesFolder(c), s.Lab.DialContext)
		ts.Check(err)
		s.budgets[c] = w
	case args[0] == "end" && w != nil:
		r := w.Stop()
		delete(s.budgets, c)
		ts.Logf("cluster %s: %s", c, r)
		if len(r.Fewest) == 0 {
			ts.Fatalf("no budget of cluster %s was seen with its pods up", c)
		}
		for name, when := range r.Below {
			ts.Fatalf("budget %s of cluster %s had too few ready pods: %s", name, c, when)
		}
	default:
		ts.Fatalf("budgets %s: the watch of cluster %s has begun already, or has not begun", args[0], c)
	}
}
