package kube_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
	"holdfast/engine/kube"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
)

// newClient returns the client of a server, at a time of its own.
func newClient(f files, now time.Time) kube.Clusters {
	return kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: "main", Kubeconfig: "/etc/kube.conf"}}}, kube.Bastion{
		Files: f, Now: func() time.Time { return now }, Sleep: func(context.Context, time.Duration) error { return nil },
	})
}

func newPod(name, uid string) kubetest.Object {
	return kubetest.Object{
		"metadata": kubetest.Object{"namespace": "t", "name": name, "uid": uid, "labels": kubetest.Object{"app": name}, "ownerReferences": []kubetest.Object{{"kind": "ReplicaSet", "controller": true}}},
		"spec":     kubetest.Object{"nodeName": "n"},
		"status":   kubetest.Object{"phase": "Running", "conditions": []kubetest.Object{{"type": "Ready", "status": "True"}}},
	}
}

func newBudget(name, app string, allowed int) kubetest.Object {
	return kubetest.Object{
		"metadata": kubetest.Object{"namespace": "t", "name": name, "generation": 1},
		"spec":     kubetest.Object{"selector": kubetest.Object{"matchLabels": kubetest.Object{"app": app}}},
		"status":   kubetest.Object{"observedGeneration": 1, "disruptionsAllowed": allowed, "desiredHealthy": 2, "currentHealthy": 2, "expectedPods": 3},
	}
}

// TestEvict: each answer of an API has a kind. An eviction names the UID of the pod, and costs no budget if another pod has its name.
func TestEvict(t *testing.T) {
	for name, x := range map[string]struct {
		pod    string
		change func(*kubetest.Server)
		want   kubefacts.EvictionKind
		budget string
		text   string
	}{
		"allowed":         {"web", nil, kubefacts.PodEvicted, "", ""},
		"allowed again":   {"guarded", nil, kubefacts.PodEvicted, "", ""},
		"no budget":       {"full", nil, kubefacts.BudgetRefused, "tight", "The disruption budget tight needs 2 healthy pods and has 2 currently"},
		"budget is stale": {"new", nil, kubefacts.BudgetRefused, "fresh", "The disruption budget fresh is still being processed by the server."},
		"two budgets":     {"both", nil, kubefacts.TwoBudgetsRefused, "", "This pod has more than one PodDisruptionBudget"},
		"gone":            {"nobody", nil, kubefacts.PodGone, "", ""},
		"replaced": {"guarded", func(s *kubetest.Server) {
			s.Change(kubetest.Pods, "t/guarded", func(o kubetest.Object) { o["metadata"].(kubetest.Object)["uid"] = "other" })
		}, kubefacts.PodReplaced, "", ""},
		"budget is crowded": {"guarded", func(s *kubetest.Server) {
			s.Answer("/api/v1/namespaces/t/pods/guarded/eviction", func(w http.ResponseWriter, _ *http.Request) {
				kubetest.WriteJSON(w, 403, kubetest.Object{"kind": "Status", "reason": "Forbidden", "code": 403, "message": "DisruptedPods map too big", "details": kubetest.Object{"causes": []kubetest.Object{{
					"reason": "DisruptionBudget", "message": "The disruption budget room does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller",
				}}}})
			})
		}, kubefacts.BudgetRefused, "room", "too many pending evictions"},
		"no right": {"web", func(s *kubetest.Server) { s.Deny(kubetest.Right{Verb: "create", Resource: "pods/eviction"}) }, kubefacts.EvictionForbidden, "", "cannot create resource"},
		"limited": {"web", func(s *kubetest.Server) {
			s.Answer("/api/v1/namespaces/t/pods/web/eviction", func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 429, "too many requests") })
		}, kubefacts.EvictionUnknown, "", ""},
		"token expired": {"web", func(s *kubetest.Server) {
			s.Answer("/api/v1/namespaces/t/pods/web/eviction", func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 401, "Unauthorized") })
		}, kubefacts.EvictionUnknown, "", ""},
		"without etcd": {"web", func(s *kubetest.Server) {
			s.Answer("/api/v1/namespaces/t/pods/web/eviction", func(w http.ResponseWriter, _ *http.Request) {
				kubetest.WriteJSON(w, 500, kubetest.Object{"kind": "Status", "reason": "InternalError", "message": "etcdserver: no leader", "code": 500})
			})
		}, kubefacts.EvictionUnknown, "", ""},
		"replaced between": {"web", func(s *kubetest.Server) {
			s.Answer("/api/v1/namespaces/t/pods/web/eviction", func(w http.ResponseWriter, _ *http.Request) {
				kubetest.Refuse(w, 409, "the UID in the precondition (u-web) does not match the UID in record (x)")
			})
		}, kubefacts.PodReplaced, "", ""},
		"lost": {"web", func(s *kubetest.Server) { s.Close() }, kubefacts.EvictionUnknown, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := kubetest.Start(t)
			s.SetList(kubetest.Pods, newPod("web", "u-web"), newPod("guarded", "u-guarded"), newPod("full", "u-full"), newPod("new", "u-new"), newPod("both", "u-both"))
			fresh := newBudget("fresh", "new", 1)
			fresh["metadata"].(kubetest.Object)["generation"] = 2
			s.SetList(kubetest.Budgets, newBudget("room", "guarded", 1), newBudget("tight", "full", 0), fresh, newBudget("a", "both", 1), newBudget("b", "both", 1))
			if x.change != nil {
				x.change(s)
			}
			e := newClient(kubeconfigOf(s), time.Now()).Evict(t.Context(), "main", kubefacts.EvictionRequest{Pod: kubefacts.Pod{Namespace: "t", Name: x.pod, UID: "u-" + x.pod}})
			if e.Kind != x.want || e.Budget != x.budget || !strings.Contains(e.Text, x.text) || (e.Kind == kubefacts.EvictionUnknown) != (e.Problem != nil && e.Kind == kubefacts.EvictionUnknown) {
				t.Errorf("%+v", e)
			}
			if allowed := s.Read(kubetest.Budgets, "t/room")["status"].(kubetest.Object)["disruptionsAllowed"]; name == "replaced" && allowed != 1.0 {
				t.Errorf("an eviction of another pod cost budget: %v", allowed)
			}
		})
	}
}

// TestEvictGrace sends the grace period, and the UID as precondition.
func TestEvictGrace(t *testing.T) {
	s := kubetest.Start(t)
	s.SetList(kubetest.Pods, newPod("web", "u"))
	body := make([]byte, 1000)
	s.Answer("/api/v1/namespaces/t/pods/web/eviction", func(w http.ResponseWriter, r *http.Request) {
		n, _ := r.Body.Read(body)
		body = body[:n]
		kubetest.WriteJSON(w, 201, kubetest.Object{"kind": "Status", "status": "Success"})
	})
	grace := 7
	e := newClient(kubeconfigOf(s), time.Now()).Evict(t.Context(), "main", kubefacts.EvictionRequest{Pod: kubefacts.Pod{Namespace: "t", Name: "web", UID: "u"}, Grace: &grace})
	if want := `"deleteOptions":{"gracePeriodSeconds":7,"preconditions":{"uid":"u"}}`; e.Kind != kubefacts.PodEvicted || !strings.Contains(string(body), want) {
		t.Errorf("%+v, %s", e, body)
	}
}

// TestCordon: only the cordon of a run is undone, also while the kubelet changes the node all the time.
func TestCordon(t *testing.T) {
	s := kubetest.Start(t)
	person := kubetest.Node("m", "10.0.0.2")
	person["spec"] = kubetest.Object{"unschedulable": true}
	s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"), person)
	c := newClient(kubeconfigOf(s), time.Now())
	reads := 0
	busy := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			kubetest.WriteJSON(w, 200, s.Read(kubetest.Nodes, "n"))
			if reads++; reads < 4 { // the kubelet reports before the patch
				s.Change(kubetest.Nodes, "n", func(kubetest.Object) {})
			}
			return
		}
		s.Answer(r.URL.Path, nil)
		s.ServeHTTP(w, r)
	}
	for _, step := range []struct {
		do                 func() (kubefacts.Node, *kubefacts.Problem)
		node               string
		cordoned           bool
		by                 string
		requests, requires int
	}{
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Cordon(t.Context(), "main", "n", "holdfast-b-r") }, "n", true, "holdfast-b-r", 2, 2},
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Cordon(t.Context(), "main", "n", "other") }, "n", true, "holdfast-b-r", 1, 1},
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Uncordon(t.Context(), "main", "n") }, "n", false, "", 2, 2},
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Uncordon(t.Context(), "main", "n") }, "n", false, "", 1, 1},
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Cordon(t.Context(), "main", "m", "holdfast-b-r") }, "m", true, "", 1, 1},
		{func() (kubefacts.Node, *kubefacts.Problem) { return c.Uncordon(t.Context(), "main", "m") }, "m", true, "", 1, 1},
	} {
		before := len(s.Requests())
		n, problem := step.do()
		if problem != nil || n.Name != step.node || n.Cordoned != step.cordoned || n.CordonedBy != step.by || len(s.Requests())-before != step.requests {
			t.Errorf("%+v, %v, %v", n, problem, s.Requests()[before:])
		}
	}
	s.Answer(kubetest.Nodes+"/n", busy)
	if n, problem := c.Cordon(t.Context(), "main", "n", "holdfast-b-r"); problem != nil || !n.Cordoned || reads < 1 {
		t.Errorf("%+v, %v after %d reads", n, problem, reads)
	}
	if n, problem := c.Uncordon(t.Context(), "main", "gone"); problem != nil || !n.Gone {
		t.Errorf("%+v, %v", n, problem)
	}
	s.Deny(kubetest.Right{Verb: "patch", Resource: "nodes"})
	if _, problem := c.Uncordon(t.Context(), "main", "n"); problem == nil || problem.Kind != kubefacts.Forbidden {
		t.Error(problem)
	}
}

// TestCordonOfPerson: a node that somebody has uncordoned and cordoned again while it had the cordon of a run stays cordoned.
func TestCordonOfPerson(t *testing.T) {
	owner := func(manager, group, field string) kubetest.Object {
		return kubetest.Object{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": kubetest.Object{group: kubetest.Object{field: kubetest.Object{}}}}
	}
	for name, x := range map[string]struct {
		owners []kubetest.Object
		stays  bool
		merged bool
	}{
		"nobody tells":         {nil, false, false},
		"merged":               {[]kubetest.Object{owner("ancient-changes", "f:spec", "f:unschedulable"), owner("kubelet", "f:status", "f:unschedulable")}, true, true},
		"merged, and somebody": {[]kubetest.Object{owner("ancient-changes", "f:spec", "f:unschedulable"), owner("kubectl", "f:spec", "f:unschedulable")}, true, false},
		"the run":              {[]kubetest.Object{owner("holdfast", "f:spec", "f:unschedulable"), owner("kubelet", "f:status", "f:unschedulable")}, false, false},
		"somebody":             {[]kubetest.Object{owner("holdfast", "f:metadata", "f:annotations"), owner("kubectl", "f:spec", "f:unschedulable")}, true, false},
		"somebody as well":     {[]kubetest.Object{owner("holdfast", "f:spec", "f:unschedulable"), owner("argocd", "f:spec", "f:unschedulable")}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := kubetest.Start(t)
			s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"))
			c := newClient(kubeconfigOf(s), time.Now())
			if n, problem := c.Cordon(t.Context(), "main", "n", "holdfast-b-r"); problem != nil || n.CordonedBy != "holdfast-b-r" {
				t.Fatal(n, problem)
			}
			s.Change(kubetest.Nodes, "n", func(o kubetest.Object) {
				o["metadata"].(kubetest.Object)["managedFields"] = x.owners
			})
			before, _ := c.ReadNode(t.Context(), "main", "n")
			n, problem := c.Uncordon(t.Context(), "main", "n")
			if problem != nil || n.Cordoned != x.stays || n.CordonMerged != x.merged || (before.CordonedBy == "") != x.stays {
				t.Errorf("%+v, before %+v, %v", n, before, problem)
			}
			if !slices.ContainsFunc(s.Requests(), func(r string) bool { return r == "PATCH /api/v1/nodes/n?fieldManager=holdfast" }) {
				t.Error(s.Requests())
			}
		})
	}
}

// TestLease: a lease is taken, taken over if it is not valid, left to another tool, and deleted only if it is a run's.
func TestLease(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		lease kubetest.Object
		want  kubefacts.LeaseAnswer
		moves int // transitions afterwards
	}{
		"none":       {nil, kubefacts.LeaseTaken, 0},
		"foreign":    {kubetest.Lease("n", "nhc", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseForeign, 1},
		"expired":    {kubetest.Lease("n", "nhc", "2026-11-27T11:58:30.000000Z", 60), kubefacts.LeaseTaken, 2},
		"future":     {kubetest.Lease("n", "nhc", "2026-11-28T11:59:30.000000Z", 60), kubefacts.LeaseTaken, 2},
		"of nobody":  {kubetest.Lease("n", "", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseTaken, 2},
		"of the run": {kubetest.Lease("n", "holdfast-b-r", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseTaken, 1},
		"a dead run": {kubetest.Lease("n", "holdfast-b-q", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseTaken, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := kubetest.Start(t)
			if x.lease != nil {
				x.lease["metadata"].(kubetest.Object)["resourceVersion"] = "7"
				s.SetList(kubetest.Leases, x.lease)
			}
			c := newClient(kubeconfigOf(s), now)
			got, foreign, problem := c.TakeLease(t.Context(), "main", kubefacts.LeaseRequest{Node: "n", NodeUID: "uid-n", Holder: kubefacts.HolderOf("b", "r"), Duration: time.Hour})
			lease := s.Read(kubetest.Leases, "node-n")
			spec := lease["spec"].(kubetest.Object)
			if problem != nil || got != x.want || fmt.Sprint(spec["leaseTransitions"]) != fmt.Sprint(x.moves) {
				t.Fatalf("%s, %v, %v", got, problem, lease)
			}
			if got == kubefacts.LeaseForeign {
				if foreign.Holder != "nhc" || c.ReleaseLease(t.Context(), "main", "n") != nil || s.Read(kubetest.Leases, "node-n") == nil {
					t.Errorf("%+v, %v", foreign, s.Requests())
				}
				return
			}
			if spec["holderIdentity"] != "holdfast-b-r" || spec["renewTime"] != "2026-11-27T12:00:00.000000Z" || fmt.Sprint(spec["leaseDurationSeconds"]) != "3600" || !strings.Contains(fmt.Sprint(lease["metadata"]), "kind:Node name:n uid:uid-n") {
				t.Errorf("%v", lease)
			}
			if problem := c.ReleaseLease(t.Context(), "main", "n"); problem != nil || s.Read(kubetest.Leases, "node-n") != nil {
				t.Errorf("%v, %v", problem, s.Requests())
			}
		})
	}
}

// TestClockOfAPI: leases are judged and written by the clock of the cluster, also if that of the bastion is wrong.
func TestClockOfAPI(t *testing.T) {
	api := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		bastion time.Duration // how far its clock is ahead
		lease   kubetest.Object
		want    kubefacts.LeaseAnswer
		renewed string
	}{
		"the bastion is ahead, and the lease is not over": {2 * time.Hour, kubetest.Lease("n", "nhc", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseForeign, ""},
		"the bastion is behind, and the lease is valid":   {-2 * time.Hour, kubetest.Lease("n", "nhc", "2026-11-27T11:59:30.000000Z", 60), kubefacts.LeaseForeign, ""},
		"the bastion is behind, and the lease is over":    {-2 * time.Hour, kubetest.Lease("n", "nhc", "2026-11-27T11:00:00.000000Z", 60), kubefacts.LeaseTaken, "2026-11-27T12:00:00.000000Z"},
		"the bastion is ahead":                            {2 * time.Hour, kubetest.Lease("n", "", "2026-11-27T11:00:00.000000Z", 60), kubefacts.LeaseTaken, "2026-11-27T12:00:01.000000Z"},
		"the clocks agree":                                {time.Second / 2, kubetest.Lease("n", "", "2026-11-27T11:00:00.000000Z", 60), kubefacts.LeaseTaken, "2026-11-27T12:00:00.500000Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s := kubetest.Start(t)
			s.SetClock(api)
			x.lease["metadata"].(kubetest.Object)["resourceVersion"] = "7"
			s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"))
			s.SetList(kubetest.Leases, x.lease)
			now := api.Add(x.bastion)
			c := newClient(kubeconfigOf(s), now)
			state := c.Gather(t.Context(), []string{"main"})["main"].MatchHosts([]kubefacts.Host{{Name: "n"}}, now)["n"]
			got, _, problem := c.TakeLease(t.Context(), "main", kubefacts.LeaseRequest{Node: "n", Holder: "holdfast-b-r", Duration: time.Hour})
			if problem != nil || got != x.want || (state.Absence == kubefacts.Leased) != (got == kubefacts.LeaseForeign) {
				t.Errorf("%s, %v, %+v", got, problem, state)
			}
			if spec := s.Read(kubetest.Leases, "node-n")["spec"].(kubetest.Object); x.renewed != "" && spec["renewTime"] != x.renewed {
				t.Errorf("%v", spec)
			}
		})
	}
}

// TestProxyWithoutServer: an answer of a proxy whose API servers are away does not mean that an object is gone.
func TestProxyWithoutServer(t *testing.T) {
	s := kubetest.Start(t)
	for _, path := range []string{kubetest.Nodes + "/n", kubetest.Leases, kubetest.Leases + "/node-n", "/api/v1/namespaces/t/pods/web", "/api/v1/namespaces/t/pods/web/eviction"} {
		s.Answer(path, http.NotFound)
	}
	c := newClient(kubeconfigOf(s), time.Now())
	_, cordon := c.Cordon(t.Context(), "main", "n", "holdfast-b-r")
	_, uncordon := c.Uncordon(t.Context(), "main", "n")
	_, read := c.ReadNode(t.Context(), "main", "n")
	_, _, lease := c.TakeLease(t.Context(), "main", kubefacts.LeaseRequest{Node: "n", Holder: "holdfast-b-r", Duration: time.Hour})
	gathered := c.Gather(t.Context(), []string{"main"})["main"]
	for i, problem := range []*kubefacts.Problem{cordon, uncordon, read, lease, c.ReleaseLease(t.Context(), "main", "n"), gathered.Problem} {
		if problem == nil || problem.Kind != kubefacts.NotKubernetes {
			t.Errorf("%d: %v", i, problem)
		}
	}
	pod := kubefacts.EvictionRequest{Pod: kubefacts.Pod{Namespace: "t", Name: "web", UID: "u-web"}}
	if e := c.Evict(t.Context(), "main", pod); e.Kind != kubefacts.EvictionUnknown {
		t.Errorf("the pod counts as gone: %+v", e)
	}
	s.SetList(kubetest.Pods, newPod("web", "u-web"))
	s.Answer("/api/v1/namespaces/t/pods/web", nil)
	if e := c.Evict(t.Context(), "main", pod); e.Kind != kubefacts.EvictionUnknown {
		t.Errorf("the pod counts as gone: %+v", e)
	}
}

// TestLeaseUnused: a cluster without the namespace of leases, or a user without a right to read them, needs none.
func TestLeaseUnused(t *testing.T) {
	request := kubefacts.LeaseRequest{Node: "n", Holder: "holdfast-b-r", Duration: time.Hour}
	for name, answer := range map[string]http.HandlerFunc{
		"no namespace": func(w http.ResponseWriter, _ *http.Request) {
			kubetest.Refuse(w, 404, `namespaces "medik8s-leases" not found`)
		},
		"no right": func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 403, "leases is forbidden") },
	} {
		s := kubetest.Start(t)
		s.Answer(kubetest.Leases, answer)
		s.Answer(kubetest.Leases+"/node-n", answer)
		c := newClient(kubeconfigOf(s), time.Now())
		if got, _, problem := c.TakeLease(t.Context(), "main", request); got != kubefacts.LeaseUnused || problem != nil {
			t.Errorf("%s: %s, %v", name, got, problem)
		}
		if problem := c.ReleaseLease(t.Context(), "main", "n"); problem != nil {
			t.Errorf("%s: %v", name, problem)
		}
	}
	s := kubetest.Start(t)
	s.Deny(kubetest.Right{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: kube.LeaseNamespace})
	if _, _, problem := newClient(kubeconfigOf(s), time.Now()).TakeLease(t.Context(), "main", request); problem == nil || problem.Kind != kubefacts.Forbidden {
		t.Errorf("%v", problem)
	}
}

// TestFindMissingRights names each right that a drain needs and the user lacks.
func TestFindMissingRights(t *testing.T) {
	s := kubetest.Start(t)
	c := newClient(kubeconfigOf(s), time.Now())
	if missing := c.FindMissingRights(t.Context(), []string{"main"})["main"]; len(missing) > 0 {
		t.Errorf("%v", missing)
	}
	s.Deny(kubetest.Right{Verb: "create", Resource: "pods/eviction"})
	s.Deny(kubetest.Right{Verb: "delete", Group: "coordination.k8s.io", Resource: "leases", Namespace: kube.LeaseNamespace})
	if missing := fmt.Sprint(c.FindMissingRights(t.Context(), []string{"main"})["main"]); missing != "[create pods/eviction delete leases.coordination.k8s.io in namespace medik8s-leases]" {
		t.Errorf("%v", missing)
	}
	s.Deny(kubetest.Right{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: kube.LeaseNamespace})
	if missing := fmt.Sprint(c.FindMissingRights(t.Context(), []string{"main"})["main"]); missing != "[create pods/eviction]" {
		t.Errorf("leases are not used, but needed: %v", missing)
	}
}

// TestRoles: the roles in examples have all rights that gathering and draining need, and no others.
func TestRoles(t *testing.T) {
	s := kubetest.Start(t)
	s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"))
	s.SetList(kubetest.Pods, newPod("web", "u"))
	s.SetList(kubetest.Leases, kubetest.Lease("n", "nhc", "2020-11-27T11:58:30.000000Z", 60))
	s.SetList(kubetest.Maintenances)
	c := newClient(kubeconfigOf(s), time.Now())
	c.Gather(t.Context(), []string{"main"})
	c.ReadWorkloads(t.Context(), map[string][]string{"main": {"n"}})
	for _, name := range []string{"n", "m"} { // one lease is replaced, the other one created
		if _, _, problem := c.TakeLease(t.Context(), "main", kubefacts.LeaseRequest{Node: name, Holder: "holdfast-b-r", Duration: time.Hour}); problem != nil {
			t.Fatal(problem)
		}
	}
	if _, problem := c.Cordon(t.Context(), "main", "n", "holdfast-b-r"); problem != nil {
		t.Fatal(problem)
	}
	if e := c.Evict(t.Context(), "main", kubefacts.EvictionRequest{Pod: kubefacts.Pod{Namespace: "t", Name: "web", UID: "u"}}); e.Kind != kubefacts.PodEvicted {
		t.Fatal(e)
	}
	_, problem := c.Uncordon(t.Context(), "main", "n")
	if released := c.ReleaseLease(t.Context(), "main", "n"); problem != nil || released != nil {
		t.Fatal(problem, released)
	}
	file, err := os.Open("../../examples/kubernetes-rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	given := map[string]bool{}
	for d := yaml.NewDecoder(file); ; {
		var role struct {
			Metadata struct{ Namespace string }
			Rules    []struct {
				APIGroups        []string `yaml:"apiGroups"`
				Resources, Verbs []string
			}
		}
		if err := d.Decode(&role); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			for _, verb := range r.Verbs {
				given[fmt.Sprint(kubetest.Right{Verb: verb, Group: r.APIGroups[0], Resource: r.Resources[0], Namespace: role.Metadata.Namespace})] = true
			}
		}
	}
	for _, r := range s.Rights() {
		if !given[fmt.Sprint(r)] {
			t.Errorf("no role gives %+v", r)
		}
		delete(given, fmt.Sprint(r))
	}
	if len(given) > 0 {
		t.Errorf("nothing needs %v", given)
	}
}
