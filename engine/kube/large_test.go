package kube_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/kube"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
	"holdfast/engine/longtest"
)

// The size of a large cluster.
const (
	largeNodes, largePods, largeBudgets = 1000, 30_000, 500
	largePage                           = 500 // objects of a page
)

// startLarge starts a server of a large cluster, whose pages are encoded beforehand. Each node and pod has about so many bytes that holdfast
// does not read.
func startLarge(t testing.TB, unread int) (s *kubetest.Server, nodes []string) {
	t.Helper()
	s = kubetest.Start(t)
	nodes = largeNodeNames()
	serveLarge(t, s, kubetest.Nodes, largeNodes, func(i int) kubetest.Object {
		n := kubetest.Node(nodes[i], fmt.Sprintf("10.0.%d.%d", i/250, i%250))
		n["metadata"].(kubetest.Object)["managedFields"] = []kubetest.Object{{"manager": "kubelet", "fieldsV1": kubetest.Object{"f:status": newUnread(unread, i)}}}
		return n
	})
	serveLarge(t, s, kubetest.Pods, largePods, func(i int) kubetest.Object {
		return kubetest.Object{
			"metadata": kubetest.Object{
				"namespace": fmt.Sprint("ns-", i%largeBudgets), "name": fmt.Sprint("pod-", i), "uid": fmt.Sprint("uid-", i), "labels": kubetest.Object{"app": "web", "pod-template-hash": "1"},
				"ownerReferences": []kubetest.Object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": true}}, "managedFields": newUnread(unread/2, i),
			},
			"spec":   kubetest.Object{"nodeName": nodes[i%largeNodes], "volumes": []kubetest.Object{{"name": "v", "emptyDir": kubetest.Object{}}}, "containers": []kubetest.Object{newUnread(unread/2, i)}},
			"status": kubetest.Object{"phase": "Running", "conditions": []kubetest.Object{{"type": "Ready", "status": "True"}}},
		}
	})
	serveLarge(t, s, kubetest.Budgets, largeBudgets, func(i int) kubetest.Object {
		b := newBudget("b", "web", 0)
		b["metadata"].(kubetest.Object)["namespace"] = fmt.Sprint("ns-", i)
		return b
	})
	return s, nodes
}

func largeNodeNames() (nodes []string) {
	for i := range largeNodes {
		nodes = append(nodes, fmt.Sprintf("node-%04d", i))
	}
	return nodes
}

// newUnread returns fields of about so many bytes, which are small, as those of real objects are, and differ between objects.
func newUnread(bytes, number int) kubetest.Object {
	o := kubetest.Object{}
	for i := range bytes / 60 {
		o[fmt.Sprintf("f:field-%d", i)] = kubetest.Object{".": kubetest.Object{}, "f:type": strconv.Itoa(number), "f:number": i, "f:list": []bool{true}}
	}
	return o
}

// serveLarge serves a list. Like kube-apiserver, it compresses pages for a client that accepts this.
func serveLarge(t testing.TB, s *kubetest.Server, path string, number int, object func(int) kubetest.Object) {
	t.Helper()
	var pages [][]byte
	for first := 0; first < number; first += largePage {
		page := kubetest.Object{"kind": "TestList", "apiVersion": "v1", "metadata": kubetest.Object{}}
		if first+largePage < number {
			page["metadata"] = kubetest.Object{"continue": strconv.Itoa(len(pages) + 1)}
		}
		var items []kubetest.Object
		for i := first; i < min(first+largePage, number); i++ {
			items = append(items, object(i))
		}
		page["items"] = items
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err := cmp.Or(err, json.NewEncoder(w).Encode(page), w.Close()); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, packed.Bytes())
	}
	s.Answer(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, "the pages are compressed", http.StatusNotAcceptable)
			return
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none for the first
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(pages[page]) // the client has gone
	})
}

// lookAtLarge reads everything that a plan needs, if all hosts have work, and forecasts each drain.
func lookAtLarge(t testing.TB, clusters kube.Clusters, nodes []string) (kubefacts.ClusterFacts, kubefacts.Workload) {
	t.Helper()
	facts := clusters.Gather(t.Context(), []string{"main"})["main"]
	w := clusters.ReadWorkloads(t.Context(), map[string][]string{"main": nodes})["main"]
	if facts.Problem != nil || w.Problem != nil || len(facts.Nodes) != largeNodes {
		t.Fatalf("%v, %v, %d nodes", facts.Problem, w.Problem, len(facts.Nodes))
	}
	pods := 0
	for _, n := range nodes {
		f := w.Forecast(n, kubefacts.NodeState{Kubernetes: "main", Node: n}, kubefacts.DrainOptions{})
		if pods += f.Pods; len(f.Obstacles) == 0 {
			t.Fatalf("%s: %+v", n, f)
		}
	}
	if pods != largePods {
		t.Fatalf("%d pods go", pods)
	}
	return facts, w
}

// TestLargeClusterTakesFewRequests: a look at 1,000 nodes with 30,000 pods takes 65 requests.
func TestLargeClusterTakesFewRequests(t *testing.T) {
	longtest.SkipSlow(t)
	s, nodes := startLarge(t, 0)
	lookAtLarge(t, newClient(kubeconfigOf(s), time.Now()), nodes)
	if n := len(s.Requests()); n > 65 {
		t.Errorf("%d requests", n)
	}
}

// servesLarge is a variable of the environment of the process that serves the cluster of BenchmarkLargeCluster.
const servesLarge = "HOLDFAST_SERVES_LARGE"

// kubeconfigMark is before the kubeconfig in the output of this process.
const kubeconfigMark = "kubeconfig "

// TestServeLargeCluster serves the cluster of BenchmarkLargeCluster until its standard input ends, so that the benchmark does not count the
// time and the memory of the server.
func TestServeLargeCluster(t *testing.T) {
	if os.Getenv(servesLarge) == "" {
		t.Skip("BenchmarkLargeCluster runs it in a process of its own")
	}
	s, _ := startLarge(t, 3000) // of managed fields, containers and their statuses
	fmt.Println(kubeconfigMark + base64.StdEncoding.EncodeToString([]byte(s.Kubeconfig())))
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the benchmark
}

// startLargeProcess starts TestServeLargeCluster, and returns the kubeconfig.
func startLargeProcess(b *testing.B) files {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self, "-test.run=^TestServeLargeCluster$")
	cmd.Env, cmd.Stderr = append(os.Environ(), servesLarge+"=1"), os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err := cmp.Or(err, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait() // it has no result
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if encoded, ok := strings.CutPrefix(lines.Text(), kubeconfigMark); ok {
			text, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				b.Fatal(err)
			}
			return files{"/etc/kube.conf": string(text)}
		}
	}
	b.Fatalf("the server of the large cluster ended: %v", lines.Err())
	return nil
}

// BenchmarkLargeCluster measures a look at a large cluster, whose server is another process. cpu-s is the processor time of the client, peak-MB
// the most memory that its process had at any moment, and kept-MB the memory that the facts keep.
func BenchmarkLargeCluster(b *testing.B) {
	kubeconfig, nodes := startLargeProcess(b), largeNodeNames()
	var before, after runtime.MemStats
	for b.Loop() {
		clusters := newClient(kubeconfig, time.Now())
		debug.FreeOSMemory()
		runtime.ReadMemStats(&before)
		resetPeak(b)
		spent := processorTime(b)
		facts, w := lookAtLarge(b, clusters, nodes)
		b.ReportMetric((processorTime(b) - spent).Seconds(), "cpu-s")
		b.ReportMetric(peakMemory(b), "peak-MB")
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(facts)
		runtime.KeepAlive(w)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "kept-MB")
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak lets the kernel forget the most memory that this process had.
func resetPeak(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		b.Skip(err)
	}
}

func peakMemory(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(number, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib * 1024 / 1e6
}
