// Package engine holds the types of a run and the pure functions that lead
// from facts and desired state to changes, a plan and batches.
//
// It imports the standard library only, and of that nothing that does I/O,
// starts goroutines or reads a clock: the same input always gives the same
// plan, so that a plan can be printed, saved, compared and proven. Everything
// that touches the world lives in engine/rollout and the packages it is
// wired to.
package engine
