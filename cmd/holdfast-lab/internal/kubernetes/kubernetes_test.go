package kubernetes

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestRightsAreThoseOfTheExample: the lab tests the rights in the file that users copy.
func TestRightsAreThoseOfTheExample(t *testing.T) {
	example, err := os.ReadFile("../../../../examples/kubernetes-rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(example) != rights {
		t.Error("rbac.yaml differs from examples/kubernetes-rbac.yaml; copy it")
	}
}

func TestBuildIsOfTheVersion(t *testing.T) {
	text, err := buildFiles.ReadFile("build/go.mod.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "require k8s.io/kubernetes v"+Version+"\n") {
		t.Errorf("build/go.mod.txt does not require version %s", Version)
	}
}

func TestAccess(t *testing.T) {
	f := Folder(t.TempDir())
	if err := f.MakeAccess(Other, []Node{{Name: "etcd-0"}}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(f.path("tokens.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, r := range rows {
		groups[r[1]] = r[3]
		config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig(r[1]))
		if err != nil || config.BearerToken != r[0] || config.Host != Other.URL() {
			t.Errorf("%s: %+v, %v", r[1], config, err)
		}
	}
	for user, want := range map[string]string{Admin: "system:masters", Holdfast: "", "system:node:etcd-0": "system:nodes"} {
		if got, ok := groups[user]; !ok || got != want {
			t.Errorf("%s: group %q, %v", user, got, ok)
		}
	}
}

func newPod(name string, ends bool, status map[string]any) *unstructured.Unstructured {
	p := &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "namespace": "default", "uid": "uid-" + name},
		"spec": object{"nodeName": "n", "containers": []any{object{"name": "c", "image": "none"}}},
	}}
	if status != nil {
		p.Object["status"] = status
	}
	if ends {
		now, grace := metav1.Now(), int64(0)
		p.SetDeletionTimestamp(&now)
		p.SetDeletionGracePeriodSeconds(&grace)
	}
	return p
}

// TestPods: the stand-in makes new pods Ready, ends those that are deleted, and leaves those alone that have run to their end.
func TestPods(t *testing.T) {
	done := newPod("done", false, object{"phase": "Succeeded"})
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`)
	}))
	defer server.Close()
	api, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{Node: Node{Name: "n", Address: "10.0.0.1"}, api: api, log: t.Logf}
	k.pods = map[types.UID]podState{}
	var wg conc.WaitGroup
	for _, p := range []*unstructured.Unstructured{newPod("fresh", false, nil), newPod("ending", true, nil), done} {
		k.startPod(t.Context(), &wg, p)
	}
	wg.Wait()
	slices.Sort(requests)
	if got := strings.Join(requests, ", "); got != "DELETE /api/v1/namespaces/default/pods/ending, PATCH /api/v1/namespaces/default/pods/fresh/status" {
		t.Error(got)
	}
}

// TestSilence: without a sign of its host, and while somebody has stopped it, a kubelet does nothing.
func TestSilence(t *testing.T) {
	k := &kubelet{}
	if k.aliveBoot() != "" {
		t.Error("alive before the first sign of the host")
	}
	k.noteBeat("boot-1")
	if k.aliveBoot() != "boot-1" {
		t.Error("not alive after a sign of the host")
	}
	k.setStopped(true)
	if k.aliveBoot() != "" {
		t.Error("alive although it is stopped")
	}
	k.setStopped(false)
	k.beat = time.Now().Add(-silence - time.Second)
	if k.aliveBoot() != "" {
		t.Error("alive although the host is silent")
	}
}

// TestBudgetWatch: the watch counts pods itself, begins when a budget has its pods, and keeps the fewest.
func TestBudgetWatch(t *testing.T) {
	budget := &unstructured.Unstructured{Object: object{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": object{"name": "web", "namespace": "default"},
		"spec": object{"selector": object{"matchLabels": object{"app": "web"}}}, "status": object{"desiredHealthy": int64(2), "currentHealthy": int64(9)},
	}}
	ready := func(name string) unstructured.Unstructured {
		p := newPod(name, false, object{"conditions": []any{object{"type": "Ready", "status": "True"}}})
		p.SetLabels(map[string]string{"app": "web"})
		return *p
	}
	w := &BudgetWatch{report: BudgetReport{Fewest: map[string]int64{}, Desired: map[string]int64{}, Below: map[string]string{}}}
	w.countReady(budget, []unstructured.Unstructured{ready("a")})
	if len(w.report.Fewest) > 0 {
		t.Error("the watch has begun before the pods were up")
	}
	w.countReady(budget, []unstructured.Unstructured{ready("a"), ready("b"), ready("c")})
	w.countReady(budget, []unstructured.Unstructured{ready("a"), ready("b")})
	if len(w.report.Below) > 0 {
		t.Errorf("below: %v", w.report.Below)
	}
	w.countReady(budget, []unstructured.Unstructured{ready("a"), *newPod("b", true, nil)})
	if w.report.Fewest["default/web"] != 1 || w.report.Below["default/web"] == "" {
		t.Errorf("%+v", w.report)
	}
}

func TestUnknownActionsAreRefused(t *testing.T) {
	cp := &controlPlane{kubelets: map[string]*kubelet{}, api: &program{}}
	for _, err := range []error{cp.changeAPI("explode", ""), cp.changeAPI(On, "nobody"), cp.changeKubelet(Stop, "nobody")} {
		if statusOf(err) != 404 {
			t.Errorf("%v", err)
		}
	}
	if err := cp.changeAPI(Stop, ""); err != nil || cp.wantsAPI() {
		t.Errorf("%v", err)
	}
}
