package kubetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// Right is a right that a request needs.
type Right struct {
	Verb      string
	Group     string
	Resource  string // with its subresource
	Namespace string // "": all
}

// Rights returns the rights that the requests so far needed, sorted.
func (s *Server) Rights() []Right {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.rights), func(a, b Right) int {
		return strings.Compare(a.Group+"/"+a.Resource+" "+a.Verb, b.Group+"/"+b.Resource+" "+b.Verb)
	})
}

// Deny takes a right from the user.
func (s *Server) Deny(r Right) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[r] = true
}

// rightOf returns the right that a request needs. The namespace counts only for leases, whose namespace is known to everybody.
func rightOf(r *http.Request) Right {
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var right Right
	switch {
	case len(words) > 2 && words[0] == "api":
		words = words[2:]
	case len(words) > 3 && words[0] == "apis":
		right.Group, words = words[1], words[3:]
	default:
		return Right{}
	}
	if len(words) > 2 && words[0] == "namespaces" {
		if right.Group == "coordination.k8s.io" {
			right.Namespace = words[1]
		}
		words = words[2:]
	}
	right.Resource = words[0]
	if len(words) > 2 {
		right.Resource += "/" + words[2]
	}
	switch r.Method {
	case http.MethodGet:
		right.Verb = "get"
		if len(words) == 1 {
			right.Verb = "list"
		}
	case http.MethodPost:
		right.Verb = "create"
	case http.MethodPut:
		right.Verb = "update"
	default:
		right.Verb = strings.ToLower(r.Method)
	}
	return right
}

// reviewAccess answers a SelfSubjectAccessReview. Every user may ask.
func (s *Server) reviewAccess(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Spec struct {
			ResourceAttributes struct{ Verb, Group, Resource, Subresource, Namespace string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	a := body.Spec.ResourceAttributes
	right := Right{a.Verb, a.Group, a.Resource, a.Namespace}
	if a.Subresource != "" {
		right.Resource += "/" + a.Subresource
	}
	WriteJSON(w, http.StatusCreated, Object{"kind": "SelfSubjectAccessReview", "status": Object{"allowed": !s.denied[right]}})
}
