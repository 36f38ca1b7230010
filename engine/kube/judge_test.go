package kube_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/kube/judgetest"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
)

// TestForecastAgainstKubernetes draws sets of pods and budgets, and compares the forecast with the verdicts of Kubernetes: of the
// filters of kubectl drain, and of the code with which an API server answers evictions. It builds these from source, which takes minutes.
func TestForecastAgainstKubernetes(t *testing.T) {
	judge := os.Getenv("HOLDFAST_JUDGE")
	if judge == "" {
		if os.Getenv("HOLDFAST_KUBERNETES") == "" {
			t.Skip("HOLDFAST_KUBERNETES=1 builds parts of Kubernetes from source, for some minutes, and compares with them")
		}
		judge = buildJudge(t)
	}
	var sets []judgetest.Set
	for seed := range judgetest.Sets {
		sets = append(sets, judgetest.Draw(seed))
	}
	s := kubetest.Start(t)
	counts := judgetest.NewCounts()
	for i, verdicts := range askJudge(t, judge, sets) {
		set := sets[i]
		s.SetList(kubetest.Pods, set.Pods...)
		s.SetList(kubetest.Budgets, set.Budgets...)
		w := newClient(kubeconfigOf(s), time.Now()).ReadWorkloads(t.Context(), map[string][]string{"main": {"n"}})["main"]
		if w.Problem != nil || len(w.Pods["n"]) != len(set.Pods) {
			t.Fatalf("set %d: %v, %d pods", i, w.Problem, len(w.Pods["n"]))
		}
		for j, p := range w.Pods["n"] {
			w.Pods["n"] = []kubefacts.Pod{p}
			f := w.Forecast("h", kubefacts.NodeState{Node: "n"}, kubefacts.DrainOptions{})
			wrong := cmp.Or(counts.Compare(verdicts[j], p, f), judgetest.CompareEviction(verdicts[j], readAnswer(t, s, verdicts[j], p)))
			if wrong != "" {
				raw, _ := json.MarshalIndent(kubetest.Object{"pod": set.Pods[j], "budgets": set.Budgets, "daemon_sets": set.DaemonSets}, "", " ")
				t.Errorf("set %d, pod %s: %s\nKubernetes: %+v\nforecast: %+v\n%s", i, p, wrong, verdicts[j], f, raw)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d sets: %v", len(sets), counts)
	for _, rare := range counts.FindRare(judgetest.Often) {
		t.Error(rare)
	}
}

// readAnswer returns how the client reads the answer to an eviction.
func readAnswer(t *testing.T, s *kubetest.Server, v judgetest.Verdict, p kubefacts.Pod) kubefacts.Eviction {
	t.Helper()
	s.Answer(fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", p.Namespace, p.Name), func(w http.ResponseWriter, _ *http.Request) {
		kubetest.WriteJSON(w, v.Answer.Code, v.Answer)
	})
	return newClient(kubeconfigOf(s), time.Now()).Evict(t.Context(), "main", kubefacts.EvictionRequest{Pod: p})
}

// buildJudge builds the judge: the module in testdata, and the file with which an API server answers evictions, from the module of
// Kubernetes. The package of this file needs most of an API server; the file does not.
func buildJudge(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/judge")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "needs.go"} {
		if err := os.Rename(filepath.Join(dir, name+".txt"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runGo := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("build the judge: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	module := runGo("mod", "download", "-json", "k8s.io/kubernetes")
	var info struct{ Dir string }
	if err := json.Unmarshal([]byte(module), &info); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(info.Dir, "pkg/registry/core/pod/storage/eviction.go"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("\npackage storage\n"), []byte("\npackage main\n"), 1)
	if err := os.WriteFile(filepath.Join(dir, "eviction.go"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	runGo("build", "-o", "judge.bin", ".")
	return filepath.Join(dir, "judge.bin")
}

// askJudge returns the verdicts on the pods of each set.
func askJudge(t *testing.T, judge string, sets []judgetest.Set) [][]judgetest.Verdict {
	t.Helper()
	var in bytes.Buffer
	for _, s := range sets {
		if err := json.NewEncoder(&in).Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), judge)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]judgetest.Verdict
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one []judgetest.Verdict
		if err := d.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) != len(sets) {
		t.Fatalf("%d sets were judged, not %d", len(all), len(sets))
	}
	return all
}
