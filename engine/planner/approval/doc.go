// Package approval compares a plan with the plan that was approved or saved: its changes,
// steps and settings. A run does nothing that is not in the approved plan.
package approval
