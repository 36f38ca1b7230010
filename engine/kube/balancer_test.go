package kube_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/kube"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
)

// startBalancer starts a load balancer, which connects to the first of the servers that accepts a connection, and returns its URL.
func startBalancer(t *testing.T, servers ...*kubetest.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg conc.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = client.Close() })
			wg.Go(func() {
				defer func() { _ = client.Close() }()
				for _, s := range servers {
					server, err := net.Dial("tcp", s.Listener.Addr().String())
					if err != nil {
						continue
					}
					wg.Go(func() {
						_, _ = io.Copy(server, client)
						_ = server.Close()
					})
					_, _ = io.Copy(client, server)
					return
				}
			})
		}
	})
	return "https://" + listener.Addr().String()
}

// TestServersBehindOneAddress: if the API server ends during an eviction, nobody knows whether the pod is evicted. The next request uses the
// next server behind the address.
func TestServersBehindOneAddress(t *testing.T) {
	first, second := kubetest.Start(t), kubetest.Start(t)
	for _, s := range []*kubetest.Server{first, second} {
		s.SetList(kubetest.Pods, newPod("web", "uid-web"))
		s.SetList(kubetest.Budgets)
	}
	first.Answer("/api/v1/namespaces/t/pods/web/eviction", func(http.ResponseWriter, *http.Request) {
		_ = first.Listener.Close()
		panic(http.ErrAbortHandler) // closes the connection
	})
	balancer := startBalancer(t, first, second)
	clusters := kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: "main", Kubeconfig: "/etc/kube.conf"}}}, kube.Bastion{
		Files: files{"/etc/kube.conf": strings.Replace(first.Kubeconfig(), first.URL, balancer, 1)}, Now: time.Now,
	})
	request := kubefacts.EvictionRequest{Pod: kubefacts.Pod{Namespace: "t", Name: "web", UID: "uid-web"}}
	if e := clusters.Evict(t.Context(), "main", request); e.Kind != kubefacts.EvictionUnknown || e.Problem == nil || e.Problem.Kind != kubefacts.Unreachable {
		t.Errorf("the server ends: %+v", e)
	}
	if e := clusters.Evict(t.Context(), "main", request); e.Kind != kubefacts.PodEvicted {
		t.Errorf("the next server: %+v, %v", e, e.Problem)
	}
}
