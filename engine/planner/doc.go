// Package planner makes a plan from an inventory, the desired state of hosts
// and their facts. It surveys the hosts, plays the roll-out forward batch by
// batch, and composes the sequence of each host. It changes nothing outside its
// result.
//
// Callers use NewSurvey and Survey.Plan, or NewPlan for both. The files follow
// the stages: standing (the relation of a host to a run, by its hold; status
// and budgets use it, too), survey, poolstate and blocker (which hosts may be
// disrupted next), scheduler and batch, lanes (staging) and sequence (the steps
// of one host). Package approval compares two plans.
package planner
