package osimage

import (
	"fmt"
	"slices"
)

// maxDeployments bounds the deployments of a host. Hosts have two to four, and one for each that is pinned.
const maxDeployments = 64

var errDeployments = fmt.Errorf("more than %d deployments; remove those that nobody needs from the host", maxDeployments)

// deploymentList is a JSON list of deployments. The decoder ignores the elements that an array has no room for, so it keeps
// at most one more than maxDeployments.
type deploymentList[T any] [maxDeployments + 1]*T

// readElements returns the deployments, or an error if there are more than maxDeployments.
func (l *deploymentList[T]) readElements() ([]*T, error) {
	list := slices.DeleteFunc(l[:], func(d *T) bool { return d == nil })
	if len(list) > maxDeployments {
		return nil, errDeployments
	}
	return list, nil
}
