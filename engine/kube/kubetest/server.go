// Package kubetest has a fake API server of Kubernetes for tests: it serves lists of objects that tests set, in pages.
// It is not Kubernetes: it checks and changes nothing by itself.
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
}

// Start starts a server without objects. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{lists: map[string][]Object{Nodes: nil, Pods: nil, Budgets: nil, Leases: nil}, answers: map[string]http.HandlerFunc{}}
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
	answer, objects, known := s.answers[r.URL.Path], s.lists[r.URL.Path], s.hasPath(r.URL.Path)
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case r.Header.Get("Authorization") != "Bearer "+Token:
		Refuse(w, http.StatusUnauthorized, "Unauthorized")
	case !known:
		Refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "the fake server changes nothing")
	default:
		servePage(w, r, objects)
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
	WriteJSON(w, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
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
