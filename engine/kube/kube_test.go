package kube_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/kube"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
)

// files are files in memory.
type files map[string]string

func (f files) ReadFile(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// program is the only program of a bastion.
type program func(ctx context.Context, words, env []string) ([]byte, error)

func (p program) Output(ctx context.Context, words, env []string) ([]byte, error) {
	return p(ctx, words, env)
}

func gatherCluster(t *testing.T, c engine.KubernetesCluster, f files, p program) kubefacts.ClusterFacts {
	t.Helper()
	c.Name, c.Kubeconfig = "main", "/etc/kube.conf"
	c.Positions = map[string]string{"": "a.hcl:1:1", "kubeconfig": "a.hcl:2:3", "context": "a.hcl:3:3", "timeout": "a.hcl:4:3"}
	clusters := kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{c}}, kube.Bastion{
		Files: f, Programs: p, Agent: "holdfast/test", Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil },
	})
	facts := clusters.Gather(t.Context(), []string{"main"})["main"]
	if facts.Name != "main" || facts.Problem != nil && facts.Nodes != nil {
		t.Fatalf("%+v", facts)
	}
	return facts
}

func kubeconfigOf(s *kubetest.Server) files { return files{"/etc/kube.conf": s.Kubeconfig()} }

// TestGather reads nodes over several pages, leases and NodeMaintenances.
func TestGather(t *testing.T) {
	s := kubetest.Start(t)
	var nodes []kubetest.Object
	for i := range 1200 {
		nodes = append(nodes, kubetest.Node(fmt.Sprintf("n-%d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	nodes[7]["spec"] = kubetest.Object{"unschedulable": true, "taints": []kubetest.Object{{"key": "k", "effect": "NoSchedule"}}}
	nodes[8]["status"] = kubetest.Object{"conditions": []kubetest.Object{{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped\x1b[2J posting"}}}
	nodes[9]["metadata"] = kubetest.Object{"name": "n-9", "uid": "u", "deletionTimestamp": "2026-11-27T00:00:00Z"}
	s.SetList(kubetest.Nodes, nodes...)
	s.SetList(kubetest.Leases, kubetest.Lease("n-1", "other-tool", "2026-11-27T00:00:00.000000Z", 60), kubetest.Object{"metadata": kubetest.Object{"name": "unrelated"}})
	s.SetList(kubetest.Maintenances, kubetest.Object{"metadata": kubetest.Object{"name": "nm"}, "spec": kubetest.Object{"nodeName": "n-2", "reason": "disk"}})
	got := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil)
	if got.Problem != nil || len(got.Warnings) > 0 || len(got.Nodes) != 1200 {
		t.Fatalf("%d nodes, %v, %v", len(got.Nodes), got.Problem, got.Warnings)
	}
	want := kubefacts.Node{Name: "n-6", UID: "uid-n-6", Addresses: []string{"10.0.0.6", "n-6"}, Ready: true, BootID: "boot-n-6", KubeletVersion: "v1.37.2"}
	if n := got.Nodes[6]; fmt.Sprint(n) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", n, want)
	}
	if n := got.Nodes[7]; !n.Cordoned || len(n.Taints) != 1 {
		t.Errorf("%+v", n)
	}
	if n := got.Nodes[8]; n.Ready || n.NotReady != `NodeStatusUnknown: Kubelet stopped\x1b[2J posting` {
		t.Errorf("%+v", n)
	}
	if !got.Nodes[9].Deleted || len(got.Leases) != 1 || got.Leases[0].Holder != "other-tool" || got.Leases[0].Duration != time.Minute || len(got.Maintenances) != 1 || got.Maintenances[0].Reason != "disk" {
		t.Errorf("%+v, %+v, %+v", got.Nodes[9], got.Leases, got.Maintenances)
	}
	if n := len(s.Requests()); n != 3+1+2 {
		t.Errorf("%d requests: %v", n, s.Requests())
	}
}

// TestProblems: each thing that can be wrong has a kind, and a text with the next step and the position.
func TestProblems(t *testing.T) {
	refuse := func(code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, code, message) }
	}
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		want   kubefacts.ProblemKind
		text   string
		tries  int
	}{
		"unauthorized": {refuse(401, "Unauthorized"), kubefacts.Unauthorized, "a.hcl:2:3: listing the nodes: 401 Unauthorized: Unauthorized; renew the token or the certificate of the user in the kubeconfig", 2},
		"forbidden":    {refuse(403, `nodes is forbidden: User "x" cannot list resource`), kubefacts.Forbidden, `403 Forbidden: nodes is forbidden: User "x" cannot list resource; give the user the role`, 1},
		"busy":         {refuse(429, "slow down"), kubefacts.TooManyRequests, "429 Too Many Requests: slow down; try again later", 3},
		"without etcd": {refuse(500, "etcdserver: request timed out"), kubefacts.ServerError, "500 Internal Server Error: etcdserver: request timed out; find out whether the API server has its etcd", 3},
		"page to log in": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!DOCTYPE html><html>Log in</html>"))
		}, kubefacts.NotKubernetes, `the answer is of type "text/html"; find out whether the server in the kubeconfig is an API`, 1},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/login", http.StatusFound)
		}, kubefacts.NotKubernetes, `302 Found`, 1},
		"not found": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, kubefacts.NotKubernetes, "404 Not Found", 1},
		"other JSON": {func(w http.ResponseWriter, _ *http.Request) {
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "Page"})
		}, kubefacts.NotKubernetes, `no list, but "Page"`, 1},
		"broken JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind": "NodeList", "items": [}`))
		}, kubefacts.NotKubernetes, "invalid character", 1},
		"long name": {func(w http.ResponseWriter, _ *http.Request) {
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "NodeList", "items": []kubetest.Object{kubetest.Node(strings.Repeat("x", 300), "")}})
		}, kubefacts.NotKubernetes, "a node with a name of 300 bytes", 1},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"kind": "NodeList", "items": [`))
		}, kubefacts.Unreachable, "unexpected EOF; find out whether the API server runs", 1},
		"same page": {func(w http.ResponseWriter, _ *http.Request) {
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "NodeList", "metadata": kubetest.Object{"continue": "again"}})
		}, kubefacts.ListEndless, "a page says that it comes after itself", 2},
		"expired list": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("continue") != "" {
				kubetest.Refuse(w, http.StatusGone, "The provided continue parameter is too old")
				return
			}
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "NodeList", "metadata": kubetest.Object{"continue": "next"}})
		}, kubefacts.ListExpired, "410 Gone: The provided continue parameter is too old; try again", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := kubetest.Start(t)
			s.Answer(kubetest.Nodes, x.answer)
			got := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil).Problem
			if got == nil || got.Kind != x.want || !strings.Contains(got.Error(), x.text) || !strings.HasPrefix(got.Error(), "a.hcl:2:3: ") {
				t.Errorf("%+v, want %s: %s", got, x.want, x.text)
			}
			if n := len(s.Requests()); n != x.tries {
				t.Errorf("%d requests, want %d", n, x.tries)
			}
		})
	}
}

// A list without end, and an answer without end, are not read for ever.
func TestEndless(t *testing.T) {
	s := kubetest.Start(t)
	pages := 0
	s.Answer(kubetest.Nodes, func(w http.ResponseWriter, _ *http.Request) {
		pages++
		kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "NodeList", "metadata": kubetest.Object{"continue": fmt.Sprint(pages)}})
	})
	if p := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil).Problem; p == nil || p.Kind != kubefacts.ListEndless || pages > 1000 {
		t.Errorf("%v after %d pages", p, pages)
	}
	s.Answer(kubetest.Nodes, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "NodeList", "junk": "`))
		junk := bytes.Repeat([]byte("x"), 1<<20)
		for range 1000 {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	})
	if p := gatherCluster(t, engine.KubernetesCluster{Timeout: engine.Duration(5 * time.Minute)}, kubeconfigOf(s), nil).Problem; p == nil || p.Kind != kubefacts.TooLarge {
		t.Errorf("%v", p)
	}
}

// An API that accepts connections and does not answer costs the timeout of the cluster.
func TestSilent(t *testing.T) {
	s := kubetest.Start(t)
	done := make(chan struct{})
	s.Answer(kubetest.Nodes, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	defer close(done)
	p := gatherCluster(t, engine.KubernetesCluster{Timeout: engine.Duration(50 * time.Millisecond)}, kubeconfigOf(s), nil).Problem
	if p == nil || p.Kind != kubefacts.Unreachable || !strings.HasPrefix(p.Cause, "listing the nodes: not all answers within 50ms") || !strings.Contains(p.Hint, "set a longer timeout") || p.Position != "a.hcl:4:3" {
		t.Errorf("%v", p)
	}
}

// TestServerGone: nothing listens, or something else does.
func TestServerGone(t *testing.T) {
	s := kubetest.Start(t)
	f := kubeconfigOf(s)
	s.Close()
	if p := gatherCluster(t, engine.KubernetesCluster{}, f, nil).Problem; p == nil || p.Kind != kubefacts.Unreachable || !strings.Contains(p.Cause, "connection refused") || strings.Contains(p.Cause, "/api/v1") {
		t.Errorf("%v", p)
	}
	other := kubetest.Start(t)
	f["/etc/kube.conf"] = strings.Replace(f["/etc/kube.conf"], s.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), 1)
	if p := gatherCluster(t, engine.KubernetesCluster{}, f, nil).Problem; p == nil || p.Kind != kubefacts.ServerUntrusted {
		t.Errorf("%v", p)
	}
}

// TestWithoutRights: the nodes are known without the right to list leases, and a warning names the right.
func TestWithoutRights(t *testing.T) {
	s := kubetest.Start(t)
	s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"))
	s.Answer(kubetest.Leases, func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 403, "leases is forbidden") })
	got := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil)
	if got.Problem != nil || len(got.Nodes) != 1 || len(got.Warnings) != 1 || got.Warnings[0].Kind != kubefacts.Forbidden || !strings.Contains(got.Warnings[0].Cause, "listing the leases of nodes") {
		t.Errorf("%+v", got)
	}
	s.Answer(kubetest.Leases, func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 500, "no etcd") })
	if got := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil); got.Problem == nil || got.Problem.Kind != kubefacts.ServerError {
		t.Errorf("%+v", got)
	}
}

// TestKubeconfig: mistakes in the file are found without a connection.
func TestKubeconfig(t *testing.T) {
	s := kubetest.Start(t)
	for name, x := range map[string]struct {
		text    string
		context string
		want    kubefacts.ProblemKind
		cause   string
		hint    string
	}{
		"no kubeconfig":   {"kind: [", "", kubefacts.KubeconfigInvalid, "/etc/kube.conf is not a kubeconfig: ", "kubectl config view --kubeconfig /etc/kube.conf"},
		"empty":           {"", "", kubefacts.ContextUnknown, "/etc/kube.conf has no current context", ""},
		"wrong context":   {s.Kubeconfig(), "tset", kubefacts.ContextUnknown, `/etc/kube.conf has no context "tset"`, `did you mean "test"?`},
		"far context":     {s.Kubeconfig(), "production", kubefacts.ContextUnknown, `/etc/kube.conf has no context "production"`, "its contexts are other, test"},
		"missing cluster": {s.Kubeconfig(), "other", kubefacts.KubeconfigInvalid, `context "other" of /etc/kube.conf names cluster "missing"`, ""},
		"missing user":    {strings.Replace(s.Kubeconfig(), "name: holdfast", "name: nobody", 1), "", kubefacts.KubeconfigInvalid, `names user "holdfast", which the file does not have`, ""},
		"missing file":    {s.KubeconfigOf("client-certificate: pki/a.crt, client-key: pki/a.key"), "", kubefacts.KubeconfigMissing, "/etc/pki/a.crt cannot be read: file does not exist", "put it on the bastion"},
		"missing token":   {s.KubeconfigOf("tokenFile: token"), "", kubefacts.KubeconfigMissing, "/etc/token cannot be read", ""},
		"bad certificate": {s.KubeconfigOf("client-certificate-data: eA==, client-key-data: eA=="), "", kubefacts.KubeconfigInvalid, "/etc/kube.conf cannot be used: ", ""},
		"expired":         {s.KubeconfigOf("client-certificate-data: " + base64.StdEncoding.EncodeToString(certificate(t, time.Now().Add(-time.Hour))) + ", client-key-data: eA=="), "", kubefacts.CertificateExpired, "the client certificate in /etc/kube.conf expired on ", "renew it"},
		"not yet valid":   {s.KubeconfigOf("client-certificate-data: " + base64.StdEncoding.EncodeToString(certificate(t, time.Now().Add(900*time.Hour))) + ", client-key-data: eA=="), "", kubefacts.CertificateExpired, "is not valid before ", "set the clock of the bastion"},
		"no encryption":   {strings.Replace(s.Kubeconfig(), "server: https://127.0.0.1", "server: http://10.0.0.5", 1), "", kubefacts.KubeconfigInvalid, "the server http://10.0.0.5:", "name its address with https"},
		"too long":        {strings.Repeat("#", 5<<20), "", kubefacts.KubeconfigInvalid, "is longer than 4 MiB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := gatherCluster(t, engine.KubernetesCluster{Context: x.context}, files{"/etc/kube.conf": x.text}, nil).Problem
			if p == nil || p.Kind != x.want || !strings.Contains(p.Cause, x.cause) || !strings.Contains(p.Hint, x.hint) || !strings.HasPrefix(p.Error(), "a.hcl:") {
				t.Errorf("%+v", p)
			}
		})
	}
	if p := gatherCluster(t, engine.KubernetesCluster{}, files{}, nil).Problem; p == nil || p.Kind != kubefacts.KubeconfigMissing {
		t.Errorf("%+v", p)
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// certificate returns a certificate for an hour before the time.
func certificate(t *testing.T, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// printFields returns all fields of pods, which print as their names.
func printFields(pods []kubefacts.Pod) string {
	type fields kubefacts.Pod
	var all []fields
	for _, p := range pods {
		all = append(all, fields(p))
	}
	return fmt.Sprintf("%+v", all)
}

// TestReadWorkloads reads pods node by node, or all of them, and budgets with their selectors.
func TestReadWorkloads(t *testing.T) {
	s := kubetest.Start(t)
	object := func(meta kubetest.Object, spec, status kubetest.Object) kubetest.Object {
		return kubetest.Object{"metadata": meta, "spec": spec, "status": status}
	}
	controlled := func(kind string) []kubetest.Object {
		return []kubetest.Object{{"apiVersion": "apps/v1", "kind": kind, "name": "x", "controller": true}}
	}
	other := controlled("DaemonSet")
	other[0]["apiVersion"] = "example.com/v1"
	s.SetList(
		kubetest.Pods,
		object(kubetest.Object{"namespace": "t", "name": "web", "creationTimestamp": "2026-11-27T12:00:00Z", "labels": kubetest.Object{"app": "web"}, "ownerReferences": controlled("ReplicaSet")}, kubetest.Object{"nodeName": "n", "volumes": []kubetest.Object{{"emptyDir": kubetest.Object{}}}}, kubetest.Object{"phase": "Running", "conditions": []kubetest.Object{{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}}}),
		object(kubetest.Object{"namespace": "t", "name": "agent", "ownerReferences": controlled("DaemonSet")}, kubetest.Object{"nodeName": "n"}, kubetest.Object{"phase": "Pending", "conditions": []kubetest.Object{{"type": "Ready", "status": "False"}}}),
		object(kubetest.Object{"namespace": "t", "name": "agent-done", "ownerReferences": controlled("DaemonSet")}, kubetest.Object{"nodeName": "n"}, kubetest.Object{"phase": "Failed"}),
		object(kubetest.Object{"namespace": "t", "name": "agent-other", "ownerReferences": other}, kubetest.Object{"nodeName": "n"}, kubetest.Object{"phase": "Running"}),
		object(kubetest.Object{"namespace": "t", "name": "static", "annotations": kubetest.Object{"kubernetes.io/config.mirror": "x"}}, kubetest.Object{"nodeName": "n"}, kubetest.Object{}),
		object(kubetest.Object{"namespace": "t", "name": "done", "deletionTimestamp": "2999-11-27T00:00:00Z"}, kubetest.Object{"nodeName": "n"}, kubetest.Object{"phase": "Succeeded"}),
		object(kubetest.Object{"namespace": "t", "name": "typha", "ownerReferences": []kubetest.Object{{"uid": "u-y", "kind": "Cluster"}, {"uid": "u-x", "kind": "ReplicaSet", "controller": true}}}, kubetest.Object{"nodeName": "n", "tolerations": []kubetest.Object{{"key": "x", "operator": "Exists"}, {"operator": "Exists"}}}, kubetest.Object{"phase": "Running"}),
		object(kubetest.Object{"namespace": "t", "name": "other"}, kubetest.Object{"nodeName": "m"}, kubetest.Object{}),
	)
	s.SetList(kubetest.Budgets, kubetest.Object{
		"metadata": kubetest.Object{"namespace": "t", "name": "b", "generation": 2, "ownerReferences": []kubetest.Object{{"kind": "Backup", "name": "x"}, {"kind": "Cluster", "name": "pg", "controller": true}}},
		"spec":     kubetest.Object{"unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": kubetest.Object{"matchLabels": kubetest.Object{"app": "web"}, "matchExpressions": []kubetest.Object{{"key": "x", "operator": "DoesNotExist"}, {"key": "app", "operator": "NewOperator"}}}},
		"status":   kubetest.Object{"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3, "conditions": []kubetest.Object{{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "found no controllers"}}},
	})
	clusters := kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: "main", Kubeconfig: "/etc/kube.conf"}}}, kube.Bastion{Files: kubeconfigOf(s), Now: time.Now})
	many := []string{"n"}
	for i := range 30 {
		many = append(many, fmt.Sprint("x", i))
	}
	for _, nodes := range [][]string{{"n"}, many} {
		w := clusters.ReadWorkloads(t.Context(), map[string][]string{"main": nodes})["main"]
		want := []kubefacts.Pod{
			{Namespace: "t", Name: "web", Labels: map[string]string{"app": "web"}, Controlled: true, EmptyDir: true, Ready: true, Created: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)},
			{Namespace: "t", Name: "agent", Controlled: true, DaemonSet: true, Pending: true},
			{Namespace: "t", Name: "agent-done", Controlled: true, Finished: true},
			{Namespace: "t", Name: "agent-other", Controlled: true},
			{Namespace: "t", Name: "static", Mirror: true},
			{Namespace: "t", Name: "done", Finished: true, Terminating: true},
			{Namespace: "t", Name: "typha", Controlled: true, Owner: "u-x", ToleratesCordon: true},
		}
		if w.Problem != nil || len(w.Pods) != 1 || printFields(w.Pods["n"]) != printFields(want) {
			t.Fatalf("%d nodes: %v, %#v", len(nodes), w.Problem, w.Pods)
		}
		b := w.Budgets["t"][0]
		if b.ManagedBy != "Cluster/pg" || !b.Stale || b.SyncFailure != "found no controllers" || !b.AllowsUnready || b.Allowed != 1 || b.Healthy != 3 || b.Desired != 2 || b.Expected != 3 || !b.Selector.Matches(want[0].Labels) || b.Selector.Matches(nil) || b.Selector.Matches(map[string]string{"app": "web", "x": ""}) {
			t.Errorf("%+v", b)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%v", s.Requests())
	}
	s.Answer(kubetest.Pods, func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 403, "pods is forbidden") })
	if w := clusters.ReadWorkloads(t.Context(), map[string][]string{"main": many})["main"]; w.Problem == nil || w.Problem.Kind != kubefacts.Forbidden || !strings.Contains(w.Problem.Cause, "listing the pods") {
		t.Error(w.Problem)
	}
}

// TestOverdue: a pod is overdue a minute after its grace period, by the clock of the API.
func TestOverdue(t *testing.T) {
	api := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for ends, want := range map[string]bool{"2026-11-27T11:58:50Z": true, "2026-11-27T11:59:10Z": false, "2026-11-27T12:10:00Z": false, "": false} {
		s := kubetest.Start(t)
		s.SetClock(api)
		pod := newPod("web", "u")
		if ends != "" {
			pod["metadata"].(kubetest.Object)["deletionTimestamp"] = ends
		}
		s.SetList(kubetest.Pods, pod)
		w := newClient(kubeconfigOf(s), api.Add(2*time.Hour)).ReadWorkloads(t.Context(), map[string][]string{"main": {"n"}})["main"]
		if p := w.Pods["n"][0]; p.Overdue != want || p.Terminating != (ends != "") || w.ReadAt.Sub(api).Abs() > 10*time.Second {
			t.Errorf("%s: %+v", ends, p)
		}
	}
}

// TestTolerations: the scheduler places a pod on a cordoned node if a toleration matches the taint
// node.kubernetes.io/unschedulable:NoSchedule, which has no value.
func TestTolerations(t *testing.T) {
	const key = "node.kubernetes.io/unschedulable"
	for i, x := range []struct {
		toleration kubetest.Object
		want       bool
	}{
		{kubetest.Object{"operator": "Exists"}, true},
		{kubetest.Object{"operator": "Exists", "effect": "NoSchedule"}, true},
		{kubetest.Object{"operator": "Exists", "effect": "NoExecute"}, false},
		{kubetest.Object{"key": key, "operator": "Exists"}, true},
		{kubetest.Object{"key": key, "effect": "NoSchedule"}, true},
		{kubetest.Object{"key": key, "operator": "Equal"}, true},
		{kubetest.Object{"key": key, "operator": "Equal", "value": "true"}, false},
		{kubetest.Object{"key": key, "operator": "Gt", "value": "1"}, false},
		{kubetest.Object{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}, false},
	} {
		s := kubetest.Start(t)
		pod := newPod("web", "u")
		pod["spec"] = kubetest.Object{"nodeName": "n", "tolerations": []kubetest.Object{x.toleration}}
		s.SetList(kubetest.Pods, pod)
		if w := readWorkload(t, s); w.Problem != nil || w.Pods["n"][0].ToleratesCordon != x.want {
			t.Errorf("%d: %v, %+v, want %v", i, w.Problem, w.Pods, x.want)
		}
	}
}

// TestReadNode reads one node, and tells that it is gone.
func TestReadNode(t *testing.T) {
	s := kubetest.Start(t)
	s.Answer(kubetest.Nodes+"/n", func(w http.ResponseWriter, _ *http.Request) {
		n := kubetest.Node("n", "10.0.0.1")
		n["status"].(kubetest.Object)["conditions"] = []kubetest.Object{
			{"type": "DiskPressure", "status": "False", "lastHeartbeatTime": "2026-11-27T12:00:05Z"}, {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-27T12:00:00Z"}, {"type": "Custom", "lastHeartbeatTime": nil},
		}
		kubetest.WriteJSON(w, 200, n)
	})
	c := kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: "main", Kubeconfig: "/etc/kube.conf"}}}, kube.Bastion{Files: kubeconfigOf(s), Now: time.Now})
	if n, problem := c.ReadNode(t.Context(), "main", "n"); problem != nil || !n.Ready || n.BootID != "boot-n" || !n.HeartbeatAt.Equal(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", n, problem)
	}
	s.Answer(kubetest.Nodes+"/n", func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 404, `nodes "n" not found`) })
	if n, problem := c.ReadNode(t.Context(), "main", "n"); problem != nil || !n.Gone || n.Name != "n" {
		t.Errorf("%+v, %v", n, problem)
	}
	s.Answer(kubetest.Nodes+"/n", func(w http.ResponseWriter, _ *http.Request) { kubetest.Refuse(w, 500, "no etcd") })
	if _, problem := newClient(kubeconfigOf(s), time.Now()).ReadNode(t.Context(), "main", "n"); problem == nil || !strings.Contains(problem.Cause, "reading node n: 500 Internal Server Error: no etcd") {
		t.Error(problem)
	}
}

// TestPlugin: a plugin logs in, without a terminal. Its failures have kinds of their own.
func TestPlugin(t *testing.T) {
	s := kubetest.Start(t)
	s.SetList(kubetest.Nodes, kubetest.Node("n", "10.0.0.1"))
	f := files{"/etc/kube.conf": s.KubeconfigOf(`exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [a, b], env: [{name: X, value: "1"}], interactiveMode: IfAvailable, provideClusterInfo: true}`)}
	token := kubetest.Token
	runs := 0
	good := func(_ context.Context, words, env []string) ([]byte, error) {
		runs++
		if !slices.Equal(words, []string{"/etc/bin/login", "a", "b"}) || env[0] != "X=1" || !strings.Contains(env[1], `"interactive":false`) || !strings.Contains(env[1], s.URL) {
			t.Errorf("%q, %q", words, env)
		}
		return fmt.Appendf(nil, `{"kind": "ExecCredential", "status": {"token": %q, "expirationTimestamp": "2026-01-02T03:04:05Z"}}`, token), nil
	}
	if got := gatherCluster(t, engine.KubernetesCluster{}, f, good); got.Problem != nil || len(got.Nodes) != 1 {
		t.Fatal(got.Problem)
	}
	token = "old"
	if p := gatherCluster(t, engine.KubernetesCluster{}, f, good).Problem; p == nil || p.Kind != kubefacts.Unauthorized {
		t.Error(p)
	}
	for want, p := range map[kubefacts.ProblemKind]program{
		kubefacts.PluginFailed: func(context.Context, []string, []string) ([]byte, error) {
			return nil, errors.New("exit status 1: no ticket")
		},
		kubefacts.PluginHangs: func(ctx context.Context, _, _ []string) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		got := gatherCluster(t, engine.KubernetesCluster{Timeout: engine.Duration(50 * time.Millisecond)}, f, p).Problem
		if got == nil || got.Kind != want || !strings.Contains(got.Cause, "the plugin login, which logs in, ") {
			t.Errorf("%s: %v", want, got)
		}
	}
	for _, output := range []string{"", "{}", `{"kind": "ExecCredential"}`, "Opening the browser …"} {
		got := gatherCluster(t, engine.KubernetesCluster{}, f, func(context.Context, []string, []string) ([]byte, error) { return []byte(output), nil }).Problem
		if got == nil || got.Kind != kubefacts.PluginFailed {
			t.Errorf("%q: %v", output, got)
		}
	}
}
