package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/kubefacts"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// newDrainingSite returns a site of two workers whose nodes are drained through the API, and their cluster.
func newDrainingSite(t *testing.T, options engine.KubernetesDrain) (*simulator.Site, *simulator.Kubernetes) {
	inv := simulator.Fleet(0, 2)
	inv.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
	for i := range inv.Pools {
		if inv.Pools[i].Name == "worker" {
			inv.Pools[i].Drain = &engine.Drain{Name: "pods", Timeout: engine.Duration(5 * time.Minute), Kubernetes: &options}
		}
	}
	k := simulator.NewKubernetes("main", "worker-0", "worker-1")
	for i := range inv.Hosts {
		inv.Hosts[i].Kubernetes = "main"
		for _, name := range []string{"web", "db"} {
			k.AddPod(inv.Hosts[i].Name, kubefacts.Pod{Name: fmt.Sprint(name, i), Labels: map[string]string{"app": name}, Controlled: true, Ready: true})
		}
		k.AddPod(inv.Hosts[i].Name, kubefacts.Pod{Name: fmt.Sprint("agent", i), Controlled: true, DaemonSet: true, Ready: true})
		k.AddPod(inv.Hosts[i].Name, kubefacts.Pod{Name: fmt.Sprint("static", i), Mirror: true, Ready: true})
	}
	return newSite(inv), k
}

// TestDrainNode drains nodes by the API in runs with all kinds of trouble. Whatever happens, the run evicts no pod twice, breaks no budget, undoes
// only its own cordon, and leaves no lease.
func TestDrainNode(t *testing.T) {
	seconds := engine.Duration(7 * time.Second)
	for name, x := range map[string]struct {
		options engine.KubernetesDrain
		prepare func(*simulator.Kubernetes)
		exit    engine.ExitCode
		booted  string // hosts that run the new OS
		log     string // beginning of the changes of the cluster
		says    string
	}{
		"nothing special": {engine.KubernetesDrain{GracePeriod: &seconds}, func(*simulator.Kubernetes) {}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon worker-0, release worker-0, lease worker-1", "every host matches"},
		"a budget that waits": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.AddBudget("b", "web", 1)
			k.AddPod("worker-0", kubefacts.Pod{Name: "web9", Labels: map[string]string{"app": "web"}, Controlled: true, Ready: true})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict web0, evict web9, uncordon", "every host matches"},
		"a budget without room":                 {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) { k.AddBudget("b", "web", 0) }, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0", "a pod is left: t/web0 (PodDisruptionBudget t/b: it needs more healthy pods)"},
		"a budget without room, and on_timeout": {engine.KubernetesDrain{OnTimeout: engine.ContinueOnTimeout}, func(k *simulator.Kubernetes) { k.AddBudget("b", "web", 0) }, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0, lease worker-1", "it is disrupted with them"},
		"two budgets":                           {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) { k.AddBudget("a", "web", 1); k.AddBudget("b", "web", 1) }, engine.ExitRefused, "", "", "its node cannot be drained: the PodDisruptionBudgets t/a and t/b both match"},
		"two budgets, and only a warning":       {engine.KubernetesDrain{Blocked: engine.WarnOfBlocked}, func(k *simulator.Kubernetes) { k.AddBudget("a", "web", 1); k.AddBudget("b", "web", 1) }, engine.ExitFailed, "", "lease worker-0, cordon worker-0, uncordon worker-0, release worker-0", "two PodDisruptionBudgets match it"},
		"no controller":                         {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) { k.AddPod("worker-0", kubefacts.Pod{Name: "alone", Ready: true}) }, engine.ExitRefused, "worker-1", "lease worker-1", "worker-0: its node cannot be drained: no controller makes the pod again; set force"},
		"no controller, and force":              {engine.KubernetesDrain{Force: true}, func(k *simulator.Kubernetes) { k.AddPod("worker-0", kubefacts.Pod{Name: "alone", Ready: true}) }, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict alone", "every host matches"},
		"pods that the selector leaves":         {engine.KubernetesDrain{PodSelector: "app!=web"}, func(*simulator.Kubernetes) {}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0", "every host matches"},
		"a missing right": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.SetMissing(kubefacts.Right{Verb: "create", Resource: "pods", Subresource: "eviction"})
		}, engine.ExitRefused, "", "", "the user of the kubeconfig may not create pods/eviction"},
		"another tool takes the lease": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) {
				k.SetLease(kubefacts.Lease{Node: "worker-1", Holder: "nhc", RenewedAt: time.Now(), Duration: time.Hour})
			})
		}, engine.ExitRefused, "worker-0", "lease worker-0", "nhc has the lease of its node"},
		"an expired lease": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.SetLease(kubefacts.Lease{Node: "worker-0", Holder: "nhc", RenewedAt: time.Now().Add(-time.Hour), Duration: time.Minute})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0", "every host matches"},
		"uncordoned by somebody": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Cordoned = false }) })
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon worker-0, release worker-0", "somebody has uncordoned node worker-0"},
		"cordoned by somebody meanwhile": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.CordonedBy = "" }) })
		}, engine.ExitFailed, "worker-0", "lease worker-0, cordon worker-0, evict db0, evict web0, release worker-0", "node worker-0 stays cordoned, because somebody else has cordoned it"},
		"cordoned by nobody knows whom": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) {
				k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.CordonedBy, n.CordonMerged = "", true })
			})
		}, engine.ExitFailed, "worker-0", "lease worker-0, cordon worker-0, evict db0, evict web0, release worker-0", "node worker-0 stays cordoned, because holdfast cannot tell who cordoned it; if nobody else did, use: kubectl uncordon worker-0"},
		"registered again": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.UID, n.CordonedBy = "other", "" }) })
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, evict web0, release worker-0", "is not the one that was cordoned"},
		"not Ready before": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false })
			k.AddPod("worker-0", kubefacts.Pod{Name: "old", Controlled: true, Terminating: true, Overdue: true})
			k.OnChange(func(number int) {
				if number == 5 { // uncordoned: the update has mended the kubelet
					time.AfterFunc(0, func() { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = true }) })
				}
			})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon worker-0", "worker-0: drain: node worker-0 was not Ready before, and its kubelet has not ended pods whose time to end is over: t/db0, t/old, t/web0;"},
		"not Ready before, with a budget": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.AddBudget("b", "web", 0)
			k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false })
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0", "a pod is left: t/web0 (PodDisruptionBudget t/b: it needs more healthy pods); node worker-0 is not Ready, so its kubelet may end no pods; node worker-0 was not Ready before, and its kubelet has not ended pods whose time to end is over: t/db0;"},
		"not Ready before, with a budget, and on_timeout": {engine.KubernetesDrain{OnTimeout: engine.ContinueOnTimeout}, func(k *simulator.Kubernetes) {
			k.AddBudget("b", "web", 0)
			k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false })
			k.OnChange(func(number int) {
				if number == 4 { // uncordoned: the update has mended the kubelet
					time.AfterFunc(0, func() { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = true }) })
				}
			})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0", "it is disrupted with them, because the drain of its pool has on_timeout = \"continue\"\nworker-0: drain: node worker-0 was not Ready before, and its kubelet has not ended pods whose time to end is over: t/db0;"},
		"not Ready before, and Ready meanwhile": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false })
			k.OnEvict(func(pod string) {
				if pod == "web0" {
					k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = true })
					time.AfterFunc(7*time.Second, func() { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false }) })
				}
			})
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon worker-0", "pods are left: t/db0, t/web0 (ending); node worker-0 is not Ready, so its kubelet may end no pods"},
		"comes back": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.AddPod("worker-0", kubefacts.Pod{Name: "typha", Controlled: true, Ready: true, ToleratesCordon: true})
			k.OnEvict(func(pod string) {
				if strings.HasPrefix(pod, "typha") && k.Node("worker-0").Cordoned {
					k.AddPod("worker-0", kubefacts.Pod{Name: "typha-again", Controlled: true, Ready: true, ToleratesCordon: true})
				}
			})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict typha, evict web0, uncordon worker-0", "every host matches"},
		"comes back under a node name": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.AddPod("worker-0", kubefacts.Pod{Name: "pinned", Owner: "set", Controlled: true, Ready: true})
			k.OnEvict(func(pod string) {
				if strings.HasPrefix(pod, "pinned") && k.Node("worker-0").Cordoned {
					k.AddPod("worker-0", kubefacts.Pod{Name: pod + "+", Owner: "set", Controlled: true, Ready: true})
				}
			})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict pinned, evict web0, evict pinned+, uncordon worker-0", "every host matches"},
		"a silent kubelet": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.AddBudget("b", "web", 0)
			k.OnEvict(func(string) { k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready = false }) })
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0", "pods are left: t/db0 (ending), t/web0 (PodDisruptionBudget t/b: it needs more healthy pods); node worker-0 is not Ready, so its kubelet may end no pods"},
		"deleted by somebody": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) {
				k.ChangeNode("worker-0", func(n *kubefacts.Node) { *n = kubefacts.Node{Name: n.Name, Gone: true} })
			})
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, evict web0, release worker-0", "worker-0: drain: node worker-0 is gone: somebody has deleted it from its cluster"},
		"the API is away":           {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) { k.SetAway(true) }, engine.ExitUnreachable, "", "", "so nobody knows whether it can be drained"},
		"the API is away, and skip": {engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable}, func(k *simulator.Kubernetes) { k.SetAway(true) }, engine.ExitOK, "worker-0 worker-1", "", "it is disrupted without a drain"},
		"the API is lost for a while": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(pod string) {
				if pod == "db0" {
					k.SetAway(true)
					time.AfterFunc(time.Minute, func() { k.SetAway(false) })
				}
			})
		}, engine.ExitOK, "worker-0 worker-1", "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon", "every host matches"},
		"the API is lost until after the drain": {engine.KubernetesDrain{}, func(k *simulator.Kubernetes) {
			k.OnEvict(func(string) {
				k.SetAway(true)
				time.AfterFunc(6*time.Minute, func() { k.SetAway(false) })
			})
		}, engine.ExitFailed, "", "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0", "the API of Kubernetes cluster main does not answer: connection refused"},
		"a kubeconfig without rights, and skip": {engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable}, func(k *simulator.Kubernetes) {
			k.SetProblem(&kubefacts.Problem{Kind: kubefacts.Forbidden, Cause: "403 Forbidden", Hint: "give the role"})
		}, engine.ExitUnreachable, "", "", "the API may run, so the drain is not skipped"},
		"rights that are lost, and skip": {engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable}, func(k *simulator.Kubernetes) {
			k.OnChange(func(number int) {
				if number == 1 { // the lease
					k.LoseAPI(&kubefacts.Problem{Kind: kubefacts.Forbidden, Cause: "403 Forbidden", Hint: "give the role"})
					time.AfterFunc(6*time.Minute, func() { k.SetAway(false) })
				}
			})
		}, engine.ExitFailed, "", "lease worker-0, release worker-0", "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, k := newDrainingSite(t, x.options)
				x.prepare(k)
				b := site.Bastion("run-1")
				var said []string
				b.Watch = func(e event.Event) { said = append(said, describeForTest(e)...) }
				end := applyRun(b, func(r *rollout.Run) { r.Nodes = k })
				said = append(said, findingsText(end))
				failOnErrors(t, checkLaws(site))
				booted := []string{}
				for _, h := range []string{"worker-0", "worker-1"} {
					if site.Host(h).State().Booted == simulator.V2 {
						booted = append(booted, h)
					}
				}
				log := strings.Join(k.Log(), ", ")
				if end.Exit != x.exit || strings.Join(booted, " ") != x.booted || !strings.HasPrefix(log, x.log) || x.log == "" && log != "" {
					t.Errorf("exit %d, booted %q\n%s\n%s", end.Exit, booted, log, strings.Join(said, "\n"))
				}
				if !strings.Contains(strings.Join(said, "\n"), x.says) {
					t.Errorf("it does not say %q:\n%s", x.says, strings.Join(said, "\n"))
				}
				if v := k.Violations(); len(v) > 0 {
					t.Errorf("%q\n%s", v, log)
				}
			})
		})
	}
}

// countingNodes counts the evictions that are asked for.
type countingNodes struct {
	rollout.Nodes

	asked map[string]int // by pod
}

func (c countingNodes) Evict(ctx context.Context, cluster string, r kubefacts.EvictionRequest) kubefacts.Eviction {
	c.asked[r.Pod.Name]++
	return c.Nodes.Evict(ctx, cluster, r)
}

// refusingNodes refuses every cordon with a problem, and answers everything else.
type refusingNodes struct {
	rollout.Nodes

	problem kubefacts.Problem
}

func (r refusingNodes) Cordon(context.Context, string, string, string) (kubefacts.Node, *kubefacts.Problem) {
	return kubefacts.Node{}, &r.problem
}

// TestRefusedCordonSkipsNoDrain: an API that answers reads and refuses to cordon the node, for example because a webhook fails, is not away. So
// when_unreachable = "skip" does not disrupt the node with its pods.
func TestRefusedCordonSkipsNoDrain(t *testing.T) {
	for _, kind := range []kubefacts.ProblemKind{kubefacts.ServerError, kubefacts.NotKubernetes, kubefacts.TooManyRequests} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, k := newDrainingSite(t, engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable})
				b := site.Bastion("run-1")
				said := ""
				b.Watch = func(e event.Event) { said += strings.Join(describeForTest(e), "\n") + "\n" }
				end := applyRun(b, func(r *rollout.Run) {
					r.Nodes = refusingNodes{k, kubefacts.Problem{Kind: kind, Cause: "cordoning the node: refused by a webhook", Hint: "mend it"}}
				})
				failOnErrors(t, checkLaws(site))
				log := strings.Join(k.Log(), ", ")
				if end.Exit != engine.ExitFailed || site.Host("worker-0").State().Booted == simulator.V2 || site.Host("worker-1").State().Booted == simulator.V2 || !strings.HasPrefix(log, "lease worker-0, release worker-0") || len(k.Violations()) > 0 {
					t.Errorf("exit %d, %s, %q\n%s", end.Exit, log, k.Violations(), said)
				}
				if !strings.Contains(said, "refused by a webhook") || strings.Contains(said, "it is disrupted without a drain") {
					t.Error(said)
				}
			})
		})
	}
}

// TestDrainAsksEachBudgetOnce: a look at a node with many pods of one budget without room asks for one eviction only, and names them all.
func TestDrainAsksEachBudgetOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, k := newDrainingSite(t, engine.KubernetesDrain{})
		k.AddBudget("b", "web", 0)
		for i := range 100 {
			k.AddPod("worker-0", kubefacts.Pod{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}, Controlled: true, Ready: true})
		}
		k.AddPod("worker-0", kubefacts.Pod{Name: "web-unready", Labels: map[string]string{"app": "web"}, Controlled: true})
		b := site.Bastion("run-1")
		said := ""
		b.Watch = func(e event.Event) { said += strings.Join(describeForTest(e), "\n") + "\n" }
		counted := countingNodes{k, map[string]int{}}
		end := applyRun(b, func(r *rollout.Run) { r.Nodes = counted })
		failOnErrors(t, checkLaws(site))
		looks := counted.asked["web-0"]
		if end.Exit != engine.ExitFailed || looks < 10 || counted.asked["web-1"] > 0 || counted.asked["web-99"] > 0 || counted.asked["web-unready"] != looks {
			t.Errorf("exit %d, %v", end.Exit, counted.asked)
		}
		if !strings.Contains(said, "t/web-0, t/web-1, t/web-10, t/web-11, t/web-12, and 97 more (PodDisruptionBudget t/b: it needs more healthy pods)") {
			t.Error(said)
		}
	})
}

// TestDrainNodeKilled kills a run after every change of the cluster and every event of the first host. The next run of the same bastion finishes the
// host, undoes exactly the cordon of the dead run, and leaves no lease; the cordon of a person stays.
func TestDrainNodeKilled(t *testing.T) {
	events := 0
	run := func(t *testing.T, kill func(*simulator.Bastion, *simulator.Kubernetes), pause time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			site, k := newDrainingSite(t, engine.KubernetesDrain{})
			k.ChangeNode("worker-1", func(n *kubefacts.Node) { n.Cordoned = true })
			site.Host("worker-1").Boot(simulator.V2)
			site.Inventory.Pools[len(site.Inventory.Pools)-1].MaxUnavailable.Count = 2
			first, second := site.Bastion("run-1"), site.Bastion("run-2")
			kill(first, k)
			applyRun(first, func(r *rollout.Run) { r.Nodes = k })
			events = max(events, len(first.Events()))
			k.OnChange(nil)
			time.Sleep(pause)
			end := applyRun(second, func(r *rollout.Run) { r.Nodes = k }, successorOf(first))
			if v := k.Violations(); end.Exit != engine.ExitOK || site.Host("worker-0").State().Booted != simulator.V2 || len(v) > 0 {
				t.Errorf("exit %d %s, %q\n%s\nfirst\n%s\nsecond\n%s", end.Exit, findingsText(end), v, strings.Join(k.Log(), ", "), runTranscript(first), runTranscript(second))
			}
			if !k.Node("worker-1").Cordoned || k.Node("worker-0").Cordoned {
				t.Errorf("%+v, %+v", k.Node("worker-0"), k.Node("worker-1"))
			}
			failOnErrors(t, checkLaws(site))
		})
	}
	run(t, func(*simulator.Bastion, *simulator.Kubernetes) {}, 0)
	for n := 1; n <= 6; n++ {
		run(t, func(b *simulator.Bastion, k *simulator.Kubernetes) {
			k.OnChange(func(number int) {
				if number == n {
					b.Kill()
				}
			})
		}, 0)
	}
	for seq := 1; seq <= events; seq++ {
		run(t, func(b *simulator.Bastion, _ *simulator.Kubernetes) { doAtEvent(b, seq, b.Kill) }, time.Minute)
	}
	if events < 20 {
		t.Errorf("only %d events", events)
	}
}

// TestUndrainWithoutAPI kills a run in a drain, and takes the API away. A run with when_unreachable = "skip" updates the host, and gives it back
// only once the API has answered and the node is uncordoned.
func TestUndrainWithoutAPI(t *testing.T) {
	for name, x := range map[string]struct {
		away time.Duration // from the start of the second run
		exit engine.ExitCode
		log  string
	}{
		"back after the reboot": {4 * time.Minute, engine.ExitOK, "lease worker-0, cordon worker-0, uncordon worker-0, release worker-0"},
		"stays away":            {time.Hour, engine.ExitFailed, "lease worker-0, cordon worker-0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, k := newDrainingSite(t, engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable})
				site.Host("worker-1").Boot(simulator.V2)
				first, second := site.Bastion("run-1"), site.Bastion("run-2")
				k.OnChange(func(number int) {
					if number == 2 {
						first.Kill()
					}
				})
				applyRun(first, func(r *rollout.Run) { r.Nodes = k })
				k.OnChange(nil)
				k.SetAway(true)
				time.AfterFunc(x.away, func() { k.SetAway(false) })
				end := applyRun(second, func(r *rollout.Run) { r.Nodes = k }, successorOf(first))
				held := site.Host("worker-0").Hold() != nil
				if log := strings.Join(k.Log(), ", "); end.Exit != x.exit || log != x.log || held != (x.exit != engine.ExitOK) || site.Host("worker-0").State().Booted != simulator.V2 {
					t.Errorf("exit %d %s, held %v, %s\n%s", end.Exit, findingsText(end), held, log, runTranscript(second))
				}
			})
		})
	}
}

// TestDrainsThatShareBudget: hosts whose pods share a budget without room for all of them are in different batches, and the plan says why.
func TestDrainsThatShareBudget(t *testing.T) {
	for name, x := range map[string]struct {
		allowed int
		batches int
		says    string
	}{
		"room for one":  {1, 2, "worker-1: in a later batch: PodDisruptionBudget t/b of Kubernetes cluster main allows 1 eviction now, and its pods are also on other hosts of the batch"},
		"room for both": {2, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, k := newDrainingSite(t, engine.KubernetesDrain{})
				site.Inventory.Pools[len(site.Inventory.Pools)-1].MaxUnavailable.Count = 2
				k.AddBudget("b", "web", x.allowed)
				b := site.Bastion("run-1")
				var said []string
				batches := 0
				b.Watch = func(e event.Event) {
					said = append(said, describeForTest(e)...)
					if e.Type == event.BatchStarted {
						batches++
					}
				}
				end := applyRun(b, func(r *rollout.Run) { r.Nodes = k })
				if all := strings.Join(said, "\n"); end.Exit != engine.ExitOK || batches != x.batches || !strings.Contains(all, x.says) || strings.Contains(all, "in a later batch") != (x.says != "") || len(k.Violations()) > 0 {
					t.Errorf("exit %d after %d batches, %q\n%s", end.Exit, batches, k.Violations(), all)
				}
			})
		})
	}
}

// TestDrainOfPersonsNode: a node that a person has cordoned is drained, and stays cordoned.
func TestDrainOfPersonsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, k := newDrainingSite(t, engine.KubernetesDrain{})
		k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Cordoned = true })
		site.Host("worker-1").Boot(simulator.V2)
		b := site.Bastion("run-1")
		end := applyRun(b, func(r *rollout.Run) { r.Nodes = k })
		if log := strings.Join(k.Log(), ", "); end.Exit != engine.ExitOK || !k.Node("worker-0").Cordoned || log != "lease worker-0, evict db0, evict web0, release worker-0" || len(k.Violations()) > 0 {
			t.Errorf("exit %d, %s, %q\n%s", end.Exit, log, k.Violations(), runTranscript(b))
		}
	})
}

func describeForTest(e event.Event) []string {
	said := []string{e.Message}
	if e.Failure != nil {
		said = append(said, e.Failure.Error())
	}
	if e.Plan != nil {
		said = append(said, e.Plan.Warnings...)
		for _, x := range e.Plan.Excluded {
			said = append(said, x.Host+": "+x.Reason)
		}
	}
	return said
}

// TestDrainTellsWhyItWaits: the progress names the pods that are left, and the budget that holds them, at once, and again only if another one holds them.
func TestDrainTellsWhyItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, k := newDrainingSite(t, engine.KubernetesDrain{})
		k.AddBudget("b", "web", 0)
		b := site.Bastion("run-1")
		var began time.Time
		var told []string
		b.Watch = func(e event.Event) {
			switch {
			case e.Step != "drain":
			case e.Type == event.StepStarted:
				began = e.Time
			case e.Type == event.StepProgress && e.Time.Sub(began) < 20*time.Second:
				told = append(told, e.Message)
			}
		}
		applyRun(b, func(r *rollout.Run) { r.Nodes = k })
		failOnErrors(t, checkLaws(site))
		if got := strings.Join(told, "\n"); len(told) != 1 || !strings.Contains(got, "t/web0 (PodDisruptionBudget t/b: ") || !strings.Contains(got, "t/db0 (ending)") {
			t.Errorf("progress: %s", got)
		}
	})
}
