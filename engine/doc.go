// Package engine has the types that all other packages share: inventory, facts,
// changes, steps, plans, holds, events and verdicts. It has hardly any logic
// beyond the arithmetic of a type, such as the quorum of a cluster.
//
// It imports the standard library only, and of that nothing that does I/O,
// starts goroutines or reads a clock. The same is true of engine/planner, which
// makes a plan from facts and desired state. The same input always makes the
// same plan, so a plan can be printed, saved and compared. Only engine/rollout
// and the packages behind its ports touch the world.
package engine
