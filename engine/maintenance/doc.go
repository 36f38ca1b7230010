// Package maintenance plans the work of people on the holds of hosts: hold, extend, release. A plan is a value with a step for each
// host. engine/rollout journals it and carries it out.
package maintenance
