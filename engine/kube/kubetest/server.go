// Package kubetest has a fake API server of Kubernetes for tests: it serves lists of objects that tests set, in pages. It cordons
// nodes, evicts pods and keeps leases, with the answers that were recorded of kube-apiserver 1.37.2: it enforces UIDs, resource
// versions, PodDisruptionBudgets and rights. It is not Kubernetes: it has no controllers, and checks no objects.
package kubetest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Object is an object of Kubernetes as JSON.
type Object = map[string]any

// Token is the token that the server accepts.
const Token = "kubetest-token"

// Paths of lists.
const (
	Nodes        = "/api/v1/nodes"
	Pods         = "/api/v1/pods"
	Budgets      = "/apis/policy/v1/poddisruptionbudgets"
	Leases       = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases"
	Maintenances = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances"
)

// Server is a fake API server.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	lists    map[string][]Object
	answers  map[string]http.HandlerFunc
	requests []string
	rights   map[Right]bool // that requests needed so far
	denied   map[Right]bool
	writes   int
	onEvict  func(pod Object)
	clock    time.Time
}

// Start starts a server without objects. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{lists: map[string][]Object{Nodes: nil, Pods: nil, Budgets: nil, Leases: nil}, answers: map[string]http.HandlerFunc{}, rights: map[Right]bool{}, denied: map[Right]bool{}}
	s.Server = httptest.NewTLSServer(s)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

// SetList sets the objects of a list. The API then has the list.
func (s *Server) SetList(path string, objects ...Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[path] = objects
}

// Answer replaces the answers at a path. nil ends that.
func (s *Server) Answer(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = h
}

// SetClock lets each answer tell this time, as real servers tell theirs. Without it, answers have no time.
func (s *Server) SetClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = now
}

// Requests returns method and URL of all requests so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Kubeconfig returns a kubeconfig for the server, with the contexts test and other.
func (s *Server) Kubeconfig() string { return s.KubeconfigOf("token: " + Token) }

// KubeconfigOf is Kubeconfig with another user, as one line of YAML.
func (s *Server) KubeconfigOf(user string) string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters:
- name: kubetest
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: holdfast
  user: {%s}
contexts:
- name: test
  context: {cluster: kubetest, user: holdfast}
- name: other
  context: {cluster: missing, user: holdfast}
`, s.URL, base64.StdEncoding.EncodeToString(ca), user)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	answer := s.answers[r.URL.Path]
	w.Header()["Date"] = nil // net/http adds none then
	if !s.clock.IsZero() {
		w.Header().Set("Date", s.clock.UTC().Format(http.TimeFormat))
	}
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		Refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	right := rightOf(r)
	if right.Resource != "" {
		s.rights[right] = true
	}
	objects, listed := s.lists[r.URL.Path]
	switch {
	case s.denied[right]:
		refuse(w, refusal{code: http.StatusForbidden, reason: "Forbidden", message: fmt.Sprintf("User %q cannot %s resource %q in API group %q", "holdfast", right.Verb, right.Resource, right.Group)})
	case listed && r.Method == http.MethodGet:
		s.removeEnded(r.URL.Path)
		servePage(w, r, objects)
	case r.URL.Path == reviews:
		s.reviewAccess(w, r)
	case s.serveObject(w, r):
	case !s.hasPath(r.URL.Path):
		http.NotFound(w, r) // so does kube-apiserver for a group that it does not have
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "the fake server does not do this")
	default:
		servePage(w, r, nil)
	}
}

// hasPath reports whether the server has the list, or a list in that group. It is called with the lock held.
func (s *Server) hasPath(path string) bool {
	for list := range s.lists {
		if list == path || strings.HasPrefix(list, path+"/") {
			return true
		}
	}
	return false
}

func servePage(w http.ResponseWriter, r *http.Request, objects []Object) {
	query := r.URL.Query()
	if selector, ok := strings.CutPrefix(query.Get("fieldSelector"), "spec.nodeName="); ok {
		var of []Object
		for _, o := range objects {
			if spec, _ := o["spec"].(Object); spec["nodeName"] == selector {
				of = append(of, o)
			}
		}
		objects = of
	}
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = len(objects)
	}
	from = min(from, len(objects))
	to := min(from+limit, len(objects))
	meta := Object{}
	if to < len(objects) {
		meta["continue"] = strconv.Itoa(to)
	}
	WriteJSON(w, http.StatusOK, Object{"kind": "TestList", "apiVersion": "v1", "metadata": meta, "items": append([]Object{}, objects[from:to]...)})
}

// WriteJSON answers with JSON.
func WriteJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// Refuse answers with a Status of Kubernetes.
func Refuse(w http.ResponseWriter, code int, message string) {
	r := refusal{code: code, message: message}
	if code == http.StatusNotFound {
		r.reason = "NotFound"
	}
	refuse(w, r)
}

// Node returns a Node that is Ready, with an address.
func Node(name, address string) Object {
	return Object{
		"metadata": Object{"name": name, "uid": "uid-" + name},
		"spec":     Object{},
		"status": Object{
			"conditions": []Object{{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True", "reason": "KubeletReady"}},
			"addresses":  []Object{{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}},
			"nodeInfo":   Object{"bootID": "boot-" + name, "kubeletVersion": "v1.37.2"},
		},
	}
}

// Lease returns the lease of a node.
func Lease(node, holder, renewed string, seconds int) Object {
	return Object{
		"metadata": Object{"name": "node-" + node},
		"spec":     Object{"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds, "leaseTransitions": 1},
	}
}
