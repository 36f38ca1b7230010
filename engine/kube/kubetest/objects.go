package kubetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Change changes an object of a list, which gets another resource version. An object without that name does not exist.
func (s *Server) Change(path, name string, change func(Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.find(path, name); o != nil {
		change(o)
		s.touch(o)
	}
}

// Read returns a copy of an object of a list, or nil if it does not exist.
func (s *Server) Read(path, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.find(path, name)
	if o == nil {
		return nil
	}
	return copyOf(o)
}

// OnEvict is called for each pod that is evicted, with the lock of the server held.
func (s *Server) OnEvict(call func(pod Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvict = call
}

func copyOf(o Object) (c Object) {
	text, _ := json.Marshal(o) // maps of values from JSON, or of tests
	c = Object{}
	_ = json.Unmarshal(text, &c)
	return c
}

// find returns an object by its name, or by NAMESPACE/NAME. It is called with the lock held.
func (s *Server) find(path, name string) Object {
	for _, o := range s.lists[path] {
		meta := field(o, "metadata")
		if meta["name"] == name || fmt.Sprintf("%v/%v", meta["namespace"], meta["name"]) == name {
			return o
		}
	}
	return nil
}

// field returns an object within an object, and makes it if it is missing.
func field(o Object, name string) Object {
	if inner, ok := o[name].(Object); ok {
		return inner
	}
	inner := Object{}
	o[name] = inner
	return inner
}

func (s *Server) touch(o Object) {
	s.writes++
	field(o, "metadata")["resourceVersion"] = strconv.Itoa(1000 + s.writes)
}

func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}

type refusal struct {
	code            int
	reason, message string
	cause           Object
	after           int
}

func refuse(w http.ResponseWriter, r refusal) {
	status := Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": r.message, "code": r.code}
	if r.reason != "" {
		status["reason"] = r.reason
	}
	details := Object{}
	if r.cause != nil {
		details["causes"] = []Object{r.cause}
	}
	if r.after > 0 {
		details["retryAfterSeconds"] = r.after
		w.Header().Set("Retry-After", strconv.Itoa(r.after))
	}
	if len(details) > 0 {
		status["details"] = details
	}
	WriteJSON(w, r.code, status)
}

// serveObject answers a request about one object. It returns false for other requests.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/api/v1/namespaces/"); ok {
		words := strings.Split(rest, "/")
		if len(words) >= 3 && words[1] == "pods" {
			s.servePod(w, r, words)
			return true
		}
		return false
	}
	if path == Leases && r.Method == http.MethodPost {
		s.createLease(w, r)
		return true
	}
	for _, list := range []string{Nodes, Leases} {
		if name, ok := strings.CutPrefix(path, list+"/"); ok {
			s.serveNamed(w, r, list, name)
			return true
		}
	}
	return false
}

func (s *Server) serveNamed(w http.ResponseWriter, r *http.Request, list, name string) {
	o := s.find(list, name)
	body := Object{}
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	meta := field(copyOf(body), "metadata")
	if r.Method == http.MethodDelete {
		meta = field(copyOf(body), "preconditions")
	}
	switch version := meta["resourceVersion"]; {
	case o == nil:
		refuse(w, refusal{code: http.StatusNotFound, reason: "NotFound", message: fmt.Sprintf("%q not found", name)})
	case r.Method == http.MethodGet:
		WriteJSON(w, http.StatusOK, o)
	case r.Method == http.MethodPut && version == nil:
		refuse(w, refusal{code: http.StatusUnprocessableEntity, reason: "Invalid", message: "metadata.resourceVersion: Invalid value: 0: must be specified for an update"})
	case version != nil && version != "" && version != field(o, "metadata")["resourceVersion"]:
		refuse(w, refusal{code: http.StatusConflict, reason: "Conflict", message: fmt.Sprintf("Operation cannot be fulfilled on %q: the object has been modified", name)})
	case r.Method == http.MethodPatch:
		delete(field(body, "metadata"), "resourceVersion")
		merge(o, body)
		s.touch(o)
		WriteJSON(w, http.StatusOK, o)
	case r.Method == http.MethodPut:
		clear(o)
		maps.Copy(o, body)
		s.touch(o)
		WriteJSON(w, http.StatusOK, o)
	case r.Method == http.MethodDelete:
		s.lists[list] = slices.DeleteFunc(slices.Clone(s.lists[list]), func(x Object) bool { return field(x, "metadata")["name"] == name })
		WriteJSON(w, http.StatusOK, Object{"kind": "Status", "status": "Success"})
	}
}

// merge is a JSON merge patch (RFC 7386).
func merge(into, patch Object) {
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(into, key)
		case Object:
			merge(field(into, key), v)
		default:
			into[key] = v
		}
	}
}

func (s *Server) createLease(w http.ResponseWriter, r *http.Request) {
	var body Object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, refusal{code: http.StatusBadRequest, reason: "BadRequest", message: err.Error()})
		return
	}
	if name, _ := field(body, "metadata")["name"].(string); s.find(Leases, name) != nil {
		refuse(w, refusal{code: http.StatusConflict, reason: "AlreadyExists", message: fmt.Sprintf("leases.coordination.k8s.io %q already exists", name)})
		return
	}
	s.touch(body)
	s.lists[Leases] = append(s.lists[Leases], body)
	WriteJSON(w, http.StatusCreated, body)
}
