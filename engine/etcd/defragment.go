package etcd

import (
	"context"
	"errors"
)

// Defragment gives the unused space of the host's member back, in bytes.
func (c *Cluster) Defragment(ctx context.Context, host string) (int64, error) {
	return 0, c.wrap("defragment "+host, errors.ErrUnsupported)
}
