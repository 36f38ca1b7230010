package judgetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/kubefacts"
)

// Verdict is the verdict of Kubernetes on one pod.
type Verdict struct {
	Pod     string // NAMESPACE/NAME
	Goes    bool   // kubectl drain --ignore-daemonsets evicts it
	Refusal string // kubectl drain --ignore-daemonsets refuses to drain because of it
	Answer  Answer // to its eviction as a dry run
	Text    string // cause or message of a refused eviction
}

// Answer is the answer of an API server to an eviction.
type Answer struct {
	Kind    string          `json:"kind"`
	Code    int             `json:"code"`
	Status  string          `json:"status"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Text returns the cause of a refusal, or its message.
func (a Answer) Text() string {
	var details struct{ Causes []struct{ Message string } }
	_ = json.Unmarshal(a.Details, &details) // an answer without them has none
	if len(details.Causes) > 0 {
		return details.Causes[0].Message
	}
	return a.Message
}

// Case is a case in which Kubernetes and the forecast may differ, for the counts.
type Case string

// The cases.
const (
	Stays       Case = "stays"
	Terminating Case = "terminating" // kubectl counts it, and waits for its end
	Orphan      Case = "orphan"      // its DaemonSet is gone
	Crowded     Case = "crowded"     // its budget has too many evictions under way, which the forecast does not know
	Evicted     Case = "evicted"
	Refused     Case = "refused"
)

// Counts counts the compared pods.
type Counts struct {
	Cases     map[Case]int
	Obstacles map[kubefacts.ObstacleKind]int
}

// NewCounts returns zeros.
func NewCounts() Counts { return Counts{map[Case]int{}, map[kubefacts.ObstacleKind]int{}} }

// Numbers of pods that each case and each kind of obstacle must have.
const (
	Often  = 10 // for Sets
	Seldom = 2  // for fewer sets
)

// FindRare returns the cases and the kinds of obstacles that fewer pods have, without those that are not expected.
func (c Counts) FindRare(least int, unexpected ...any) []string {
	var rare []string
	for _, kind := range append([]kubefacts.ObstacleKind{kubefacts.EmptyDirData, kubefacts.NoController}, budgetObstacles...) {
		if n := c.Obstacles[kind]; n < 2*least && !slices.Contains(unexpected, any(kind)) {
			rare = append(rare, fmt.Sprintf("only %d obstacles of the kind %s", n, kind))
		}
	}
	for _, k := range []Case{Stays, Terminating, Orphan, Crowded, Evicted, Refused} {
		if n := c.Cases[k]; n < least && !slices.Contains(unexpected, any(k)) {
			rare = append(rare, fmt.Sprintf("only %d pods of the case %q", n, k))
		}
	}
	return rare
}

// Compare counts a pod, and returns how the forecast differs from the verdict. The forecast is one without options, of this pod only.
func (c Counts) Compare(v Verdict, p kubefacts.Pod, f kubefacts.DrainForecast) (wrong string) {
	for _, o := range f.Obstacles {
		c.Obstacles[o.Kind]++
	}
	k, wrong := compareVerdict(v, p, f)
	c.Cases[k]++
	return wrong
}

func compareVerdict(v Verdict, p kubefacts.Pod, f kubefacts.DrainForecast) (c Case, wrong string) {
	found := map[kubefacts.ObstacleKind]bool{}
	for _, o := range f.Obstacles {
		found[o.Kind] = true
	}
	switch {
	case p.Terminating:
		if f.Pods > 0 || v.Answer.Code != 201 && !p.Mirror {
			wrong = "it does not end by itself"
		}
		return Terminating, wrong
	case p.DaemonSet && strings.Contains(v.Refusal, "not found"):
		if f.Pods > 0 {
			wrong = "it goes"
		}
		return Orphan, wrong
	case f.Pods == 0:
		if v.Goes || v.Refusal != "" {
			wrong = "it goes"
		}
		return Stays, wrong
	}
	if refusal := expectedRefusal(found); !strings.Contains(v.Refusal, refusal) || (v.Refusal == "") != (refusal == "") || v.Goes != (refusal == "") {
		return Refused, "kubectl drain has another verdict"
	}
	if v.Answer.Code == 403 && strings.Contains(v.Text, "too many pending evictions") {
		return Crowded, ""
	}
	if text := compareAnswer(v, found); text != "" {
		return Refused, text
	}
	if v.Answer.Code == 201 {
		return Evicted, ""
	}
	return Refused, ""
}

// CompareEviction returns how a client has misread the answer to an eviction.
func CompareEviction(v Verdict, e kubefacts.Eviction) (wrong string) {
	want, budget := kubefacts.PodEvicted, ""
	switch {
	case v.Answer.Code == 500:
		want = kubefacts.TwoBudgetsRefused
	case v.Answer.Code != 201:
		want, budget = kubefacts.BudgetRefused, kubefacts.BudgetOfCause(v.Text)
		if budget == "" {
			return "the answer names no budget"
		}
	}
	if e.Kind != want || e.Budget != budget {
		return fmt.Sprintf("the client reads the answer as %+v, not as %s by %q", e, want, budget)
	}
	return ""
}

// expectedRefusal returns a part of the refusal of kubectl drain, which names only the first reason.
func expectedRefusal(found map[kubefacts.ObstacleKind]bool) string {
	switch {
	case found[kubefacts.EmptyDirData]:
		return "--delete-emptydir-data"
	case found[kubefacts.NoController]:
		return "--force"
	}
	return ""
}

// budgetObstacles are the obstacles for which the API refuses an eviction.
var budgetObstacles = []kubefacts.ObstacleKind{kubefacts.TwoBudgets, kubefacts.BudgetStale, kubefacts.BudgetFailed, kubefacts.BudgetExhausted, kubefacts.BudgetImpossible}

// compareAnswer returns how the answer to an eviction differs from the obstacles.
func compareAnswer(v Verdict, found map[kubefacts.ObstacleKind]bool) (wrong string) {
	var kinds []kubefacts.ObstacleKind
	switch {
	case v.Answer.Code == 201:
	case v.Answer.Code == 500 && strings.Contains(v.Text, "more than one PodDisruptionBudget"):
		kinds = []kubefacts.ObstacleKind{kubefacts.TwoBudgets}
	case v.Answer.Code == 429 && strings.Contains(v.Text, "still being processed"):
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetStale, kubefacts.BudgetFailed}
	case v.Answer.Code == 429 && strings.Contains(v.Text, "failed sync"):
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetFailed}
	case v.Answer.Code == 429:
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetExhausted, kubefacts.BudgetImpossible}
	default:
		return "the API has an answer that is not known"
	}
	told := 0
	for _, kind := range budgetObstacles {
		if !found[kind] {
			continue
		}
		if told++; !slices.Contains(kinds, kind) {
			return fmt.Sprintf("the API does not answer because of %s", kind)
		}
	}
	if (told > 0) != (len(kinds) > 0) {
		return "the API refuses, and the forecast does not know"
	}
	return ""
}
