package osimage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDeployments bounds the deployments of a host. Hosts have two to four, and one for each that is pinned.
const maxDeployments = 64

var errDeployments = fmt.Errorf("more than %d deployments; remove those that nobody needs from the host", maxDeployments)

// deploymentList is a JSON list of at most maxDeployments deployments. It is decoded only up to the bound.
type deploymentList[T any] []T

// UnmarshalJSON decodes the list.
func (l *deploymentList[T]) UnmarshalJSON(text []byte) error {
	*l = nil
	in := json.NewDecoder(bytes.NewReader(text))
	first, err := in.Token()
	switch {
	case err != nil:
		return err
	case first == nil: // null
		return nil
	case first != json.Delim('['):
		return errors.New("the deployments are not a list")
	}
	for in.More() {
		if len(*l) == maxDeployments {
			return errDeployments
		}
		var d T
		if err := in.Decode(&d); err != nil {
			return err
		}
		*l = append(*l, d)
	}
	return nil
}
