package etcdfacts

// QuorumOf returns how many of n voters must be healthy for etcd to accept
// writes: more than half.
func QuorumOf(n int) int { return n/2 + 1 }

// Margin returns how many more voters the cluster can lose and still accept
// writes. A negative margin means that the quorum is lost.
func (c ClusterFacts) Margin() int { return c.CountHealthy() - QuorumOf(len(c.Voters())) }
