// Package engine holds the types that all other packages speak in: inventory,
// facts, changes, steps, plans, holds, events and verdicts. It has hardly any
// logic beyond the arithmetic of a type, such as the quorum of a cluster.
//
// It imports the standard library only, and of that nothing that does I/O,
// starts goroutines or reads a clock. The same is true of engine/planner, which
// makes a plan from facts and desired state: the same input always leads to the same
// plan, so that a plan can be printed, saved and compared. Everything that touches
// the world lives in engine/rollout and the packages it is wired to.
package engine
