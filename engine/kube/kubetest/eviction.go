package kubetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

func (s *Server) servePod(w http.ResponseWriter, r *http.Request, words []string) {
	pod := s.find(Pods, words[0]+"/"+words[2])
	switch {
	case pod == nil:
		refuse(w, refusal{code: http.StatusNotFound, reason: "NotFound", message: fmt.Sprintf("pods %q not found", words[2])})
	case len(words) == 3 && r.Method == http.MethodGet:
		WriteJSON(w, http.StatusOK, pod)
	case len(words) == 4 && words[3] == "eviction" && r.Method == http.MethodPost:
		s.evict(w, r, pod)
	default:
		Refuse(w, http.StatusMethodNotAllowed, "the fake server does not do this")
	}
}

// evict answers as kube-apiserver does: it takes from the budget before it compares the UID.
func (s *Server) evict(w http.ResponseWriter, r *http.Request, pod Object) {
	var body struct {
		Metadata      struct{ Name string }
		DeleteOptions struct{ Preconditions struct{ UID string } }
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	meta, phase := field(pod, "metadata"), field(pod, "status")["phase"]
	if err != nil || body.Metadata.Name != meta["name"] {
		refuse(w, refusal{code: http.StatusBadRequest, reason: "BadRequest", message: "name in URL does not match name in Eviction object"})
		return
	}
	if guarded := meta["deletionTimestamp"] == nil && phase != "Pending" && phase != "Succeeded" && phase != "Failed"; guarded {
		if no := s.takeFromBudget(pod); no != nil {
			refuse(w, *no)
			return
		}
	}
	if want := body.DeleteOptions.Preconditions.UID; want != "" && want != meta["uid"] {
		refuse(w, refusal{code: http.StatusConflict, reason: "Conflict", message: fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%v). The object might have been deleted and then recreated", want, meta["uid"])})
		return
	}
	if meta["deletionTimestamp"] == nil {
		meta["deletionTimestamp"] = "2026-11-27T00:00:00Z"
		if s.onEvict != nil {
			s.onEvict(pod)
		}
	}
	WriteJSON(w, http.StatusCreated, Object{"kind": "Status", "status": "Success", "code": 201})
}

func (s *Server) takeFromBudget(pod Object) *refusal {
	budgets := s.budgetsOf(pod)
	if len(budgets) > 1 {
		return &refusal{code: http.StatusInternalServerError, message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}
	}
	for _, b := range budgets {
		meta, status := field(b, "metadata"), field(b, "status")
		no := refusal{code: http.StatusTooManyRequests, reason: "TooManyRequests", message: "Cannot evict pod as it would violate the pod's disruption budget."}
		if number(status["observedGeneration"]) < number(meta["generation"]) {
			no.cause, no.after = Object{"reason": "DisruptionBudget", "message": fmt.Sprintf("The disruption budget %v is still being processed by the server.", meta["name"])}, 10
			return &no
		}
		if number(status["disruptionsAllowed"]) <= 0 {
			no.cause = Object{"reason": "DisruptionBudget", "message": fmt.Sprintf("The disruption budget %v needs %d healthy pods and has %d currently", meta["name"], number(status["desiredHealthy"]), number(status["currentHealthy"]))}
			return &no
		}
		status["disruptionsAllowed"] = number(status["disruptionsAllowed"]) - 1
	}
	return nil
}

// budgetsOf returns the budgets whose matchLabels match a pod.
func (s *Server) budgetsOf(pod Object) []Object {
	var found []Object
	meta := field(pod, "metadata")
	labels := field(meta, "labels")
	for _, b := range s.lists[Budgets] {
		if field(b, "metadata")["namespace"] != meta["namespace"] {
			continue
		}
		matches := true
		for key, value := range field(field(field(b, "spec"), "selector"), "matchLabels") {
			matches = matches && labels[key] == value
		}
		if matches {
			found = append(found, b)
		}
	}
	return found
}

// removeEnded removes the pods that a list has shown as ending once. Their budgets get room again, as if a controller had made other pods.
func (s *Server) removeEnded(path string) {
	if path != Pods {
		return
	}
	s.lists[Pods] = slices.DeleteFunc(slices.Clone(s.lists[Pods]), func(pod Object) bool {
		meta := field(pod, "metadata")
		switch {
		case meta["deletionTimestamp"] == nil || meta["finalizers"] != nil:
			return false
		case meta["shown"] == nil:
			meta["shown"] = true
			return false
		}
		for _, b := range s.budgetsOf(pod) {
			status := field(b, "status")
			status["disruptionsAllowed"] = number(status["disruptionsAllowed"]) + 1
		}
		return true
	})
}
