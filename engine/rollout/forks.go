package rollout

// These are the numbers of hosts at the same time, unless Options.Forks is set. The holds of other commands have a number of
// their own (Forks in engine/hold).
const (
	gatherForks = 64 // hosts whose facts or holds are read, and clusters
	stageForks  = 8  // lanes that stage
)

// forkCount returns the number of hosts that are worked on at the same time: that of the options, or the fallback.
func (o *Options) forkCount(fallback int) int {
	if o.Forks > 0 {
		return o.Forks
	}
	return fallback
}
