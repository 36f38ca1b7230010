package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/kube"
	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kubefacts"
)

// TestRefusals reads the output of kubectl 1.37.2.
func TestRefusals(t *testing.T) {
	const stderr = `Warning: ignoring DaemonSet-managed Pods: t-1/pod-2
error: unable to drain node "set-1" due to error: [cannot delete Pods that declare no controller (use --force to override): t-1/pod-0, u-1/pod-3, cannot delete daemonsets.apps "gone" not found: t-1/pod-4], continuing command...
error: unable to drain node "set-2" due to error: cannot delete Pods with local storage (use --delete-emptydir-data to override): t-2/pod-1, continuing command...
There are pending nodes to be drained:
 set-1
`
	refusals := map[string]string{}
	for _, m := range failedNode.FindAllStringSubmatch(stderr, -1) {
		parseRefusals(refusals, m[1])
	}
	const force = "Pods that declare no controller (use --force to override)"
	want := map[string]string{"t-1/pod-0": force, "u-1/pod-3": force, "t-1/pod-4": `daemonsets.apps "gone" not found`, "t-2/pod-1": "Pods with local storage (use --delete-emptydir-data to override)"}
	if len(refusals) != len(want) {
		t.Errorf("%q", refusals)
	}
	for pod, reason := range want {
		if refusals[pod] != reason {
			t.Errorf("%s: %q", pod, refusals[pod])
		}
	}
	if found := findPods("node/set-3 cordoned (dry run)\nevicting pod t-3/pod-1 (dry run)\nevicting pod u-3/pod-2 (server dry run)\n"); len(found) != 2 || !found["t-3/pod-1"] || !found["u-3/pod-2"] {
		t.Errorf("%v", found)
	}
}

// TestDifferencesOfDrains: each difference from kubectl is found.
func TestDifferencesOfDrains(t *testing.T) {
	p := kubefacts.Pod{Namespace: "t-1", Name: "pod-0"}
	d := drains{forced: map[string]bool{"t-1/pod-0": true}, evicted: map[string]bool{}, failed: map[string]bool{}}
	if d.compareForced(p, kubefacts.DrainForecast{Pods: 1}) != "" || d.compareForced(p, kubefacts.DrainForecast{}) == "" {
		t.Error("a forecast of other pods is not told from the same one")
	}
	refused := judgetest.Verdict{Answer: judgetest.Answer{Code: 429}}
	if d.compareServer(p, refused) == "" {
		t.Error("a pod that kubectl does not evict")
	}
	d.evicted["t-1/pod-0"] = true
	if d.compareServer(p, refused) == "" {
		t.Error("a pod that kubectl could evict, and we not")
	}
	d.failed["t-1/pod-0"] = true
	if d.compareServer(p, refused) != "" {
		t.Error("the same verdict")
	}
}

// TestEvictionsAreDryRuns: no eviction by the client of holdfast ends a pod.
func TestEvictionsAreDryRuns(t *testing.T) {
	var queries []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			queries = append(queries, r.URL.RawQuery)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"kind":"Status","reason":"TooManyRequests","details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget b needs 1 healthy pods and has 1 currently"}]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{"namespace":"t","name":"p","uid":"x"}}`)
	}))
	defer api.Close()
	p, err := startProxy(t.Context(), Config{API: &rest.Config{Host: api.URL}, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.stopProxy()
	inv := engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: cluster, Kubeconfig: p.kubeconfig}}}
	clients := kube.NewClusters(inv, kube.Bastion{Files: files{}, Agent: agent, Now: time.Now, Sleep: clock.Sleep})
	pod := kubefacts.Pod{Namespace: "t", Name: "p", UID: "x"}
	e := clients.Evict(context.Background(), cluster, kubefacts.EvictionRequest{Pod: pod})
	if e.Kind != kubefacts.BudgetRefused || e.Budget != "b" || len(queries) != 1 || queries[0] != "dryRun=All" {
		t.Errorf("%+v, %q", e, queries)
	}
	if a := p.answerOf(pod); a.Code != http.StatusTooManyRequests || a.Text() != "The disruption budget b needs 1 healthy pods and has 1 currently" {
		t.Errorf("%+v", a)
	}
}

// changingBudgets are budgets whose versions change until so many markers were made.
type changingBudgets struct {
	until int
	marks []string
	lost  error
}

func (b *changingBudgets) makeMarker(_ context.Context, name string) error {
	b.marks = append(b.marks, name)
	return b.lost
}

func (b *changingBudgets) readVersions(context.Context) (string, error) {
	return fmt.Sprint(min(b.until, len(b.marks))), nil
}

// TestSettleBudgets makes at least three markers, more while budgets change, and not for ever.
func TestSettleBudgets(t *testing.T) {
	for until, want := range map[int]int{0: 3, 1: 3, 2: 3, 3: 4, 7: 8} {
		b := &changingBudgets{until: until}
		if err := settleBudgets(t.Context(), b); err != nil || len(b.marks) != want {
			t.Errorf("until %d: %v, %v", until, b.marks, err)
		}
	}
	b := &changingBudgets{until: 1000}
	if err := settleBudgets(t.Context(), b); err == nil || len(b.marks) != maxMarks {
		t.Errorf("%v, %v", b.marks, err)
	}
	b = &changingBudgets{lost: io.ErrUnexpectedEOF}
	if err := settleBudgets(t.Context(), b); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
