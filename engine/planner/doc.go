// Package planner makes a plan from an inventory, the desired state of hosts and
// their facts: it surveys the hosts, plays the roll-out forward batch by batch,
// and composes the sequence of each host. It touches nothing.
//
// NewSurvey and its Plan are the way in. The files follow the stages: standing
// (how a host stands to a run, by its hold; status and budgets ask it, too), survey,
// poolstate and blocker (who may be disrupted next), scheduler and batch,
// lanes (staging) and sequence (the steps of one host). Package approval compares two
// plans.
package planner
